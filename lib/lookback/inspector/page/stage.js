// The opened clip: videos side by side or under a wipe, zoom, overlays, curves, camera paths, the box around the subject, facts, tags.
const OVERLAYS = [["mask", "Mask"], ["track", "Track"], ["faces", "Faces"], ["depth", "Depth"], ["difference", "Difference"], ["epipolar", "Epipolar line"]];
const MAX_COMPARED = 3, NOTE_PAUSE = 600, DEFAULT_CURVES = 3, LARGEST = 16;

class Stage {
  constructor(state, actions) {
    this.state = state; this.actions = actions; this.node = element("div", { class: "stage", tabindex: -1 }); this.showTags = () => {};
    this.players = []; this.clock = null; this.picked = new Map(); this.models = new Map(); this.open = new Set(["failures"]); this.zoom = { z: 1, x: 0, y: 0 };
    this.saveNote = async () => {}; this.saving = Promise.resolve(); // of the note: one after the other
    window.addEventListener("pagehide", () => this.saveNote(true));
  }
  focus() { this.node.focus({ preventScroll: true }); }
  close() {
    if (this.clock) this.clock.playing = false;
    this.players.forEach((player) => player.close());
    this.chart?.close(); this.path?.close();
    this.players = []; this.clock = this.chart = this.path = this.drawing = null;
  }
  async load() {
    const { state } = this, asked = this.asked = {};
    this.node.classList.add("loading");
    await this.saveNote(); // it may be of the clip that is asked for
    const view = await send(state.ask("api/clip", { clip: state.clip, sync: state.sync, compare: state.compare }));
    if (this.asked !== asked) return; // something else was asked for meanwhile
    this.node.classList.remove("loading");
    this.view = view;
    redraw(this.node, () => this.draw());
  }
  draw() {
    const { view, state } = this;
    this.close();
    state.compare = view.slots.slice(1).filter((slot) => !slot.truth).map((slot) => slot.clip);
    this.message = element("p", { class: "message", role: "status", text: view.message });
    this.message.hidden = !view.message;
    const parts = [view.prompt, view.facts.camera && `Camera: ${view.facts.camera}`].filter(Boolean);
    this.node.replaceChildren(this.message, element("h3", { text: breakable(view.label) }), element("p", { class: "prompt", text: parts.join("  ·  ") }), this.marks());
    if (view.slots.length) this.node.append(...this.videos(view));
    this.node.append(this.facts(view));
    this.place();
    if (this.clock) this.clock.seek(Math.min(state.frame, this.clock.length - 1));
    this.node.dataset.label = view.label;
  }
  say(text) { this.message.textContent = text; this.message.hidden = !text; }

