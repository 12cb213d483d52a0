// The clip inspector: synchronised clips, overlays painted in Python, curves that follow the cursor.
const OVERLAYS = [["mask", "Mask"], ["track", "Track"], ["faces", "Faces"], ["depth", "Depth"], ["difference", "Difference"], ["epipolar", "Epipolar line"]];
const MAX_COMPARED = 3, NOTE_PAUSE = 600, DEFAULT_CURVES = 3, LISTED = 400;

function render({ model, el }) {
  el.classList.add("lookback-inspector");
  let players = [], clock = null, chart = null, overlays = new Set(), picked = new Map(), open = new Set(["failures"]);
  const act = (message) => model.send({ frame: clock ? clock.position : 0, ...message });
  const side = element("aside", { "aria-label": "clips" });
  const stage = element("div", { class: "stage" });
  el.replaceChildren(side, stage);

  function option(value, current, text = value || "all") {
    const node = element("option", { value, text });
    if (value === current) node.selected = true;
    return node;
  }

  // the list of clips and its filters

  function drawFilters() {
    const list = model.get("listing");
    const picks = ["model", "scene", "failure", "metric"].map((name) => element("label", {}, element("span", { text: name }),
      element("select", { "data-filter": name, "aria-label": name, onchange: filter },
        ...["", ...list.choices[name]].map((value) => option(value, list.filters[name])))));
    const number = (name, text) => element("input", { type: "number", step: "any", "data-filter": name, "aria-label": text, title: text,
      value: list.filters[name] ?? "", onchange: filter });
    const text = element("input", { type: "search", "data-filter": "text", "aria-label": "name contains", value: list.filters.text, oninput: filter });
    side.replaceChildren(...picks,
      element("label", { class: "range" }, element("span", { text: "its value" }), number("low", "at least"), "to", number("high", "at most")),
      element("label", {}, element("span", { text: "name has" }), text), element("p", { class: "count" }), element("ul", { class: "listing" }));
    drawListing();
  }
  function drawListing() {
    const list = model.get("listing"), current = model.get("view").label;
    side.querySelector(".count").textContent = `${list.clips.length} of ${list.total} clips (n next, p previous)`;
    const listing = side.querySelector(".listing");
    // thousands of buttons would make the page slow: those around the opened clip are drawn, the filters find the others
    const first = Math.max(0, Math.min(list.clips.indexOf(current) - LISTED / 2, list.clips.length - LISTED));
    const left = (count, where) => count > 0 ? [element("li", { class: "hint", text: `${count} ${where}: filter by name` })] : [];
    const shown = list.clips.slice(first, first + LISTED).map((label) => {
      const button = element("button", { text: label.replaceAll("/", "/\u200b"), "data-clip": label,
        onclick: () => label === model.get("view").label || act({ type: "open", label }) });
      if (label === current) button.setAttribute("aria-current", "true");
      return element("li", {}, button);
    });
    listing.replaceChildren(...left(first, "before"), ...shown, ...left(list.clips.length - first - LISTED, "after"));
    const here = listing.querySelector("[aria-current]");
    if (here) listing.scrollTop = here.offsetTop - listing.offsetTop - listing.clientHeight / 3;
  }
  function filter() {
    const values = {};
    for (const node of side.querySelectorAll("[data-filter]")) values[node.dataset.filter] = node.value;
    act({ type: "filter", values });
  }

  // the clip on the stage

  function draw() {
    const view = model.get("view");
    if (clock) clock.playing = false;
    if (chart) chart.close();
    players = []; clock = null; chart = null;
    stage.replaceChildren();
    if (view.message) stage.append(element("p", { class: "message", role: "status", text: view.message }));
    if (!view.label) { stage.append(element("p", { class: "hint", text: "This run has no clips." })); return; }
    stage.append(element("h3", { text: view.label.replaceAll("/", "/\u200b") }), prompt(view));
    if (view.slots.length) {
      players = view.slots.map((facts, slot) => new Player(model, slot, facts));
      players.forEach((player) => player.canvas.addEventListener("click", (event) => clicked(event, player)));
      const length = view.slots[0].n_frames, bar = transport(() => clock, length);
      clock = new Clock(players, length, view.slots[0].fps, (at) => { bar.update(at); chart?.cursor(at); captions(at); link(at); });
      const speed = element("select", { "aria-label": "speed", onchange: (event) => { clock.speed = Number(event.target.value); } },
        ...["0.25", "0.5", "1", "2"].map((value) => option(value, "1", `${value}x`)));
      stage.append(element("div", { class: `clips of${players.length}` }, ...players.map(figure)),
        element("div", { class: "transport" }, bar.play, bar.slider, bar.label, speed), toggles(view), curves(view));
    }
    stage.append(facts(view));
    if (clock) clock.seek(Math.min(view.frame || 0, clock.length - 1));
    refocus(el);
  }
  function prompt(view) {
    const parts = [view.prompt, view.facts.camera && `Camera: ${view.facts.camera}`].filter(Boolean);
    return element("p", { class: "prompt", text: parts.join("  ·  ") });
  }
  function figure(player) {
    const shown = element("span", { class: "shown", "data-slot": player.slot });
    const caption = element("figcaption", {}, element("b", { text: player.facts.label }), ` ${player.facts.size}, ${player.facts.n_frames} frames `, shown);
    const { compared } = model.get("view");
    if (compared.includes(player.facts.clip)) caption.append(element("button", { class: "remove", title: "stop comparing", text: "×",
      "aria-label": `remove ${player.facts.label}`, onclick: () => compare(compared.filter((label) => label !== player.facts.clip)) }));
    return element("figure", {}, player.canvas, caption);
  }
  function captions(at) {
    for (const player of players) {
      const node = stage.querySelector(`.shown[data-slot="${player.slot}"]`);
      if (node) node.textContent = player.slot ? `· shows frame ${clock.frameOf(player, at)}` : "";
    }
  }
  function compare(labels) { act({ type: "compare", labels }); }

  function toggles(view) {
    const boxes = OVERLAYS.map(([name, text]) => {
      const box = element("input", { type: "checkbox", "data-overlay": name, onchange: () => {
        box.checked ? overlays.add(name) : overlays.delete(name);
        act({ type: "overlays", names: [...overlays] });
        hint(view);
      } });
      box.checked = overlays.has(name);
      box.disabled = name in view.missing;
      return element("label", { title: view.missing[name] || "", class: box.disabled ? "off" : "" }, box, text);
    });
    const others = view.counterparts.filter((other) => !view.compared.includes(other.label));
    const invitation = others.length ? "add a model" : view.compared.length ? "all are shown" : "no other model";
    const add = element("select", { "data-compare": "", "aria-label": "compare with",
      onchange: (event) => event.target.value && compare([...view.compared, event.target.value]) },
      option("", "", invitation), ...others.map((other) => option(other.label, "", other.model)));
    add.disabled = !others.length || view.compared.length >= MAX_COMPARED;
    const sync = element("select", { "data-sync": "", "aria-label": "synchronise by", onchange: (event) => act({ type: "sync", by: event.target.value }) },
      ...["frame", "phase"].map((value) => option(value, view.sync)));
    setTimeout(() => hint(view));
    return element("div", {}, element("div", { class: "toggles" }, element("b", { text: "Overlays" }), ...boxes,
      element("label", {}, element("b", { text: "Compare" }), add), element("label", {}, element("b", { text: "Side by side by" }), sync)),
      element("p", { class: "hint overlay-hint" }));
  }
  // what the ticked overlays show, and why others are off
  function hint(view) {
    const said = {
      mask: "Mask: orange the subject, pink people.",
      track: "Track: the path of the subject's centre so far.",
      faces: "Faces: boxes of the nearest sampled frame.",
      depth: "Depth: bright is near.",
      difference: `Difference: to ${view.reference}; black is equal, bright differs.`,
      epipolar: "Epipolar line: click a point, then move through the frames; a ring stands where the camera only turned.",
    };
    const absent = new Map();
    for (const [name, text] of OVERLAYS) {
      const why = view.missing[name];
      if (why !== undefined) absent.set(why, [...(absent.get(why) ?? []), text]);
    }
    const shown = [...overlays].filter((name) => !(name in view.missing)).map((name) => said[name]);
    const node = stage.querySelector(".overlay-hint");
    if (node) node.textContent = [...shown, ...[...absent].map(([why, names]) => `Off: ${names.join(", ")} (${why}).`)].join(" ");
  }
  function clicked(event, player) {
    if (!overlays.has("epipolar")) return;
    const box = player.canvas.getBoundingClientRect();
    clock.pause();
    const x = (event.clientX - box.left) / box.width, y = (event.clientY - box.top) / box.height;
    act({ type: "point", slot: player.slot, frame: player.index, x, y });
  }

  function curves(view) {
    const none = "No per-frame curve for this clip: no camera path, and no metric with values for single frames.";
    if (!view.curves.length) return element("p", { class: "hint", text: none });
    // what was ticked stays ticked on the next clip
    const on = (curve) => picked.get(curve.name) ?? view.curves.indexOf(curve) < DEFAULT_CURVES;
    chart = new Chart(view, on);
    chart.canvas.addEventListener("click", (event) => { clock.playing = false; clock.seek(chart.frameAt(event)); });
    const legend = element("details", { class: "legend" }, element("summary", { text: `Curves (${view.curves.length})` }), ...view.curves.map((curve) => {
      const box = element("input", { type: "checkbox", "data-curve": curve.name,
        onchange: () => { picked.set(curve.name, box.checked); chart.resize(); } });
      box.checked = on(curve);
      return element("label", { style: `color:${chart.colour(curve)}` }, box, curve.name);
    }));
    remember(legend, "curves");
    return element("div", {}, chart.canvas, chart.key(), legend);
  }

  // what is known of the clip

  function remember(details, name) {
    details.open = open.has(name);
    details.addEventListener("toggle", () => { details.open ? open.add(name) : open.delete(name); });
    return details;
  }
  function table(rows, columns, frameOf) {
    if (!rows.length) return element("p", { class: "hint", text: "None." });
    const cell = (value) => element("td", { text: typeof value === "number" ? short(value) : value ?? "" });
    const line = (row) => {
      const frame = frameOf?.(row) ?? null;
      const node = element("tr", {}, ...columns.map((name) => cell(row[name])));
      if (frame === null || !clock) return node;
      node.className = "link"; node.title = `go to frame ${frame}`;
      node.addEventListener("click", () => { clock.playing = false; clock.seek(frame); });
      return node;
    };
    const head = element("tr", {}, ...columns.map((name) => element("th", { text: name.replaceAll("_", " ") })));
    return element("div", { class: "scroll" }, element("table", {}, head, ...rows.map(line)));
  }
  function facts(view) {
    const part = (name, title, node) => remember(element("details", { "data-part": name }, element("summary", { text: title }), node), name);
    const { failures, scores, answers, segments } = view.facts;
    return element("div", { class: "facts" },
      part("failures", `Failures (${failures.length})`,
        table(failures, ["label", "confidence", "frame_start", "frame_end", "evidence"], (row) => row.frame_start)),
      part("scores", `Scores (${scores.length})`, table(scores, ["metric", "variant", "phase", "value", "reason", "detail", "backend"])),
      part("answers", `Judge's questions and answers (${answers.length})`,
        table(answers, ["task", "frame", "question", "answer", "value", "judge", "verbatim", "reason"], (row) => row.frame)),
      part("segments", `Captions, phases, camera (${segments.length})`,
        table(segments, ["kind", "segment_id", "start", "end", "text"], (row) => row.start)),
      note(view), element("p", { class: "hint" }, "Link to this frame: ", element("a", { class: "deeplink", target: "_blank" })));
  }
  function note(view) {
    const area = element("textarea", { rows: 2, "aria-label": "note", placeholder: "A note on this clip, saved with the run" });
    const state = element("span", { class: "hint saved", role: "status" });
    area.value = view.note || "";
    let timer = null, sent = area.value;
    const save = () => {
      clearTimeout(timer);
      if (area.value === sent) return;
      sent = area.value;
      act({ type: "note", label: view.label, text: sent });
    };
    area.addEventListener("input", () => { state.textContent = "…"; clearTimeout(timer); timer = setTimeout(save, NOTE_PAUSE); });
    area.addEventListener("change", save);
    area.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") { area.blur(); refocus(el, true); }
    });
    return element("label", { class: "note" }, element("b", { text: "Note" }), area, state);
  }
  function link(at) {
    // a Voila page links to itself; JupyterLab to the page that its Voila extension makes of the same notebook
    const node = stage.querySelector(".deeplink"), query = `?${model.get("view").link}&frame=${at}`;
    if (!node) return;
    const lab = location.pathname.match(/^(.*?\/)(lab|notebooks|doc|tree)(\/|$)/);
    node.href = lab ? `${lab[1]}voila/render/inspect.ipynb${query}` : query;
    node.textContent = query;
  }

  keyboard(el, (event) => {
    const list = model.get("listing").clips, at = list.indexOf(model.get("view").label);
    if (event.key === " " && clock) clock.toggle();
    else if (event.key === "ArrowRight" && clock) clock.step(event.shiftKey ? 10 : 1);
    else if (event.key === "ArrowLeft" && clock) clock.step(event.shiftKey ? -10 : -1);
    else if (event.key === "Home" && clock) clock.step(-clock.length);
    else if (event.key === "End" && clock) clock.step(clock.length);
    else if (event.key === "n" && at < list.length - 1) act({ type: "open", label: list[at + 1] });
    else if (event.key === "p" && at > 0) act({ type: "open", label: list[at - 1] });
    else return false;
    return true;
  });
  const receive = (message, buffers) => {
    if (message.type === "frames") players[message.slot]?.receive(message, buffers);
    else if (message.type === "refresh") players.forEach((player) => player.refresh(message.version));
    else if (message.type === "noted" && model.get("view").label === message.label) stage.querySelector(".saved").textContent = "saved";
  };
  const viewed = () => { draw(); drawListing(); };
  model.on("change:view", viewed); model.on("change:listing", drawListing); model.on("msg:custom", receive);
  drawFilters(); draw();
  return () => {
    if (chart) chart.close();
    if (clock) clock.playing = false;
    model.off("change:view", viewed); model.off("change:listing", drawListing); model.off("msg:custom", receive);
  };
}
export default { render };
