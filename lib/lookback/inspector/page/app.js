// The page: the list of clips on the left or over the whole width, the opened clip on the stage, the keys.
const KEYS = "space play · ← → frame · n p clip · f failure · w wipe · b box · x select · [ ] loop · + - 0 zoom · esc list";
const root = document.getElementById("inspector"), state = new State();
const actions = {
  open: (label, frame = 0) => {
    if (label && label === state.clip && stage.view?.label === label) return;
    stage.node.scrollTop = 0;
    Object.assign(state, { from: "", to: "", loop: state.loop === "span" ? "" : state.loop }); // the marked part belongs to one clip
    state.clip = label; state.frame = frame; state.point = "";
    state.write(true);
    show();
  },
  reload: () => show(),
  listed: async () => { state.write(); await relist(); },
  filters: () => drawSide(),
  clip: (label) => grid.clip(label),
  tags: () => grid.choices("tag").filter((tag) => tag !== "selected"),
  tag: (labels, tag, on) => { saving = saving.then(() => saveTag(labels, tag, on)); },
  failure: (by) => {
    const found = grid.nextFailure(state.clip, state.clip ? stage.clock?.position ?? 0 : -1, by);
    if (!found) say("No clip of this list has a failure.");
    else if (found.label === state.clip) stage.clock.goto(found.frame);
    else actions.open(found.label, found.frame);
  },
};
const grid = new Grid(state, actions), stage = new Stage(state, actions);
const title = element("h1", { text: "Clip inspector" }), note = element("p", { class: "message", role: "status" });
const filters = element("details", { class: "filters", open: "" }), count = element("p", { class: "count", role: "status" }), bulk = element("div", { class: "bulk" });
const keys = element("p", { class: "hint keys", text: KEYS });
const side = element("aside", { "aria-label": "clips" }, title, filters, count, bulk);
const main = element("section", { class: "main" });
root.append(side, main);

let saving = Promise.resolve(); // one change after the other: an older answer must not overwrite a newer one
async function saveTag(labels, tag, on) {
  try {
    const { tags } = await send(state.ask("api/tag"), { labels, tag, on });
    grid.clips.forEach((clip) => { clip.tags = tags[clip.label] ?? []; });
    await relist();
    drawSide();
    if (state.clip) stage.showTags();
  } catch (error) { say(error.message); }
}
function say(text) { note.textContent = text; if (text) main.prepend(note); else note.remove(); }
function drawSide() {
  const open = filters.open;
  redraw(filters, () => filters.replaceChildren(element("summary", { text: "Filter and sort" }), ...grid.controls()));
  filters.open = open;
  drawBulk();
}
function drawBulk() {
  const chosen = grid.clips.filter((clip) => clip.tags.includes("selected")), only = chosen.length ? "selected" : grid.clips.some((clip) => clip.tags.length) ? "tagged" : "all";
  const which = element("select", { "aria-label": "what to export", "data-export": "" }, option("selected", only, `the ${chosen.length} selected`), option("tagged", only, "all with a tag"), option("all", only, "all clips"));
  const link = element("a", { class: "tool", "data-tool": "export", text: "Export CSV", download: "" });
  const aim = () => { link.href = state.ask("export.csv", { only: which.value, metric: grid.shownMetrics() }); };
  which.addEventListener("change", aim);
  aim();
  const labels = () => grid.listed.map((clip) => clip.label);
  const look = element("button", { class: "tool", "data-tool": "view", text: state.view === "list" ? "As pictures" : "As a list", onclick: () => { state.view = state.view === "list" ? "grid" : "list"; state.write(); drawBulk(); grid.draw(true); } });
  const tag = element("input", { type: "text", class: "new-tag", "aria-label": "tag the listed clips", placeholder: "tag the listed clips" });
  tag.addEventListener("keydown", (event) => { if (event.key === "Enter" && tag.value.trim()) actions.tag(labels(), tag.value.trim(), true); });
  redraw(bulk, () => bulk.replaceChildren(...(state.clip ? [] : [look]), element("button", { class: "tool", "data-tool": "select-listed", text: "Select the listed", onclick: () => actions.tag(labels(), "selected", true) }),
    element("button", { class: "tool", "data-tool": "select-none", text: "Select none", onclick: () => actions.tag(chosen.map((clip) => clip.label), "selected", false) }), tag, element("span", { class: "group" }, link, which)));
}
async function relist() {
  try { await grid.apply(); } catch (error) { say(error.message); return; }
  const selected = grid.clips.filter((clip) => clip.tags.includes("selected")).length;
  count.textContent = `${grid.listed.length} of ${grid.clips.length} clips${selected ? `, ${selected} selected` : ""}`;
  drawBulk();
}
let last = ""; // the clip that was shown before
async function show() {
  say("");
  const opened = state.clip !== "", left = last, home = opened ? side : main;
  last = state.clip;
  root.classList.toggle("opened", opened);
  if (!opened) { stage.asked = null; stage.close(); stage.node.remove(); delete stage.node.dataset.label; }
  else if (!stage.node.isConnected) main.append(stage.node);
  if (grid.scroll.parentElement !== home) home.append(grid.scroll, keys); // what is moved loses its place and the focus
  document.title = opened ? `${state.clip.split("/").pop()} – inspector` : `${grid.run} – inspector`;
  drawBulk();
  grid.reveal(state.clip || left);
  if (opened && left !== state.clip) stage.focus();
  if (!opened && left) grid.focus(left);
  if (!opened) return;
  try { await stage.load(); } catch (error) { stage.close(); stage.view = null; stage.node.classList.remove("loading"); stage.node.replaceChildren(element("p", { class: "message", role: "status", text: error.message }), element("button", { class: "tool back", text: "All clips", onclick: () => actions.open("") })); }
}
const presses = {
  " ": () => stage.clock?.toggle(), Home: () => stage.clock?.goto(0), End: () => stage.clock?.goto(stage.clock.length),
  ArrowRight: (event) => stage.clock?.step(event.shiftKey ? 10 : 1), ArrowLeft: (event) => stage.clock?.step(event.shiftKey ? -10 : -1),
  w: () => stage.players.length > 1 && stage.setWipe(!stage.wiped), b: () => stage.clock && stage.startBox(), "[": () => stage.clock && stage.mark("from"), "]": () => stage.clock && stage.mark("to"),
  "+": () => stage.zoomBy(1.5), "-": () => stage.zoomBy(1 / 1.5), 0: () => stage.zoomBy(0),
  x: () => actions.tag([state.clip], "selected", !grid.clip(state.clip)?.tags.includes("selected")),
  n: () => { const next = grid.neighbour(1); if (next) actions.open(next.label); }, p: () => { const before = grid.neighbour(-1); if (before) actions.open(before.label); },
  Escape: () => (stage.drawing ? stage.endBox() : actions.open("")),
};
keyboard(root, (event) => {
  if (event.key === "f" || event.key === "F") actions.failure(event.key === "F" ? -1 : 1);
  else if ((state.clip || event.key === "n") && presses[event.key]) presses[event.key](event);
  else return false;
  return true;
});
window.addEventListener("popstate", async () => { const { run } = state; state.read(); if (state.run !== run) await start(); else { drawSide(); await relist(); await show(); } });
async function start() {
  try { await grid.load(); } catch (error) { say(error.message); return; }
  title.textContent = grid.run.replace(/^inspect_(.*)_[0-9a-f]{6}$/, "$1");
  if (innerWidth < 700) filters.open = false;
  drawSide();
  await relist();
  await show();
}
start();