  // videos
  videos(view) {
    const { state } = this;
    this.players = view.slots.map((facts, slot) => {
      const player = new Player(slot, facts, (path, values) => state.ask(path, { clip: facts.clip, ...(facts.truth ? { truth: 1 } : {}), ...values }));
      player.failed = (error) => this.say(error.message);
      return player;
    });
    const length = view.slots[0].n_frames, bar = transport(() => this.clock, length);
    this.clock = new Clock(this.players, length, view.slots[0].fps, (at) => this.moved(at, bar));
    Object.assign(this.clock, { loop: state.loop, span: this.span(length) });
    this.setOverlays();
    this.clips = element("div", { class: `clips of${this.players.length}` }, ...this.players.map((player) => this.figure(player)));
    this.handle = element("div", { class: "handle" });
    this.wiper = element("div", { class: "wiper" }, this.handle);
    this.clips.append(this.wiper);
    const speed = element("select", { "aria-label": "speed", onchange: (event) => { this.clock.speed = Number(event.target.value); if (this.clock.playing) { this.clock.pause(); this.clock.play(); } } },
      ...["0.25", "0.5", "1", "2"].map((value) => option(value, "1", `${value}x`)));
    const loop = element("select", { "data-loop": "", "aria-label": "loop", onchange: (event) => this.setLoop(event.target.value) },
      ...[["", "once"], ["clip", "loop"], ["span", "loop the marked part"]].map(([value, text]) => option(value, state.loop, text)));
    const transportRow = element("div", { class: "transport" }, bar.play, bar.slider, bar.label, speed, loop);
    return [this.clips, transportRow, this.tools(view), this.boxPanel(), ...this.curves(view), ...this.paths(view)];
  }
  moved(at, bar) {
    bar.update(at);
    this.chart?.cursor(at); this.path?.cursor(at);
    this.state.frame = at;
    if (!this.clock?.playing) this.state.write();
    for (const player of this.players) if (player.slot) player.shown.textContent = `· shows frame ${this.clock?.frameOf(player, at) ?? 0}`;
    this.boxShown?.classList.toggle("off", at !== 0);
  }
  figure(player) {
    player.shown = element("span", { class: "shown", "data-slot": player.slot });
    const { facts } = player;
    const caption = element("figcaption", {}, element("b", { text: facts.name }), ` ${facts.size}, ${facts.n_frames} frames, ${facts.has_rate ? "" : "no rate, shown at "}${short(facts.fps)} fps${facts.copied ? ", plays as an H.264 copy (frames are of the original)" : ""} `, player.shown);
    if (this.state.compare.includes(facts.clip) && player.slot) caption.append(element("button", { class: "remove", title: "stop comparing", text: "×",
      "aria-label": `remove ${facts.name}`, onclick: () => this.compare(this.state.compare.filter((label) => label !== facts.clip)) }));
    player.screen.addEventListener("pointerdown", (event) => this.grabbed(event, player));
    player.screen.addEventListener("dblclick", (event) => this.zoomBy(this.zoom.z > 1 ? 0 : 2, event, player));
    player.screen.addEventListener("wheel", (event) => { if (event.ctrlKey || event.metaKey) { event.preventDefault(); this.zoomBy(Math.exp(-event.deltaY / 300), event, player); } }, { passive: false });
    player.figure = element("figure", { "data-slot": player.slot }, player.screen, caption);
    return player.figure;
  }
  compare(labels) { this.state.compare = labels; this.state.write(true); this.actions.reload(); }
  setLoop(kind) {
    this.state.loop = this.clock.loop = kind;
    this.state.write();
    if (this.clock.playing) { this.clock.pause(); this.clock.play(); }
  }
  span(length) {
    const number = (text, usual) => (/^\d+$/.test(text) ? Math.min(Number(text), length - 1) : usual);
    const [from, to] = [number(this.state.from, 0), number(this.state.to, length - 1)];
    return from < to ? [from, to] : [0, length - 1];
  }
  mark(end) { // [ and ] mark the part that is looped
    this.state[end] = String(this.clock.position);
    this.clock.span = this.span(this.clock.length);
    this.node.querySelector("[data-loop]").value = "span";
    this.setLoop("span");
    this.say(`The loop goes from frame ${this.clock.span[0]} to ${this.clock.span[1]}.`);
  }

