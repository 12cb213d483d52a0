// A clip on the stage: a video while it plays, and over it the exact decoded frame from the server when it stands still.
// Every exact frame is asked for by its number. One request at a time for each clip: dragging a slider never queues up.
const PICTURE_BYTES = 200e6, AHEAD = 12, SMALL = 410000;

class Player {
  constructor(slot, facts, ask) {
    this.slot = slot; this.facts = facts; this.address = ask;
    this.images = new Map(); this.busy = false; this.index = 0; this.playing = false; this.upcoming = []; this.version = "";
    this.canvas = element("canvas", { class: "lookback-frame", "data-slot": slot, width: facts.width, height: facts.height, role: "img", "aria-label": facts.name });
    this.context = this.canvas.getContext("2d");
    this.keep = Math.max(2 * AHEAD, Math.floor(PICTURE_BYTES / (4 * facts.width * facts.height)));
    this.video = element("video", { "data-slot": slot, src: this.address("video", {}), preload: "auto", muted: "", playsinline: "", disableremoteplayback: "" });
    this.video.muted = true;
    this.video.addEventListener("error", () => { this.unplayable = true; });
    this.layer = element("div", { class: "layer" }, this.video, this.canvas);
    this.screen = element("div", { class: "screen" }, this.layer);
    this.shape(facts);
  }
  shape(facts) { this.screen.style.setProperty("--ratio", facts.width / facts.height); }
  close() { this.closed = true; this.video.pause(); this.video.removeAttribute("src"); this.video.load(); this.clear(); }
  clear() { for (const image of this.images.values()) image.picture.close(); this.images.clear(); }
  // show a frame; `upcoming` are the frames that will be wanted next when pictures are played one by one
  seek(index, playing = false, upcoming = []) {
    this.index = Math.max(0, Math.min(this.facts.n_frames - 1, Math.round(index)));
    this.playing = playing; this.upcoming = upcoming;
    this.draw();
    this.ask();
  }
  ready(index) { return this.images.has(index); }
  async ask() {
    if (this.busy || this.closed) return;
    const shown = this.images.get(this.index), small = this.canvas.width * this.canvas.height <= SMALL;
    const exact = !this.playing && (small || Boolean(shown));
    const wanted = !shown || (exact && !shown.exact) ? this.index : this.playing ? this.upcoming.find((index) => !this.images.has(index)) : undefined;
    if (wanted === undefined) return;
    this.busy = true;
    const { version, index } = this;
    try {
      const response = await fetch(this.address("frame", { index: wanted, exact: exact ? 1 : 0, ...(this.painted ?? {}) }));
      if (!response.ok) throw new Error((await response.json()).error);
      const picture = await createImageBitmap(await response.blob(), { colorSpaceConversion: "none" });
      if (version === this.version && !this.closed) { this.images.get(wanted)?.picture.close(); this.images.set(wanted, { picture, exact }); this.forget(); }
      this.busy = false;
      this.draw();
      this.ask();
    } catch (error) {
      this.busy = false;
      this.failed?.(error);
      if (this.index !== index) this.ask();
      else if (!this.images.has(index)) this.blank();
    }
  }
  forget() {
    const distance = (index) => Math.abs(index - this.index);
    const far = [...this.images.keys()].sort((a, b) => distance(b) - distance(a));
    for (const index of far.slice(0, Math.max(0, this.images.size - this.keep))) { this.images.get(index).picture.close(); this.images.delete(index); }
  }
  // other overlays: the pictures so far are of no use
  repaint(painted) {
    const version = JSON.stringify(painted);
    if (version === this.version) return;
    this.version = version; this.painted = painted; this.clear(); this.ask();
  }
  draw() {
    const image = this.images.get(this.index);
    if (!image) return;
    this.context.drawImage(image.picture, 0, 0, this.canvas.width, this.canvas.height);
    Object.assign(this.canvas.dataset, { frame: this.index, exact: image.exact, version: this.version });
    if (!this.rolling) this.screen.classList.remove("rolling"); // the frame covers the video that has stopped
  }
  blank() { // no frame is better than another one
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    for (const fact of ["frame", "exact", "version"]) delete this.canvas.dataset[fact];
    if (!this.rolling) this.screen.classList.remove("rolling");
  }
  // the video itself
  cue(index) { // resolves when the video stands at this frame
    return new Promise((resolve) => {
      const time = (index + 0.25) / this.facts.fps, done = () => resolve();
      if (Math.abs(this.video.currentTime - time) < 0.2 / this.facts.fps && this.video.readyState >= 3) { done(); return; }
      this.video.addEventListener("seeked", done, { once: true });
      this.video.addEventListener("error", done, { once: true });
      this.video.currentTime = time;
    });
  }
  roll(rate) {
    this.rolling = true;
    this.video.playbackRate = rate;
    this.video.play().catch(() => {});
    this.video.requestVideoFrameCallback(() => { if (this.rolling) this.screen.classList.add("rolling"); });
  }
  halt() { this.rolling = false; this.video.pause(); }
}

