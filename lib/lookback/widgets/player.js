// A frame-accurate player: every frame is asked for by its index and drawn on a canvas; nothing is guessed from time codes.
class Player {
  constructor(model, slot, facts) {
    this.model = model; this.slot = slot; this.facts = facts;
    this.images = new Map(); this.asked = new Set(); this.index = 0; this.shown = -1;
    this.canvas = document.createElement("canvas");
    this.canvas.width = facts.width; this.canvas.height = facts.height;
    this.canvas.className = "lookback-frame"; this.canvas.dataset.slot = slot;
    this.canvas.setAttribute("role", "img"); this.canvas.setAttribute("aria-label", facts.label || `clip ${slot + 1}`);
    this.context = this.canvas.getContext("2d");
    this.afterDraw = () => {};
  }
  seek(index) {
    this.index = Math.max(0, Math.min(this.facts.n_frames - 1, Math.round(index)));
    this.request(this.index, 8);
    this.draw();
  }
  ready(index) { return this.images.has(index); }
  request(from, count) {
    const wanted = [];
    for (let i = from; i < Math.min(from + count, this.facts.n_frames); i++)
      if (!this.images.has(i) && !this.asked.has(i)) { wanted.push(i); this.asked.add(i); }
    if (wanted.length) this.model.send({ type: "frames", slot: this.slot, indices: wanted, version: this.facts.version });
  }
  async receive(indices, buffers, version) {
    if (version !== this.facts.version) return;
    await Promise.all(indices.map(async (index, k) => {
      this.images.set(index, await createImageBitmap(new Blob([buffers[k]])));
      this.asked.delete(index);
    }));
    if (this.images.size > 400) this.forget();
    this.draw();
  }
  forget() {
    for (const index of [...this.images.keys()]) if (Math.abs(index - this.index) > 150) { this.images.get(index).close(); this.images.delete(index); }
  }
  clear() { this.images.clear(); this.asked.clear(); this.shown = -1; }
  draw() {
    const image = this.images.get(this.index);
    if (!image) return;
    this.context.drawImage(image, 0, 0, this.canvas.width, this.canvas.height);
    this.shown = this.index; this.canvas.dataset.frame = String(this.index);
    this.afterDraw();
  }
}

// Several players on one clock: the clock only moves on when every player has the next frame.
class Clock {
  constructor(players, fps, onFrame) {
    this.players = players; this.fps = fps || 24; this.onFrame = onFrame; this.position = 0; this.playing = false; this.speed = 1;
    this.length = Math.max(1, ...players.map((player) => player.facts.n_frames));
  }
  frameOf(player, position) {
    const map = player.facts.frame_map;
    return map ? map[Math.min(position, map.length - 1)] : Math.min(position, player.facts.n_frames - 1);
  }
  seek(position) {
    this.position = Math.max(0, Math.min(this.length - 1, Math.round(position)));
    for (const player of this.players) player.seek(this.frameOf(player, this.position));
    this.onFrame(this.position);
  }
  toggle() { this.playing ? this.pause() : this.play(); }
  pause() { this.playing = false; }
  play() {
    if (this.playing) return;
    this.playing = true;
    if (this.position >= this.length - 1) this.seek(0);
    let due = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      if (now >= due) {
        const next = this.position + 1;
        if (next >= this.length) { this.playing = false; this.onFrame(this.position); return; }
        for (const player of this.players) player.request(this.frameOf(player, next), 24);
        if (this.players.every((player) => player.ready(this.frameOf(player, next)))) { this.seek(next); due = Math.max(due + 1000 / (this.fps * this.speed), now - 50); }
      }
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
}

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}