  // wipe, zoom, pan
  get wiped() { return this.state.wipe !== "" && this.players.length > 1; }
  get other() { return this.players[Math.max(1, Math.min(this.players.length - 1, Number(this.state.against) || 1))]; }
  place() {
    if (!this.players.length) return;
    const [z, x, y] = this.state.zoom.split(",").map(Number);
    this.zoom = z > 1 && Number.isFinite(x + y) ? { z, x, y } : { z: 1, x: 0, y: 0 };
    const at = Math.max(0, Math.min(100, Number(this.state.wipe)));
    this.clips.classList.toggle("wipe", this.wiped);
    this.wiper.hidden = !this.wiped;
    this.clips.style.setProperty("--ratio", this.players[0].facts.width / this.players[0].facts.height);
    this.handle.style.left = `${at}%`;
    for (const player of this.players) {
      const b = this.wiped && player === this.other;
      player.figure.classList.toggle("a", player.slot === 0);
      player.figure.classList.toggle("b", b);
      player.screen.style.clipPath = b ? `inset(0 0 0 ${at}%)` : "";
      player.shape(this.wiped ? this.players[0].facts : player.facts);
      player.layer.style.transform = `translate(${this.zoom.x * 100}%, ${this.zoom.y * 100}%) scale(${this.zoom.z})`;
      player.layer.classList.toggle("large", this.zoom.z >= 3);
    }
    if (this.wiped) { this.handle.dataset.left = this.players[0].facts.name; this.handle.dataset.right = this.other.facts.name; }
  }
  share(event, player) { // where a click is, in shares of the picture
    const box = player.screen.getBoundingClientRect();
    const at = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    return { screen: at, x: (at[0] - this.zoom.x) / this.zoom.z, y: (at[1] - this.zoom.y) / this.zoom.z };
  }
  setZoom(z, x, y) {
    const keep = (value) => Math.max(1 - z, Math.min(0, value));
    this.state.zoom = z > 1.001 ? [z, keep(x), keep(y)].map((value) => Number(value.toFixed(4))).join(",") : "";
    this.state.write();
    this.place();
  }
  zoomBy(factor, event, player) {
    const z = factor === 0 ? 1 : Math.max(1, Math.min(LARGEST, this.zoom.z * factor));
    const at = event ? this.share(event, player) : { screen: [0.5, 0.5], x: (0.5 - this.zoom.x) / this.zoom.z, y: (0.5 - this.zoom.y) / this.zoom.z };
    this.setZoom(z, at.screen[0] - at.x * z, at.screen[1] - at.y * z);
  }
  grabbed(event, player) {
    if (event.button) return;
    const box = player.screen.getBoundingClientRect(), start = this.share(event, player), was = { ...this.zoom };
    if (this.drawing) { if (player.slot === 0) this.drawBox(event, player, start); return; }
    const line = box.left + (Number(this.state.wipe) / 100) * box.width;
    const wiping = this.wiped && (this.zoom.z === 1 || Math.abs(event.clientX - line) < 24);
    if (!wiping && this.overlays.has("epipolar") && this.zoom.z === 1) { this.point(player, start); return; }
    const move = (next) => {
      if (wiping) { this.state.wipe = String(Math.round(Math.max(0, Math.min(100, ((next.clientX - box.left) / box.width) * 100)))); this.state.write(); this.place(); }
      else if (was.z > 1) this.setZoom(was.z, was.x + (next.clientX - event.clientX) / box.width, was.y + (next.clientY - event.clientY) / box.height);
    };
    this.follow(event, player.screen, move);
    if (wiping) move(event);
  }
  follow(event, node, move, done = () => {}) { // a drag with the mouse or a finger
    event.preventDefault();
    node.setPointerCapture(event.pointerId);
    const stop = (last) => { node.removeEventListener("pointermove", move); done(last); };
    node.addEventListener("pointermove", move);
    node.addEventListener("pointerup", stop, { once: true });
  }
  setWipe(on) {
    this.state.wipe = on ? "50" : "";
    this.state.write();
    this.place();
    const choose = this.node.querySelector("[data-against]");
    choose.parentElement.hidden = !on || this.players.length < 3;
    this.node.querySelector("[data-wipe]").checked = on;
  }

