// Camera paths in space, turned with the mouse: what was asked for, and what the models made.
const RAYS = 14, RAY = { moves: 0.22, turns: 0.9 };

class PathView {
  constructor(view, models) {
    Object.assign(this, { paths: view.paths, models, at: 0, turn: -0.6, tilt: 0.5, zoom: 1, hidden: new Set() });
    this.canvas = element("canvas", { class: "path", role: "img", "aria-label": "camera paths; drag to turn, use the wheel with ctrl to come closer", tabindex: -1 });
    let last = null;
    this.canvas.addEventListener("pointerdown", (event) => { last = [event.clientX, event.clientY]; this.canvas.setPointerCapture(event.pointerId); });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!last) return;
      this.turn += (event.clientX - last[0]) / 120;
      this.tilt = Math.max(-1.5, Math.min(1.5, this.tilt + (event.clientY - last[1]) / 120));
      last = [event.clientX, event.clientY];
      this.paint();
    });
    this.canvas.addEventListener("pointerup", () => { last = null; });
    this.canvas.addEventListener("wheel", (event) => { if (!event.ctrlKey) return; event.preventDefault(); this.zoom = Math.max(0.4, Math.min(6, this.zoom * Math.exp(-event.deltaY / 400))); this.paint(); }, { passive: false });
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(this.canvas);
  }
  close() { this.resized.disconnect(); }
  cursor(at) { this.at = at; this.paint(); }
  resize() {
    const scale = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth || 400; this.height = this.canvas.clientHeight || 300;
    this.canvas.width = Math.round(this.width * scale); this.canvas.height = Math.round(this.height * scale);
    this.pen = this.canvas.getContext("2d");
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.paint();
  }
  colourOf(path) { return path.kind === "asked" ? colour("text") : path.kind === "truth" ? colour("truth") : modelColour(this.models, path.name); }
  // x right, y down, z forward: seen from above and behind, then turned by the person
  flat([x, y, z]) {
    const right = x * Math.cos(this.turn) + z * Math.sin(this.turn), back = -x * Math.sin(this.turn) + z * Math.cos(this.turn);
    const size = (Math.min(this.width, this.height) / 1.8) * this.zoom;
    return [this.width / 2 + right * size, this.height * 0.6 + (y * Math.cos(this.tilt) - back * Math.sin(this.tilt)) * size];
  }
  line(points, pen = this.pen) { pen.beginPath(); points.map((point) => this.flat(point)).forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y))); pen.stroke(); }
  paint() {
    const pen = this.pen;
    if (!pen) return;
    pen.clearRect(0, 0, this.width, this.height);
    pen.lineWidth = 1; pen.strokeStyle = colour("line");
    for (let k = -4; k <= 4; k++) { this.line([[k / 4, 0.25, -1], [k / 4, 0.25, 1]]); this.line([[-1, 0.25, k / 4], [1, 0.25, k / 4]]); } // a floor
    for (const path of [...this.paths].reverse()) if (!this.hidden.has(path.name)) this.drawPath(path); // the asked one on top
    this.canvas.dataset.frame = String(this.at);
    this.canvas.dataset.paths = String(this.paths.length - this.hidden.size);
  }
  drawPath(path) {
    const pen = this.pen, many = path.places.length, reach = path.moves ? RAY.moves : RAY.turns;
    const tip = (k) => path.places[k].map((value, axis) => value + reach * path.forward[k][axis]);
    pen.strokeStyle = pen.fillStyle = this.colourOf(path);
    pen.setLineDash(path.kind === "asked" ? [6, 4] : []);
    pen.lineWidth = 2;
    this.line(path.moves ? path.places : path.places.map((_, k) => tip(k)));
    pen.lineWidth = 0.8; pen.globalAlpha = 0.55;
    for (let k = 0; k < many; k += Math.max(1, Math.ceil(many / RAYS))) this.line([path.places[k], tip(k)]);
    pen.globalAlpha = 1; pen.setLineDash([]);
    this.camera(path, this.rowAt(path), path.kind === "asked" ? 0.6 * reach : reach);
  }
  rowAt(path) { let best = 0; path.frames.forEach((frame, k) => { if (Math.abs(frame - this.at) < Math.abs(path.frames[best] - this.at)) best = k; }); return best; }
  // the camera of this frame as a small pyramid
  camera(path, k, reach) {
    const place = path.places[k], forward = path.forward[k], up = path.up[k], size = reach * 0.55;
    const right = [forward[1] * up[2] - forward[2] * up[1], forward[2] * up[0] - forward[0] * up[2], forward[0] * up[1] - forward[1] * up[0]];
    const corner = (a, b) => place.map((value, axis) => value + size * (forward[axis] + 0.5 * a * right[axis] + 0.3 * b * up[axis]));
    const corners = [corner(-1, 1), corner(1, 1), corner(1, -1), corner(-1, -1)];
    this.pen.lineWidth = 2;
    this.line([...corners, corners[0]]);
    corners.forEach((one) => this.line([place, one]));
    const [x, y] = this.flat(place);
    this.pen.beginPath(); this.pen.arc(x, y, 3.5, 0, 7); this.pen.fill();
  }
  legend() {
    return element("p", { class: "hint key" }, ...this.paths.map((path) => {
      const box = element("input", { type: "checkbox", "data-path": path.name, onchange: () => { box.checked ? this.hidden.delete(path.name) : this.hidden.add(path.name); this.paint(); } });
      box.checked = true;
      return element("label", {}, box, swatch(this.colourOf(path)), path.name + (path.kind === "made" ? " (made)" : "") + (path.moves ? "" : ", only turns"));
    }));
  }
}
