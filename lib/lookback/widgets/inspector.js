// The clip inspector: synchronised clips, overlays made in Python, curves that follow the cursor.
const OVERLAYS = [["mask", "Mask"], ["track", "Track"], ["faces", "Faces"], ["depth", "Depth"], ["difference", "Difference"], ["epipolar", "Epipolar"]];
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8a7d00", "#000000"];
const PHASES = { V: "rgba(0,158,115,.14)", D: "rgba(120,120,120,.20)", R: "rgba(0,114,178,.14)" };

function render({ model, el }) {
  el.classList.add("lookback-inspector");
  let players = [], clock = null, chart = null, overlays = new Set(), curvesOn = new Set();
  const act = (message) => model.send(message);
  const side = element("aside", { "aria-label": "clips" });
  const stage = element("div", { class: "stage" });
  el.replaceChildren(side, stage);

  function option(value, current) {
    const node = element("option", { value, text: value || "all" });
    if (value === current) node.selected = true;
    return node;
  }
  function drawSide() {
    const list = model.get("listing"), current = model.get("view").label;
    const picks = ["model", "scene", "failure", "metric"].map((name) => {
      const select = element("select", { "data-filter": name, "aria-label": name, onchange: () => filter() }, ...["", ...list.choices[name]].map((value) => option(value, list.filters[name])));
      return element("label", {}, name, select);
    });
    const low = element("input", { type: "number", step: "any", "data-filter": "low", "aria-label": "at least", value: list.filters.low ?? "", onchange: () => filter() });
    const high = element("input", { type: "number", step: "any", "data-filter": "high", "aria-label": "at most", value: list.filters.high ?? "", onchange: () => filter() });
    const clips = element("ul", { class: "listing" }, ...list.clips.map((label) => {
      const button = element("button", { text: label, "data-clip": label, onclick: () => act({ type: "open", label }) });
      if (label === current) button.setAttribute("aria-current", "true");
      return element("li", {}, button);
    }));
    side.replaceChildren(...picks, element("div", { class: "range" }, "value from", low, "to", high), element("p", { class: "count", text: `${list.clips.length} of ${list.total} clips` }), clips);
    clips.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }
  function filter() {
    const values = {};
    for (const node of side.querySelectorAll("[data-filter]")) values[node.dataset.filter] = node.value;
    act({ type: "filter", values });
  }

  function draw() {
    const view = model.get("view");
    if (clock) clock.pause();
    stage.replaceChildren();
    if (view.message) stage.append(element("p", { class: "message", role: "status", text: view.message }));
    if (!view.label) return;
    players = view.slots.map((facts, slot) => new Player(model, slot, facts));
    players.forEach((player) => player.canvas.addEventListener("click", (event) => clicked(event, player)));
    const slider = element("input", { type: "range", min: 0, step: 1, value: 0, class: "slider", "aria-label": "frame" });
    const label = element("span", { class: "position" });
    clock = new Clock(players, view.slots[0].fps, (at) => { slider.value = at; label.textContent = `frame ${at} of ${clock.length}`; if (chart) chart.cursor(at); });
    slider.max = clock.length - 1;
    slider.addEventListener("input", () => { clock.pause(); clock.seek(Number(slider.value)); });
    const row = element("div", { class: "clips" }, ...players.map((player) => element("figure", {}, player.canvas, element("figcaption", { text: player.facts.label }))));
    const toggles = element("div", { class: "toggles" }, ...OVERLAYS.map(([name, text]) => {
      const box = element("input", { type: "checkbox", "data-overlay": name, onchange: (event) => { event.target.checked ? overlays.add(name) : overlays.delete(name); act({ type: "overlays", names: [...overlays] }); } });
      box.checked = overlays.has(name);
      return element("label", { title: view.overlays[name] || "" }, box, text);
    }), element("label", {}, "Compare", element("select", { "data-compare": "", "aria-label": "compare with", onchange: (event) => act({ type: "compare", labels: [...event.target.selectedOptions].map((each) => each.value) }) },
      ...["", ...view.counterparts].map((value) => option(value, view.compared[0] || "")))),
      element("label", {}, "Sync", element("select", { "data-sync": "", "aria-label": "synchronise by", onchange: (event) => act({ type: "sync", by: event.target.value }) }, ...["frame", "phase"].map((value) => option(value, view.sync)))));
    const transport = element("div", { class: "transport" }, element("button", { class: "play", text: "Play / pause", title: "space", onclick: () => clock.toggle() }), slider, label);
    stage.append(element("h3", { text: view.label }), element("p", { class: "prompt", text: view.prompt }), row, transport, toggles, curves(view), facts(view));
    clock.seek(Math.min(view.frame || 0, clock.length - 1));
  }

  function clicked(event, player) {
    if (!overlays.has("epipolar")) return;
    const box = player.canvas.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width, y = (event.clientY - box.top) / box.height;
    act({ type: "point", slot: player.slot, frame: player.index, x, y });
  }

  function curves(view) {
    if (!view.curves.length) { chart = null; return element("p", { class: "hint", text: "No per-frame curve for this clip." }); }
    if (![...curvesOn].some((name) => view.curves.some((curve) => curve.name === name))) curvesOn = new Set(view.curves.slice(-1).concat(view.curves.slice(0, 3)).map((curve) => curve.name));
    const canvas = element("canvas", { class: "curves", width: 1000, height: 230, role: "img", "aria-label": "per-frame curves; click to seek" });
    const legend = element("div", { class: "legend" });
    chart = new Chart(canvas, view, () => curvesOn);
    legend.append(...view.curves.map((curve, k) => {
      const box = element("input", { type: "checkbox", "data-curve": curve.name, onchange: (event) => { event.target.checked ? curvesOn.add(curve.name) : curvesOn.delete(curve.name); chart.paint(); } });
      box.checked = curvesOn.has(curve.name);
      return element("label", { style: `color:${COLOURS[k % COLOURS.length]}` }, box, curve.name);
    }));
    canvas.addEventListener("click", (event) => { clock.pause(); clock.seek(chart.frameAt(event)); });
    return element("div", {}, canvas, legend);
  }

  function table(rows, columns, onRow) {
    const head = element("tr", {}, ...columns.map((name) => element("th", { text: name })));
    return element("table", {}, head, ...rows.map((row) => element("tr", onRow ? { class: "link", onclick: () => onRow(row) } : {}, ...columns.map((name) => element("td", { text: typeof row[name] === "number" ? Math.round(row[name] * 10000) / 10000 : row[name] ?? "" })))));
  }
  function facts(view) {
    const part = (title, node, open) => { const box = element("details", {}, element("summary", { text: title }), node); box.open = open; return box; };
    const note = element("textarea", { rows: 2, "aria-label": "note", placeholder: "A note on this clip, saved with the run" });
    note.value = view.note || "";
    note.addEventListener("keydown", (event) => event.stopPropagation());
    note.addEventListener("change", () => act({ type: "note", text: note.value }));
    return element("div", { class: "facts" },
      part(`Failures (${view.facts.failures.length})`, table(view.facts.failures, ["label", "confidence", "frame_start", "frame_end", "evidence"], (row) => row.frame_start !== null && clock.seek(row.frame_start)), true),
      part(`Scores (${view.facts.scores.length})`, table(view.facts.scores, ["metric", "phase", "value", "reason", "detail"]), false),
      part(`Questions and answers (${view.facts.answers.length})`, table(view.facts.answers, ["task", "question", "answer", "value", "judge", "verbatim"], (row) => row.frame !== null && clock.seek(row.frame)), false),
      part("Note", note, Boolean(view.note)), element("p", { class: "hint" }, "Link to this frame: ", element("code", { class: "deeplink", text: view.link })));
  }

  const keys = (event) => {
    if (/^(TEXTAREA|SELECT)$/.test(event.target.tagName) || (event.target.tagName === "INPUT" && event.target.type === "number")) return;
    const list = model.get("listing").clips, at = list.indexOf(model.get("view").label);
    if (event.key === " " && clock) clock.toggle();
    else if (event.key === "ArrowRight" && clock) { clock.pause(); clock.seek(clock.position + (event.shiftKey ? 10 : 1)); }
    else if (event.key === "ArrowLeft" && clock) { clock.pause(); clock.seek(clock.position - (event.shiftKey ? 10 : 1)); }
    else if (event.key === "n" && at < list.length - 1) act({ type: "open", label: list[at + 1] });
    else if (event.key === "p" && at > 0) act({ type: "open", label: list[at - 1] });
    else return;
    event.preventDefault(); event.stopPropagation();
  };
  const receive = (message, buffers) => {
    if (message.type === "frames" && players[message.slot]) players[message.slot].receive(message.indices, buffers, message.version);
    if (message.type === "refresh") players.forEach((player) => { player.facts.version = message.version; player.clear(); player.seek(player.index); });
  };
  el.tabIndex = 0;
  el.addEventListener("keydown", keys);
  model.on("change:view", draw); model.on("change:view", drawSide); model.on("change:listing", drawSide); model.on("msg:custom", receive);
  drawSide(); draw();
  return () => { model.off("change:view", draw); model.off("change:view", drawSide); model.off("change:listing", drawSide); model.off("msg:custom", receive); };
}