  // overlays
  get overlays() { return new Set(this.state.overlays.split(",").filter((name) => name && !(name in this.view.missing))); }
  setOverlays() {
    const names = [...this.overlays].sort().join(",");
    const [slot, point] = this.state.point ? this.state.point.split(":") : [];
    for (const player of this.players) {
      const clicked = names.includes("epipolar") && String(player.slot) === slot ? { point } : {};
      player.repaint(names && !player.facts.truth ? { overlays: names, ...clicked } : {});
    }
    this.clock.painted = Boolean(names);
    if (this.clock.playing) { this.clock.pause(); this.clock.play(); }
  }
  point(player, { x, y }) {
    this.clock.pause();
    this.state.point = `${player.slot}:${player.index},${x.toFixed(4)},${y.toFixed(4)}`;
    this.state.write();
    this.setOverlays();
  }
  tools(view) {
    const { state } = this, boxes = OVERLAYS.map(([name, text]) => {
      const box = element("input", { type: "checkbox", "data-overlay": name, onchange: () => {
        const all = new Set(state.overlays.split(",").filter(Boolean));
        box.checked ? all.add(name) : all.delete(name);
        state.overlays = [...all].join(",");
        state.write(); this.setOverlays(); this.hint(view);
      } });
      box.disabled = name in view.missing;
      box.checked = this.overlays.has(name);
      return element("label", { title: view.missing[name] || "", class: box.disabled ? "off" : "" }, box, text);
    });
    const others = view.counterparts.filter((other) => !state.compare.includes(other.label));
    const invitation = others.length ? "add a model" : state.compare.length ? "all are shown" : "no other model";
    const add = element("select", { "data-compare": "", "aria-label": "compare with",
      onchange: (event) => event.target.value && this.compare([...state.compare, event.target.value]) },
      option("", "", invitation), ...others.map((other) => option(other.label, "", other.model)));
    add.disabled = !others.length || state.compare.length >= MAX_COMPARED;
    const sync = element("select", { "data-sync": "", "aria-label": "synchronise by", onchange: (event) => { state.sync = event.target.value; state.write(); this.actions.reload(); } },
      ...["frame", "phase"].map((value) => option(value, state.sync)));
    const wipe = element("input", { type: "checkbox", "data-wipe": "", onchange: () => this.setWipe(wipe.checked) });
    wipe.checked = this.wiped; wipe.disabled = this.players.length < 2;
    const against = element("label", {}, element("b", { text: "against" }), element("select", { "data-against": "", "aria-label": "wipe against", onchange: (event) => { state.against = event.target.value; state.write(); this.place(); } },
      ...this.players.slice(1).map((player) => option(String(player.slot), state.against || "1", player.facts.name))));
    against.hidden = !this.wiped || this.players.length < 3;
    const button = (text, title, act, data) => element("button", { class: "tool", title, text, "data-tool": data, onclick: act });
    setTimeout(() => this.hint(view));
    return element("div", { class: "tools" },
      element("div", { class: "toggles" }, element("b", { text: "Compare" }), element("label", {}, add), element("label", {}, element("b", { text: "side by side by" }), sync),
        element("label", { title: "w" }, wipe, "A/B wipe"), against,
        element("span", { class: "group" }, button("+", "closer (+, or ctrl and the wheel)", () => this.zoomBy(1.5), "closer"), button("−", "farther (-)", () => this.zoomBy(1 / 1.5), "farther"), button("1:1", "whole picture (0, or a double click)", () => this.zoomBy(0), "whole")),
        button("Next failure", "f (shift: the one before)", () => this.actions.failure(1), "failure"), button("Draw a box", "name the subject with a box in the first frame (b)", () => this.startBox(), "box")),
      element("div", { class: "toggles" }, element("b", { text: "Overlays" }), ...boxes), element("p", { class: "hint overlay-hint" }));
  }
  // what the ticked overlays show, and why others are off
  hint(view) {
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
    const node = this.node.querySelector(".overlay-hint");
    if (node) node.textContent = [...[...this.overlays].map((name) => said[name]), ...[...absent].map(([why, names]) => `Off: ${names.join(", ")} (${why}).`)].join(" ");
  }