// Several players on one clock. Videos run freely at their rate and are kept together; with overlays, pictures are shown one by one.
class Clock {
  constructor(players, length, fps, onFrame) {
    this.players = players; this.length = length; this.fps = fps; this.onFrame = onFrame;
    this.position = 0; this.playing = false; this.speed = 1; this.loop = ""; this.span = [0, length - 1]; this.painted = false;
  }
  get first() { return this.loop === "span" ? this.span[0] : 0; }
  get last() { return this.loop === "span" ? this.span[1] : this.length - 1; }
  frameOf(player, position) {
    const map = player.facts.beside;
    return map ? map[Math.min(position, map.length - 1)] : Math.min(position, player.facts.n_frames - 1);
  }
  seek(position) {
    this.position = Math.max(0, Math.min(this.length - 1, Math.round(position)));
    const stepping = this.playing && this.inPictures;
    for (const player of this.players) {
      const next = new Set();
      for (let k = 1; stepping && k <= AHEAD; k++) next.add(this.frameOf(player, Math.min(this.position + k, this.length - 1)));
      player.seek(this.frameOf(player, this.position), stepping, [...next]);
    }
    this.onFrame(this.position);
  }
  goto(position) { this.pause(); this.seek(position); }
  step(by) { this.goto(this.position + by); }
  toggle() { this.playing ? this.pause() : this.play(); }
  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.players.forEach((player) => player.halt());
    this.seek(this.position);
  }
  play() {
    if (this.playing) return;
    this.playing = true;
    if (this.position >= this.last || this.position < this.first) this.position = this.first;
    this.inPictures = this.painted || this.players.some((player) => player.unplayable);
    if (this.inPictures) this.playPictures(); else this.playVideos();
  }
  again() { this.position = this.first; this.playing = false; this.play(); } // from the start of the loop

  async playVideos() {
    this.onFrame(this.position);
    const run = this.run = {}, [main, ...others] = this.players;
    await Promise.all(this.players.map((player) => player.cue(this.frameOf(player, this.position))));
    if (!this.playing || this.run !== run) return;
    if (this.players.some((player) => player.unplayable)) { this.playing = false; this.play(); return; }
    this.players.forEach((player) => player.roll(this.speed));
    others.forEach((player) => this.follow(main, player));
    const shown = (_, facts) => {
      if (!this.playing || this.run !== run) return;
      this.position = Math.max(0, Math.min(this.length - 1, Math.round(facts.mediaTime * this.fps)));
      others.forEach((player) => this.follow(main, player));
      this.onFrame(this.position);
      if (this.position >= this.last) { this.finished(); return; }
      main.video.requestVideoFrameCallback(shown);
    };
    main.video.requestVideoFrameCallback(shown);
    main.video.onended = () => { if (this.playing && this.run === run) { this.position = this.last; this.finished(); } };
  }
  finished() { // one whole frame time after the last frame came up
    const run = this.run;
    setTimeout(() => { if (this.playing && this.run === run) { if (this.loop) this.again(); else this.pause(); } }, 1000 / this.fps / this.speed);
  }
  // keep a video at the frames that belong beside those of the main one: by its rate, and by a seek where it is far off
  follow(main, player) {
    const film = player.video, at = Math.min(main.video.currentTime * this.fps, this.length - 1), map = player.facts.beside, ahead = Math.min(8, this.length - 1 - at);
    if (ahead < 1) return;
    const place = (x) => { const low = Math.floor(x), from = map[Math.min(low, map.length - 1)]; return from + (map[Math.min(low + 1, map.length - 1)] - from) * (x - low); };
    const slope = (place(at + ahead) - place(at)) / ahead;
    const rate = (this.speed * slope * this.fps) / player.facts.fps;
    const off = place(at) / player.facts.fps - film.currentTime;
    if (rate < 0.07) { film.pause(); return; } // its last frame is held
    if (film.paused && player.rolling && !film.ended) film.play().catch(() => {});
    if (Math.abs(off) > 0.4) { if (!film.seeking) film.currentTime += off; return; }
    const wanted = Math.abs(off) * player.facts.fps > 1.2 ? rate * (1 + Math.max(-0.25, Math.min(0.25, off))) : rate;
    if (Math.abs(wanted - film.playbackRate) > 0.015) film.playbackRate = Math.max(0.07, Math.min(8, wanted));
  }
  playPictures() {
    this.seek(this.position);
    let due = performance.now();
    const tick = (now) => {
      if (!this.playing || !this.inPictures) return;
      const next = this.position + 1;
      if (next > this.last) { if (this.loop) this.again(); else this.pause(); return; }
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
  slider.addEventListener("input", () => clockOf().goto(Number(slider.value)));
  const update = (position) => {
    slider.value = position;
    label.textContent = `frame ${position} of 0–${length - 1}`;
    play.textContent = clockOf()?.playing ? "Pause" : "Play";
  };
  return { play, slider, label, update };
}
