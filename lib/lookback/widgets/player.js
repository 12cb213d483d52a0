// A frame-accurate player: every frame is asked for by its index and drawn on a canvas; nothing is guessed from time codes.
// One request at a time: when an answer is in, the newest wish is sent, so that dragging a slider never queues up.
// Standing still, a frame is shown exactly (PNG), a large one first in a hurry (JPEG), as all are while playing.
const PICTURE_BYTES = 200e6, BATCH = 6, AHEAD = 18, SMALL = 410000;

class Player {
  constructor(model, slot, facts) {
    this.model = model; this.slot = slot; this.facts = facts;
    this.images = new Map(); this.busy = false; this.index = 0; this.playing = false; this.upcoming = [];
    this.canvas = element("canvas", { class: "lookback-frame", "data-slot": slot, width: facts.width, height: facts.height, role: "img",
      "aria-label": facts.label || `clip ${slot + 1}` });
    this.context = this.canvas.getContext("2d");
    this.keep = Math.max(2 * AHEAD, Math.floor(PICTURE_BYTES / (4 * facts.width * facts.height)));
  }
  // show a frame; `upcoming` are the frames that will be wanted next when playing
  seek(index, playing = false, upcoming = []) {
    this.index = Math.max(0, Math.min(this.facts.n_frames - 1, Math.round(index)));
    this.playing = playing; this.upcoming = upcoming;
    this.draw();
    this.ask();
  }
  ready(index) { return this.images.has(index); }
  ask() {
    if (this.busy) return;
    const shown = this.images.get(this.index), small = this.canvas.width * this.canvas.height <= SMALL;
    const exact = !this.playing && (small || Boolean(shown));
    let wanted = [];
    if (!shown || (exact && !shown.exact)) wanted = [this.index];
    else if (this.playing) wanted = this.upcoming.filter((index) => !this.images.has(index)).slice(0, BATCH);
    if (!wanted.length) return;
    this.busy = true;
    this.model.send({ type: "frames", slot: this.slot, indices: wanted, version: this.facts.version, exact });
  }
  async receive(message, buffers) {
    if (message.version !== this.facts.version) return;
    const pictures = await Promise.all(buffers.map((bytes) => createImageBitmap(new Blob([bytes]), { colorSpaceConversion: "none" })));
    if (message.version !== this.facts.version) return;
    message.indices.forEach((index, k) => {
      this.images.get(index)?.picture.close();
      this.images.set(index, { picture: pictures[k], exact: message.exact });
    });
    this.busy = false;
    this.forget();
    this.draw();
    this.ask();
  }
  forget() {
    if (this.images.size <= this.keep) return;
    const distance = (index) => Math.abs(index - this.index);
    const far = [...this.images.keys()].sort((a, b) => distance(b) - distance(a));
    for (const index of far.slice(0, this.images.size - this.keep)) { this.images.get(index).picture.close(); this.images.delete(index); }
  }
  refresh(version) { this.images.clear(); this.busy = false; this.facts.version = version; this.ask(); }
  draw() {
    const image = this.images.get(this.index);
    if (!image) return;
    this.context.drawImage(image.picture, 0, 0, this.canvas.width, this.canvas.height);
    Object.assign(this.canvas.dataset, { frame: this.index, exact: image.exact, version: this.facts.version });
  }
}

// Several players on one clock: the clock only moves on when every player has the next frame.
class Clock {
  constructor(players, length, fps, onFrame) {
    this.players = players; this.length = length; this.fps = fps; this.onFrame = onFrame; this.position = 0; this.playing = false; this.speed = 1;
  }
  frameOf(player, position) {
    const map = player.facts.frame_map;
    return map ? map[Math.min(position, map.length - 1)] : Math.min(position, player.facts.n_frames - 1);
  }
  seek(position) {
    this.position = Math.max(0, Math.min(this.length - 1, Math.round(position)));
    for (const player of this.players) {
      const next = new Set();
      for (let k = 1; this.playing && k <= AHEAD; k++) next.add(this.frameOf(player, Math.min(this.position + k, this.length - 1)));
      player.seek(this.frameOf(player, this.position), this.playing, [...next]);
    }
    this.onFrame(this.position);
  }
  step(by) { this.playing = false; this.seek(this.position + by); }
  toggle() { this.playing ? this.pause() : this.play(); }
  pause() { if (this.playing) { this.playing = false; this.seek(this.position); } }
  play() {
    if (this.playing) return;
    this.playing = true;
    this.seek(this.position >= this.length - 1 ? 0 : this.position);
    let due = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      const next = this.position + 1;
      if (next >= this.length) { this.pause(); return; }
      if (now >= due && this.players.every((player) => player.ready(this.frameOf(player, next)))) {
        this.seek(next);
        due = Math.max(due + 1000 / (this.fps * this.speed), now - 50);
      }
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
}

// Play button, slider and frame number of a clock; `update(position)` is called by the clock.
function transport(clockOf, length) {
  const play = element("button", { class: "play", text: "Play", title: "space", onclick: () => clockOf().toggle() });
  const slider = element("input", { type: "range", class: "slider", min: 0, max: length - 1, step: 1, value: 0, "aria-label": "frame" });
  const label = element("span", { class: "position" });
  slider.addEventListener("input", () => { clockOf().playing = false; clockOf().seek(Number(slider.value)); });
  const update = (position) => {
    slider.value = position;
    label.textContent = `frame ${position} of 0–${length - 1}`;
    play.textContent = clockOf()?.playing ? "Pause" : "Play";
  };
  return { play, slider, label, update };
}