  // a box around the subject
  boxPanel() {
    const { view } = this, numbers = ["centre_x", "centre_y", "width", "height"].map((name) => Number(view.boxes[0]?.[name] || NaN));
    this.boxShown = element("div", { class: "subject off" });
    this.players[0].layer.append(this.boxShown);
    const scale = numbers.some((value) => value > 1) ? this.view.slots[0].size.split("x").map(Number) : [1, 1];
    this.savedBox = numbers.every(Number.isFinite) ? [numbers[0] / scale[0], numbers[1] / scale[1], numbers[2] / scale[0], numbers[3] / scale[1]] : null;
    this.showBox(this.savedBox);
    this.panel = element("div", { class: "box-panel", hidden: "" });
    return this.panel;
  }
  showBox(box) {
    if (!box) { this.boxShown.style.display = "none"; return; }
    const [x, y, width, height] = box;
    Object.assign(this.boxShown.style, { left: `${(x - width / 2) * 100}%`, top: `${(y - height / 2) * 100}%`, width: `${width * 100}%`, height: `${height * 100}%`, display: "block" });
  }
  startBox() {
    this.clock.goto(0);
    if (this.wiped) this.setWipe(false);
    this.drawing = { box: null };
    this.players[0].screen.classList.add("drawing");
    const name = element("input", { type: "text", "aria-label": "name of the subject", placeholder: "what it is, e.g. red ball" });
    const every = element("input", { type: "checkbox" });
    every.checked = true;
    const save = element("button", { class: "tool", "data-tool": "save-box", text: "Save the box", onclick: () => this.saveBox(this.drawing.box, name.value, every.checked) });
    save.disabled = true;
    this.drawing.save = save;
    this.panel.replaceChildren(element("b", { text: "Draw a box around the subject in the first frame." }), name,
      element("label", {}, every, `for every model of ${this.view.clip_id}`), save,
      element("button", { class: "tool", text: "It is not in the first frame", onclick: () => this.saveBox(null, "", every.checked) }),
      element("button", { class: "tool", text: "Cancel", onclick: () => this.endBox() }));
    this.panel.hidden = false;
  }
  drawBox(event, player, start) {
    const move = (next) => {
      const end = this.share(next, player), clip = (value) => Math.max(0, Math.min(1, value));
      const [left, right] = [clip(Math.min(start.x, end.x)), clip(Math.max(start.x, end.x))], [top, bottom] = [clip(Math.min(start.y, end.y)), clip(Math.max(start.y, end.y))];
      this.drawing.box = [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top];
      this.boxShown.classList.remove("off");
      this.showBox(this.drawing.box);
    };
    this.follow(event, player.screen, move, (last) => { move(last); this.drawing.save.disabled = this.drawing.box[2] < 0.005 || this.drawing.box[3] < 0.005; });
  }
  async saveBox(box, name, every) {
    try {
      const { file } = await send(this.state.ask("api/box"), { label: this.view.label, box, name, every_model: every });
      this.savedBox = box;
      this.endBox();
      this.say(`Saved to ${file}. The next run reads it.`);
    } catch (error) { this.say(error.message); }
  }
  endBox() { // a box that was drawn and not saved goes away
    this.drawing = null; this.panel.hidden = true; this.players[0].screen.classList.remove("drawing");
    this.showBox(this.savedBox);
  }

