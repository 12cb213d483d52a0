// What the page shows, as values that stand in its address: whoever opens the same address sees the same.
const ONE = {
  run: "", clip: "", frame: "", sync: "phase", wipe: "", against: "", zoom: "", loop: "", from: "", to: "", point: "", overlays: "",
  view: "grid", model: "", scene: "", failure: "", tag: "", text: "", prompt: "", metric: "", low: "", high: "", sort: "", order: "",
};
const MANY = ["compare", "show"];

class State {
  constructor() { this.read(); }
  read() {
    const given = new URLSearchParams(location.search);
    for (const [name, usual] of Object.entries(ONE)) this[name] = given.get(name) ?? usual;
    for (const name of MANY) this[name] = given.getAll(name);
    this.frame = this.frame !== "" && /^\d+$/.test(this.frame) ? Number(this.frame) : 0;
  }
  query() {
    const said = new URLSearchParams();
    for (const [name, usual] of Object.entries(ONE)) {
      const value = String(this[name]);
      if (name === "frame" ? this.clip : value !== usual) said.set(name, value);
    }
    for (const name of MANY) for (const value of this[name]) said.append(name, value);
    return `?${said}`;
  }
  // `step` makes an entry in the browser's history, so that its back button returns to here
  write(step = false) {
    clearTimeout(this.later);
    if (step) history.pushState(null, "", this.query());
    else this.later = setTimeout(() => history.replaceState(null, "", this.query()), 150); // browsers limit how often one may write
  }
  // an address of the server for the run that is shown
  ask(path, values = {}) {
    const said = new URLSearchParams(this.run ? { run: this.run } : {});
    for (const [name, value] of Object.entries(values)) for (const each of [value].flat()) said.append(name, each);
    return `${path}?${said}`;
  }
}
function option(value, current, text = value || "all") {
  const node = element("option", { value, text });
  if (value === current) node.selected = true;
  return node;
}
function short(value) { return Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(1) : String(Number(value.toPrecision(4))); }
const breakable = (label) => label.replaceAll("/", "/\u200b").replaceAll("_", "_\u200b");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
