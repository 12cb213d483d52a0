// Curves on one time axis: one band per curve with a line for every model, phases shaded, the subject's visibility below, a cursor.
const COLOURS = { light: ["#0072B2", "#C04E00", "#00805D", "#A8477F", "#8a5a00", "#5b4fc7", "#7a3e9d", "#444444", "#2b6cb0"],
  dark: ["#5fb3ec", "#ff9b57", "#3fd3a7", "#f0a3cd", "#e0b155", "#b3a9ff", "#cf9df0", "#c8c8c8", "#8cc3ff"] };
const PHASES = { V: ["rgba(0,158,115,.16)", "V visible"], D: ["rgba(128,128,128,.22)", "D disappeared"], R: ["rgba(0,114,178,.18)", "R reappeared"] };
const STATES = { 0: ["#aeb6bf", "out of view"], 1: ["#009E73", "in view"], 2: ["#E69F00", "leaving or at the border"], 3: ["#0072B2", "returned"], "-1": ["#6b7580", "not known"] };
const LEFT = 64, RIGHT = 14, TOP = 20, BAND = 66, GAP = 20, STRIP = 10, AXIS = 22;
const modelColour = (models, model) => COLOURS[matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"][models.indexOf(model) % COLOURS.light.length];

class Chart {
  constructor(view, isShown, models, isModelShown) {
    Object.assign(this, { view, isShown, models, isModelShown, at: 0, frames: view.slots[0].n_frames, width: 1000 });
    this.canvas = element("canvas", { class: "curves", role: "img", "aria-label": "per-frame curves; click to go to a frame" });
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(this.canvas);
    this.resize();
  }
  close() { this.resized.disconnect(); }
  get bands() { return this.view.curves.filter(this.isShown).map((curve) => ({ ...curve, lines: curve.lines.filter((line) => this.isModelShown(line.model)) })).filter((curve) => curve.lines.length); }
  resize() {
    this.width = this.canvas.clientWidth || 1000;
    this.height = TOP + this.bands.length * (BAND + GAP) + (this.view.visibility.length ? STRIP + 8 : 0) + AXIS;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * scale); this.canvas.height = Math.round(this.height * scale);
    this.canvas.style.height = `${this.height}px`;
    this.pen = this.canvas.getContext("2d");
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.paint();
  }
  x(frame) { return LEFT + (frame / Math.max(1, this.frames - 1)) * (this.width - LEFT - RIGHT); }
  frameAt(event) {
    const share = (event.clientX - this.canvas.getBoundingClientRect().left - LEFT) / (this.width - LEFT - RIGHT);
    return Math.max(0, Math.min(this.frames - 1, Math.round(share * (this.frames - 1))));
  }
  cursor(at) { this.at = at; this.paint(); }
  paint() {
    const pen = this.pen, bands = this.bands, bottom = TOP + bands.length * (BAND + GAP), words = colour("words");
    pen.clearRect(0, 0, this.width, this.height);
    pen.font = "12px system-ui, sans-serif";
    for (const segment of this.view.facts.segments) {
      const phase = segment.kind === "phase" && PHASES[segment.segment_id];
      if (!phase) continue;
      const from = this.x(segment.start), to = this.x(Math.min(segment.end, this.frames - 1));
      pen.fillStyle = phase[0]; pen.fillRect(from, 0, to - from, bottom);
      pen.fillStyle = words; pen.fillText(to - from > 90 ? phase[1] : segment.segment_id, from + 4, 13);
    }
    bands.forEach((curve, k) => this.band(curve, TOP + k * (BAND + GAP)));
    this.strip(bottom + 6);
    pen.fillStyle = words;
    const ticks = Math.min(this.frames, this.width < 500 ? 5 : 9);
    for (let k = 0; k < ticks; k++) {
      const frame = Math.round((k * (this.frames - 1)) / Math.max(1, ticks - 1));
      pen.textAlign = k === 0 ? "left" : k === ticks - 1 ? "right" : "center";
      pen.fillText(k === 0 ? `frame ${frame}` : String(frame), this.x(frame), this.height - 5);
    }
    pen.textAlign = "left";
    pen.strokeStyle = colour("text"); pen.lineWidth = 1.5; pen.beginPath();
    pen.moveTo(this.x(this.at), 0); pen.lineTo(this.x(this.at), this.height - AXIS); pen.stroke();
    this.canvas.dataset.frame = String(this.at);
  }
  band(curve, top) {
    const pen = this.pen, all = curve.lines.flatMap((line) => line.values);
    const low = all.reduce((a, b) => Math.min(a, b)), high = all.reduce((a, b) => Math.max(a, b));
    const y = (value) => (high > low ? top + GAP + BAND - 6 - ((value - low) / (high - low)) * (BAND - 12) : top + GAP + BAND / 2);
    pen.strokeStyle = colour("line"); pen.lineWidth = 1; pen.strokeRect(LEFT, top + GAP, this.width - LEFT - RIGHT, BAND);
    pen.fillStyle = colour("words");
    pen.fillText(curve.name, LEFT + 4, top + GAP - 5);
    let beside = LEFT + 16 + pen.measureText(curve.name).width;
    for (const line of curve.lines) {
      const said = short(line.values[this.nearest(line)]);
      pen.fillStyle = modelColour(this.models, line.model);
      if (beside < this.width - 40) pen.fillText(said, beside, top + GAP - 5);
      beside += pen.measureText(said).width + 12;
    }
    pen.fillStyle = colour("words"); pen.textAlign = "right";
    if (high > low) pen.fillText(short(high), LEFT - 5, y(high) + 4);
    pen.fillText(short(low), LEFT - 5, y(low) + 4);
    pen.textAlign = "left";
    for (const line of [...curve.lines].reverse()) {
      pen.strokeStyle = pen.fillStyle = modelColour(this.models, line.model);
      pen.lineWidth = line.model === this.view.model ? 2.2 : 1.3; pen.beginPath();
      line.frames.forEach((frame, j) => (j ? pen.lineTo(this.x(frame), y(line.values[j])) : pen.moveTo(this.x(frame), y(line.values[j]))));
      pen.stroke();
      if (line.frames.length < 40) line.frames.forEach((frame, j) => pen.fillRect(this.x(frame) - 2, y(line.values[j]) - 2, 4, 4));
    }
  }
  nearest(line) {
    let low = 0, high = line.frames.length - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (line.frames[middle] <= this.at) low = middle; else high = middle; }
    return Math.abs(line.frames[high] - this.at) < Math.abs(line.frames[low] - this.at) ? high : low;
  }
  strip(top) {
    if (!this.view.visibility.length) return;
    this.pen.fillStyle = colour("words"); this.pen.textAlign = "right"; this.pen.fillText("subject", LEFT - 5, top + 9); this.pen.textAlign = "left";
    for (const [start, end, state] of this.view.visibility) {
      this.pen.fillStyle = STATES[state][0];
      this.pen.fillRect(this.x(start), top, Math.max(1, this.x(Math.min(end, this.frames - 1)) - this.x(start)), STRIP);
    }
  }
  // what the strip's colours mean, as a line of text
  key() {
    const used = [...new Set(this.view.visibility.map((span) => span[2]))].sort();
    return element("p", { class: "hint key" }, ...(used.length ? ["subject: "] : []), ...used.map((state) => element("span", {}, swatch(STATES[state][0]), STATES[state][1])));
  }
}
function swatch(fill) { const node = element("i", { class: "swatch" }); node.style.background = fill; return node; }