  // curves and paths
  curves(view) {
    const none = "No per-frame curve for this clip: no camera path, and no metric with values for single frames.";
    if (!view.curves.length) return [element("p", { class: "hint", text: none })];
    const names = [...new Set([view.model, ...view.curves.flatMap((curve) => curve.lines.map((line) => line.model))])];
    const shownBeside = new Set([view.model, ...view.slots.filter((slot) => !slot.truth).map((slot) => slot.name)]);
    const on = (curve) => this.picked.get(curve.name) ?? view.curves.indexOf(curve) < DEFAULT_CURVES; // what was ticked stays ticked on the next clip
    const modelOn = (model) => model === view.model || (this.models.get(model) ?? shownBeside.has(model));
    this.chart = new Chart(view, on, names, modelOn);
    this.chart.canvas.addEventListener("click", (event) => this.clock.goto(this.chart.frameAt(event)));
    const models = element("p", { class: "hint key models" }, ...names.map((model) => {
      const box = element("input", { type: "checkbox", "data-model": model, onchange: () => { this.models.set(model, box.checked); this.chart.resize(); } });
      box.checked = modelOn(model); box.disabled = model === view.model;
      return element("label", {}, box, swatch(modelColour(names, model)), model);
    }));
    const legend = element("details", { class: "legend" }, element("summary", { text: `Curves (${view.curves.length})` }), ...view.curves.map((curve) => {
      const box = element("input", { type: "checkbox", "data-curve": curve.name, onchange: () => { this.picked.set(curve.name, box.checked); this.chart.resize(); } });
      box.checked = on(curve);
      return element("label", {}, box, curve.name);
    }));
    return [element("div", {}, models, this.chart.canvas, this.chart.key(), this.remember(legend, "curves"))];
  }
  paths(view) {
    if (!view.paths.length) return [];
    const names = [...new Set([view.model, ...view.curves.flatMap((curve) => curve.lines.map((line) => line.model)), ...view.paths.map((path) => path.name)])];
    this.path = new PathView(view, names);
    const asked = view.paths.some((path) => path.kind === "asked") ? "" : " This clip has no camera request that can be read as a path.";
    return [this.remember(element("details", { "data-part": "path" }, element("summary", { text: `Camera path (${view.paths.map((path) => path.name).join(", ")})` }), this.path.canvas, this.path.legend(),
      element("p", { class: "hint", text: `Drag to turn. All paths start at the first camera and have the same size, because estimators know no metres.${asked}` })), "path")];
  }

