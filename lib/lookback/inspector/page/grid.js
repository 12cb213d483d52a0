// All clips as thumbnails or rows: filters, sorting, tags. Only what is in sight is drawn, so that thousands of clips stay quick.
const CARD = { width: 216, text: 92 }, ROW = 66, SPARE_ROWS = 2, PREVIEW_AFTER = 350;

class Grid {
  constructor(state, actions) {
    this.state = state; this.actions = actions;
    this.clips = []; this.metrics = []; this.prompts = []; this.values = new Map(); this.listed = []; this.drawn = new Map();
    this.canvas = element("div", { class: "room" });
    this.scroll = element("div", { class: "cards", tabindex: -1 }, this.canvas);
    this.scroll.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw(true)).observe(this.scroll);
  }
  async load() {
    const found = await send(this.state.ask("api/clips"));
    Object.assign(this, { clips: found.clips, metrics: found.metrics, prompts: found.prompts, run: found.run, values: new Map(), worstIsLeast: new Map() });
    this.at = new Map(this.clips.map((clip, place) => [clip.label, place]));
    this.clips.forEach((clip, place) => { clip.place = place; });
  }
  clip(label) { return this.clips[this.at.get(label)]; }
  choices(name) {
    const all = { model: (clip) => [clip.model], scene: (clip) => [clip.scene], failure: (clip) => clip.failures.map((one) => one[0]), tag: (clip) => clip.tags };
    return [...new Set(this.clips.flatMap(all[name]))].filter(Boolean).sort();
  }
  shownMetrics() { return [...new Set([this.state.metric, ...this.state.show].filter(Boolean))]; }
  async need(metric) { // a metric's values are asked for once
    if (this.values.has(metric)) return;
    const { values, worst_is_least } = await send(this.state.ask("api/values", { metric }));
    this.values.set(metric, values); this.worstIsLeast.set(metric, worst_is_least);
  }
  async apply() {
    const known = new Set(this.metrics), state = this.state;
    if (!known.has(state.metric)) state.metric = "";
    state.show = state.show.filter((name) => known.has(name));
    await Promise.all(this.shownMetrics().map((metric) => this.need(metric)));
    this.listed = this.clips.filter((clip) => this.passes(clip)).sort((a, b) => this.order(a, b));
    this.draw(true);
  }
  passes(clip) {
    const { model, scene, failure, tag, text, prompt, metric, low, high } = this.state;
    if ((model && clip.model !== model) || (scene && clip.scene !== scene) || (tag && !clip.tags.includes(tag))) return false;
    if (failure === "any" ? !clip.failures.length : failure === "none" ? clip.failures.length : failure && !clip.failures.some((one) => one[0] === failure)) return false;
    if (!clip.label.toLowerCase().includes(text.toLowerCase())) return false;
    if (!(this.prompts[clip.prompt] || "").toLowerCase().includes(prompt.toLowerCase())) return false;
    if (!metric) return true;
    const value = this.values.get(metric)[clip.place];
    return value !== null && (low === "" || value >= Number(low)) && (high === "" || value <= Number(high));
  }
  order(a, b) {
    const { sort, order, metric } = this.state, turn = order === "down" ? -1 : 1;
    const keys = {
      model: (clip) => clip.model, scene: (clip) => clip.scene, prompt: (clip) => this.prompts[clip.prompt],
      failure: (clip) => clip.failures[0]?.[1] ?? (clip.failures.length ? 0 : null),
      value: (clip) => (metric ? this.values.get(metric)[clip.place] : null),
    };
    if (!keys[sort]) return turn * (a.place - b.place);
    const [one, two] = [keys[sort](a), keys[sort](b)];
    if (one === null || two === null) return (one === null) - (two === null) || a.place - b.place; // what has no value stands last
    return turn * (one < two ? -1 : one > two ? 1 : 0) || a.place - b.place;
  }
  neighbour(by) {
    const at = this.listed.findIndex((clip) => clip.label === this.state.clip);
    return this.listed[at + by]; // from no clip the next one is the first
  }
  // the next failure after a place: in the same clip, then in the next clips of the list, from the start again at the end
  nextFailure(label, frame, by = 1) {
    const start = Math.max(0, this.listed.findIndex((clip) => clip.label === label)), many = this.listed.length;
    if (!many) return null;
    const places = (clip) => [...new Set(clip.failures.map((one) => one[2] ?? 0))].sort((a, b) => by * (a - b));
    for (let step = 0; step <= many; step++) {
      const clip = this.listed[(((start + by * step) % many) + many) % many];
      const left = places(clip).filter((place) => (step === 0 && clip.label === label ? by * (place - frame) > 0 : true));
      if (left.length) return { label: clip.label, frame: left[0] };
    }
    return null;
  }

  // what is in sight
  get room() {
    const rows = this.state.view === "list" || this.state.clip !== "";
    const width = this.scroll.clientWidth || 1, columns = rows ? 1 : Math.max(1, Math.floor(width / CARD.width));
    return { rows, columns, height: rows ? ROW : Math.round((width / columns - 12) * 0.5625) + CARD.text };
  }
  draw(whole = false) {
    const { rows, columns, height } = this.room;
    const total = Math.ceil(this.listed.length / columns);
    this.canvas.style.height = `${total * height}px`;
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / height) - SPARE_ROWS);
    const last = Math.min(total, Math.ceil((this.scroll.scrollTop + this.scroll.clientHeight) / height) + SPARE_ROWS);
    const span = `${first} ${last} ${columns} ${height}`;
    if (!whole && span === this.span) return;
    this.span = span;
    this.scroll.classList.toggle("rows", rows);
    const kept = whole ? new Map() : this.drawn;
    this.drawn = new Map();
    for (let place = first * columns; place < Math.min(last * columns, this.listed.length); place++) {
      const clip = this.listed[place], card = kept.get(clip.label) ?? this.card(clip);
      Object.assign(card.style, { top: `${Math.floor(place / columns) * height}px`, left: `${((place % columns) * 100) / columns}%`, width: `${100 / columns}%`, height: `${height}px` });
      this.drawn.set(clip.label, card);
    }
    redraw(this.canvas, () => this.fill([...this.drawn.values()]));
  }
  fill(cards) { // cards that stay are not moved: that would take the focus from them
    const staying = new Set(cards), { children } = this.canvas;
    [...children].forEach((card) => { if (!staying.has(card)) card.remove(); });
    cards.forEach((card, place) => { if (children[place] !== card) this.canvas.insertBefore(card, children[place] ?? null); });
  }
  focus(label) { (this.drawn.get(label)?.querySelector(".card") ?? this.scroll).focus(); }
  card(clip) {
    const frame = clip.failures.find((one) => one[2] !== null)?.[2], place = frame === undefined ? {} : { index: frame };
    const picture = element("img", { src: this.state.ask("thumbnail", { clip: clip.label, ...place }), alt: "", loading: "lazy", draggable: "false" });
    const screen = element("span", { class: "thumb" }, picture);
    picture.addEventListener("error", () => screen.replaceChildren(element("span", { class: "hint", text: "cannot be read" })));
    const name = clip.label.split("/").slice(-1)[0];
    const said = element("span", { class: "said" }, element("b", { text: clip.model }), element("span", { class: "name", text: breakable(name) }),
      element("span", { class: "chips" }, ...clip.failures.slice(0, 3).map((one) => element("i", { class: "failure", text: one[0].replaceAll("_", " "), title: `confidence ${one[1] ?? "not known"}, from frame ${one[2] ?? "?"}` })),
        ...clip.tags.filter((tag) => tag !== "selected").map((tag) => element("i", { class: "tag", text: tag }))),
      element("span", { class: "values" }, ...this.shownMetrics().map((metric) => this.value(metric, clip))));
    const open = element("button", { class: "card", "data-clip": clip.label, title: [clip.label, this.prompts[clip.prompt]].filter(Boolean).join("\n"),
      onclick: () => this.actions.open(clip.label) }, screen, said);
    if (clip.label === this.state.clip) open.setAttribute("aria-current", "true");
    const box = element("input", { type: "checkbox", class: "select", "aria-label": `select ${clip.label}`, onchange: () => this.actions.tag([clip.label], "selected", box.checked) });
    box.checked = clip.tags.includes("selected");
    this.preview(open, screen, clip);
    return element("div", { class: "place" }, open, box);
  }
  value(metric, clip) {
    const value = this.values.get(metric)?.[clip.place];
    return element("span", { title: metric }, element("b", { text: value === null || value === undefined ? "–" : short(value), "data-value": metric }), ` ${metric.split(".").pop()}`);
  }
  preview(card, screen, clip) { // a card plays while the mouse rests on it
    let timer = null;
    card.addEventListener("mouseenter", () => {
      timer = setTimeout(() => {
        const film = element("video", { src: this.state.ask("video", { clip: clip.label }), muted: "", loop: "", playsinline: "" });
        film.muted = true;
        screen.append(film);
        film.play().catch(() => film.remove());
      }, PREVIEW_AFTER);
    });
    card.addEventListener("mouseleave", () => { clearTimeout(timer); screen.querySelector("video")?.remove(); });
  }
  reveal(label) {
    this.draw(true); // it gives the list its length
    const at = this.listed.findIndex((clip) => clip.label === label);
    if (at < 0) return;
    const { columns, height } = this.room, top = Math.floor(at / columns) * height, { scrollTop, clientHeight } = this.scroll;
    if (top < scrollTop || top + height > scrollTop + clientHeight) this.scroll.scrollTop = top - clientHeight / 3;
    this.draw();
  }

  // the filters
  controls() {
    const state = this.state, change = () => this.actions.listed();
    const pick = (name, values, text = name, first = "all") => element("label", {}, element("span", { text }), element("select", { "data-filter": name, "aria-label": text,
      onchange: async (event) => { state[name] = event.target.value; if (name === "metric") await this.sortByValue(); change(); } },
      option("", state[name], first), ...values.map((value) => option(value, state[name]))));
    const type = (name, kind, text, wide) => element("input", { type: kind, step: "any", "data-filter": name, "aria-label": text, placeholder: wide ? "" : text, value: state[name],
      oninput: (event) => { state[name] = event.target.value; change(); } });
    const sort = element("label", {}, element("span", { text: "sort by" }),
      element("select", { "data-filter": "sort", "aria-label": "sort by", onchange: (event) => { state.sort = event.target.value; change(); } },
        ...[["", "the run's order"], ["value", "the metric's value"], ["failure", "failure"], ["model", "model"], ["scene", "scene"], ["prompt", "prompt"]].map(([value, text]) => option(value, state.sort, text))),
      element("button", { class: "order", "aria-label": "turn the order round", title: "turn the order round", text: state.order === "down" ? "↓" : "↑",
        onclick: (event) => { state.order = state.order === "down" ? "" : "down"; event.target.textContent = state.order === "down" ? "↓" : "↑"; change(); } }));
    const names = this.metrics;
    const also = element("label", {}, element("span", { text: "also show" }), element("select", { "data-filter": "show", "aria-label": "also show the values of",
      onchange: (event) => { if (event.target.value) state.show = [...new Set([...state.show, event.target.value])]; event.target.value = ""; change(); this.actions.filters(); } },
      option("", "", "another metric"), ...names.filter((name) => !state.show.includes(name)).map((name) => option(name, ""))));
    const shown = element("p", { class: "chips" }, ...state.show.map((name) => element("button", { class: "chip", title: `stop showing ${name}`, text: `${name} ×`,
      onclick: () => { state.show = state.show.filter((one) => one !== name); change(); this.actions.filters(); } })));
    const scored = names.length ? [pick("metric", names, "metric", "none"),
      element("label", { class: "range" }, element("span", { text: "its value" }), type("low", "number", "at least"), "to", type("high", "number", "at most")), also, shown] : [];
    const failed = this.choices("failure").length ? [pick("failure", ["any", "none", ...this.choices("failure")], "failure")] : [];
    return [pick("model", this.choices("model"), "model"), pick("scene", this.choices("scene"), "scene"), ...failed, ...scored,
      pick("tag", this.choices("tag"), "tag"), element("label", {}, element("span", { text: "name has" }), type("text", "search", "name has", true)),
      ...(this.prompts.some(Boolean) ? [element("label", {}, element("span", { text: "prompt has" }), type("prompt", "search", "prompt has", true))] : []), sort];
  }
  async sortByValue() { // a chosen metric shows its worst clips first
    const { metric } = this.state;
    if (metric) await this.need(metric);
    this.state.sort = metric ? "value" : "";
    this.state.order = metric && !this.worstIsLeast.get(metric) ? "down" : "";
    this.actions.filters();
  }
}