// Curves on one time axis: V/D/R shading, visibility strip, each curve scaled to its own range (written in its legend).
class Chart {
  constructor(canvas, view, shown) { this.canvas = canvas; this.view = view; this.shown = shown; this.at = 0; this.frames = view.slots[0].n_frames; this.paint(); }
  x(frame) { return 46 + (frame / Math.max(1, this.frames - 1)) * (this.canvas.width - 60); }
  frameAt(event) { const box = this.canvas.getBoundingClientRect(); return Math.round((((event.clientX - box.left) / box.width) * this.canvas.width - 46) / (this.canvas.width - 60) * (this.frames - 1)); }
  cursor(at) { this.at = at; this.paint(); }
  paint() {
    const pen = this.canvas.getContext("2d"), bottom = this.canvas.height - 34;
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.font = "12px system-ui, sans-serif";
    for (const segment of this.view.facts.segments) if (PHASES[segment.segment_id]) {
      pen.fillStyle = PHASES[segment.segment_id];
      pen.fillRect(this.x(segment.start), 8, this.x(Math.min(segment.end, this.frames) - 1) - this.x(segment.start), bottom - 8);
      pen.fillStyle = "#57606a"; pen.fillText(segment.segment_id, this.x(segment.start) + 4, 20);
    }
    this.view.curves.forEach((curve, k) => {
      if (!this.shown().has(curve.name)) return;
      const low = Math.min(...curve.values), high = Math.max(...curve.values), span = high - low || 1;
      pen.strokeStyle = COLOURS[k % COLOURS.length]; pen.lineWidth = 2; pen.beginPath();
      curve.frames.forEach((frame, j) => { const x = this.x(frame), y = bottom - 6 - ((curve.values[j] - low) / span) * (bottom - 26); j ? pen.lineTo(x, y) : pen.moveTo(x, y); });
      pen.stroke();
      pen.fillStyle = COLOURS[k % COLOURS.length];
      const row = [...this.shown()].indexOf(curve.name);
      if (row === 0) { pen.fillText(high.toPrecision(3), 2, 22); pen.fillText(low.toPrecision(3), 2, bottom - 4); }
    });
    this.view.visibility.forEach((state, frame) => { pen.fillStyle = ["#d0d7de", "#009E73", "#E69F00", "#0072B2"][state]; pen.fillRect(this.x(frame), bottom + 2, Math.max(1, (this.canvas.width - 60) / this.frames), 7); });
    pen.fillStyle = "#57606a"; pen.fillText("frame 0", 40, this.canvas.height - 4); pen.fillText(String(this.frames - 1), this.canvas.width - 30, this.canvas.height - 4);
    pen.fillText("subject: grey out, green in view, orange leaving, blue returned", 320, this.canvas.height - 4);
    pen.strokeStyle = "#1b1f24"; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(this.x(this.at), 4); pen.lineTo(this.x(this.at), bottom + 10); pen.stroke();
    this.canvas.dataset.frame = String(this.at);
  }
}
export default { render };