  // tags, note, facts
  marks() {
    const { actions } = this, { label } = this.view;
    const select = element("button", { class: "tool selector", title: "x", onclick: () => actions.tag([label], "selected", select.getAttribute("aria-pressed") !== "true") });
    const input = element("input", { type: "text", class: "new-tag", "aria-label": "add a tag", placeholder: "add a tag", list: "tags" }), known = element("datalist", { id: "tags" });
    input.addEventListener("keydown", (event) => { if (event.key === "Enter" && input.value.trim()) { actions.tag([label], input.value.trim(), true); this.focus(); } });
    const line = element("div", { class: "marks" }, element("button", { class: "tool back", text: "All clips", title: "Escape", onclick: () => actions.open("") }), select, input, known,
      element("button", { class: "tool", "data-tool": "link", text: "Copy link", title: "the address of exactly this view", onclick: () => this.copyLink() }));
    this.showTags = () => { // in place: a button that is being pressed and a tag that is being typed stay
      const tags = actions.clip(label)?.tags ?? [], selected = tags.includes("selected"), chips = [...line.querySelectorAll(".chip")];
      select.setAttribute("aria-pressed", String(selected));
      select.textContent = selected ? "✓ selected" : "Select";
      chips.filter((chip) => !tags.includes(chip.dataset.tag)).forEach((chip) => chip.remove());
      tags.filter((tag) => tag !== "selected" && !chips.some((chip) => chip.dataset.tag === tag)).forEach((tag) =>
        input.before(element("button", { class: "chip", "data-tag": tag, title: `remove the tag ${tag}`, text: `${tag} ×`, onclick: () => actions.tag([label], tag, false) })));
      if (tags.includes(input.value.trim().replace(/\s+/g, " "))) input.value = "";
      known.replaceChildren(...actions.tags().map((tag) => element("option", { value: tag })));
    };
    this.showTags();
    return line;
  }
  copyLink() {
    const link = location.origin + location.pathname + this.state.query();
    const done = () => this.say(`Copied: ${link}`), shown = () => this.say(link);
    navigator.clipboard ? navigator.clipboard.writeText(link).then(done, shown) : shown();
  }
  remember(details, name) {
    details.open = this.open.has(name);
    details.addEventListener("toggle", () => { details.open ? this.open.add(name) : this.open.delete(name); });
    return details;
  }
  table(rows, columns, frameOf) {
    if (!rows.length) return element("p", { class: "hint", text: "None." });
    const cell = (value) => element("td", { text: typeof value === "number" ? short(value) : value ?? "" });
    const line = (row) => {
      const frame = frameOf?.(row) ?? null, node = element("tr", {}, ...columns.map((name) => cell(row[name])));
      if (frame === null || !this.clock) return node;
      node.className = "link"; node.title = `go to frame ${frame}`;
      node.addEventListener("click", () => this.clock.goto(frame));
      return node;
    };
    return element("div", { class: "scroll" }, element("table", {}, element("tr", {}, ...columns.map((name) => element("th", { text: name.replaceAll("_", " ") }))), ...rows.map(line)));
  }
  facts(view) {
    const part = (name, title, node) => this.remember(element("details", { "data-part": name }, element("summary", { text: title }), node), name);
    const { failures, scores, answers, segments } = view.facts;
    const parts = [["failures", `Failures (${failures.length})`, failures, ["label", "confidence", "frame_start", "frame_end", "evidence"], (row) => row.frame_start],
      ["scores", `Scores (${scores.length})`, scores, ["metric", "variant", "phase", "value", "reason", "detail", "backend"]],
      ["answers", `Judge's questions and answers (${answers.length})`, answers, ["task", "frame", "question", "answer", "value", "judge", "verbatim", "reason"], (row) => row.frame],
      ["segments", `Captions, phases, camera (${segments.length})`, segments, ["kind", "segment_id", "start", "end", "text"], (row) => row.start]];
    const full = parts.filter(([, , rows]) => rows.length), empty = parts.filter(([, , rows]) => !rows.length).map(([name]) => name);
    return element("div", { class: "facts" }, ...full.map(([name, title, rows, columns, frameOf]) => part(name, title, this.table(rows, columns, frameOf))),
      ...(empty.length ? [element("p", { class: "hint", text: `Nothing is known of: ${empty.join(", ")}.` })] : []), this.note(view));
  }
  note(view) {
    const area = element("textarea", { rows: 2, "aria-label": "note", placeholder: "A note on this clip, saved with the run" });
    const saved = element("span", { class: "hint saved", role: "status" });
    area.value = view.note || "";
    const address = this.state.ask("api/note");
    let timer = null, known = area.value, sent = known, refused = false; // known: what the server has for sure
    const post = async (leaving, instead_of = [known, sent]) => {
      if (area.value === (leaving ? known : sent) || refused) return;
      const text = sent = area.value;
      try {
        await send(address, { label: view.label, text, instead_of }, leaving);
        known = text;
        saved.textContent = "saved";
      } catch (error) {
        sent = known;
        refused = error.status === 409;
        saved.replaceChildren(error.message, ...(refused ? choice() : []));
      }
    };
    // another window saved a note meanwhile: neither is overwritten before somebody says so
    const choice = () => [
      element("button", { class: "tool", "data-tool": "save-mine", text: "Save mine instead", onclick: () => { refused = false; sent = null; this.saving = post(false, null); } }),
      element("button", { class: "tool", "data-tool": "take-other", text: "Take the other", onclick: () => this.actions.reload() })];
    const save = this.saveNote = (leaving = false) => {
      clearTimeout(timer);
      return (this.saving = leaving ? post(true) : this.saving.then(() => post(false)));
    };
    area.addEventListener("input", () => { if (refused) return; saved.textContent = "…"; clearTimeout(timer); timer = setTimeout(save, NOTE_PAUSE); });
    area.addEventListener("change", () => save());
    area.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "Escape") this.focus(); });
    return element("label", { class: "note" }, element("b", { text: "Note" }), area, saved);
  }
}
