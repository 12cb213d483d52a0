// Curves on one time axis: one band per curve with its own range, phases shaded, the subject's visibility below, a cursor.
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8a5a00", "#2b6cb0", "#7a3e9d", "#444444"];
const PHASES = { V: ["rgba(0,158,115,.14)", "V visible"], D: ["rgba(90,90,90,.18)", "D disappeared"], R: ["rgba(0,114,178,.14)", "R reappeared"] };
const STATES = { 0: ["#c3c9d0", "out of view"], 1: ["#009E73", "in view"], 2: ["#E69F00", "leaving or at the border"], 3: ["#0072B2", "returned"], "-1": ["#57606a", "not known"] };
const LEFT = 64, RIGHT = 14, TOP = 20, BAND = 62, GAP = 20, STRIP = 10, AXIS = 22;

class Chart {
  constructor(view, isShown) {
    this.view = view; this.isShown = isShown; this.at = 0; this.frames = view.slots[0].n_frames; this.width = 1000;
    this.canvas = element("canvas", { class: "curves", role: "img", "aria-label": "per-frame curves; click to go to a frame" });
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(this.canvas);
    this.resize();
  }
  close() { this.resized.disconnect(); }
  get bands() { return this.view.curves.filter(this.isShown); }
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
  colour(curve) { return COLOURS[this.view.curves.indexOf(curve) % COLOURS.length]; }
  paint() {
    const pen = this.pen, bottom = TOP + this.bands.length * (BAND + GAP);
    pen.clearRect(0, 0, this.width, this.height);
    pen.font = "12px system-ui, sans-serif";
    for (const segment of this.view.facts.segments) {
      const phase = segment.kind === "phase" && PHASES[segment.segment_id];
      if (!phase) continue;
      const from = this.x(segment.start), to = this.x(Math.min(segment.end, this.frames - 1));
      pen.fillStyle = phase[0]; pen.fillRect(from, 0, to - from, bottom);
      pen.fillStyle = "#3d444d"; pen.fillText(to - from > 90 ? phase[1] : segment.segment_id, from + 4, 13);
    }
    this.bands.forEach((curve, k) => this.band(curve, TOP + k * (BAND + GAP)));
    this.strip(bottom + 6);
    pen.fillStyle = "#3d444d";
    const ticks = Math.min(this.frames, 9);
    for (let k = 0; k < ticks; k++) {
      const frame = Math.round((k * (this.frames - 1)) / Math.max(1, ticks - 1));
      pen.textAlign = k === 0 ? "left" : k === ticks - 1 ? "right" : "center";
      pen.fillText(k === 0 ? `frame ${frame}` : String(frame), this.x(frame), this.height - 5);
    }
    pen.textAlign = "left";
    pen.strokeStyle = "#1b1f24"; pen.lineWidth = 1.5; pen.beginPath();
    pen.moveTo(this.x(this.at), 0); pen.lineTo(this.x(this.at), this.height - AXIS); pen.stroke();
    this.canvas.dataset.frame = String(this.at);
  }
  band(curve, top) {
    const pen = this.pen, low = curve.values.reduce((a, b) => Math.min(a, b)), high = curve.values.reduce((a, b) => Math.max(a, b));
    const y = (value) => (high > low ? top + GAP + BAND - 6 - ((value - low) / (high - low)) * (BAND - 12) : top + GAP + BAND / 2);
    pen.strokeStyle = "#d0d7de"; pen.lineWidth = 1; pen.strokeRect(LEFT, top + GAP, this.width - LEFT - RIGHT, BAND);
    const nearest = this.nearest(curve);
    pen.fillStyle = this.colour(curve);
    pen.fillText(`${curve.name}: ${short(curve.values[nearest])} at frame ${curve.frames[nearest]}`, LEFT + 4, top + GAP - 5);
    pen.fillStyle = "#3d444d"; pen.textAlign = "right";
    if (high > low) pen.fillText(short(high), LEFT - 5, y(high) + 4);
    pen.fillText(short(low), LEFT - 5, y(low) + 4);
    pen.textAlign = "left";
    pen.strokeStyle = pen.fillStyle = this.colour(curve); pen.lineWidth = 1.6; pen.beginPath();
    curve.frames.forEach((frame, j) => (j ? pen.lineTo(this.x(frame), y(curve.values[j])) : pen.moveTo(this.x(frame), y(curve.values[j]))));
    pen.stroke();
    if (curve.frames.length < 60) curve.frames.forEach((frame, j) => pen.fillRect(this.x(frame) - 2, y(curve.values[j]) - 2, 4, 4));
  }
  nearest(curve) {
    let low = 0, high = curve.frames.length - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (curve.frames[middle] <= this.at) low = middle; else high = middle; }
    return Math.abs(curve.frames[high] - this.at) < Math.abs(curve.frames[low] - this.at) ? high : low;
  }
  strip(top) {
    if (!this.view.visibility.length) return;
    this.pen.fillStyle = "#3d444d"; this.pen.textAlign = "right"; this.pen.fillText("subject", LEFT - 5, top + 9); this.pen.textAlign = "left";
    for (const [start, end, state] of this.view.visibility) {
      this.pen.fillStyle = STATES[state][0];
      this.pen.fillRect(this.x(start), top, Math.max(1, this.x(Math.min(end, this.frames - 1)) - this.x(start)), STRIP);
    }
  }
  // what the strip's colours mean, as a line of text
  key() {
    const used = [...new Set(this.view.visibility.map((span) => span[2]))].sort();
    return element("p", { class: "hint key" }, ...(used.length ? ["subject: "] : []), ...used.map((state) =>
      element("span", {}, element("i", { style: `background:${STATES[state][0]}` }), STATES[state][1])));
  }
}
function short(value) { return Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(1) : String(Number(value.toPrecision(4))); }
