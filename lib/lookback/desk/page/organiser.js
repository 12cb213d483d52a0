// The organiser's page: how far the study is, who does what, invitations, exports. All text is set as text, never as HTML.
const el = document.getElementById("desk");
el.classList.add("organiser");
const EVERY = 10000; // milliseconds
const COLUMNS = { annotator: "person", state: "state", assigned: "items", answered: "answered", skipped: "skipped", gold: "gold right",
  practice: "practice right", median_seconds: "median s per item", last_seen: "last seen" };
let invited = null;

async function act(path, body) {
  try { show(await send(path, body)); } catch (error) { say(error.message); }
}
async function invite(name, again = false) {
  try { show(await send("api/invite", { name, again })); } catch (error) {
    if (error.status !== 409) say(error.message);
    else if (confirm(`${error.message}. Make a new link?`)) await invite(name, true);
  }
}
function leave(name) {
  if (confirm(`Has ${name} left? The link of ${name} stops working at once. The votes stay, open items go to the others.`)) act("api/leave", { name });
}
function say(text) {
  el.querySelector(".message")?.remove();
  if (text) (el.querySelector("h1") ?? el).append(element("p", { class: "message", role: "status", text }));
}

function cell(row, name) {
  if (name === "gold" || name === "practice") return row[`${name}_asked`] ? `${row[`${name}_right`]} of ${row[`${name}_asked`]}` : "–";
  if (name === "last_seen") return row[name] === null ? "never" : new Date(1000 * row[name]).toLocaleString();
  return row[name] === null ? "–" : String(row[name]);
}
function people(rows) {
  const head = element("tr", {}, ...Object.values(COLUMNS).map((text) => element("th", { text })), element("th", { text: "" }));
  const lines = rows.map((row) => element("tr", { "data-person": row.annotator, "data-state": row.state }, ...Object.entries(COLUMNS).map(([name, title]) =>
    element("td", { text: cell(row, name), "data-column": name, "data-title": title })), element("td", {}, row.state === "left" ? "" :
    element("button", { class: "leave", text: "Has left", title: "The link stops working, the votes stay, open items go to the others", onclick: () => leave(row.annotator) }))));
  return element("table", { class: "people" }, element("thead", {}, head), element("tbody", {}, ...lines));
}
function cover(part) {
  const bars = Object.entries(part.with_raters).map(([number, count]) => element("div", { class: "bar" },
    element("span", { class: "name", text: `${number} of ${part.raters} raters` }),
    element("progress", { max: Math.max(1, part.items), value: count }), element("span", { class: "count", "data-raters": number, text: several(count, "item") })));
  const notes = [];
  if (part.lacking_items) notes.push(`${several(part.lacking_items, "item")} cannot get the planned number of raters (${several(part.lacking_votes, "answer")} short)${part.lacking_votes > part.skipped_votes ? ": invite more people" : ""}.`);
  if (part.skipped_votes) notes.push(`${part.skipped_votes} of these answers ${part.skipped_votes === 1 ? "was" : "were"} skipped in a survey version, which passes nothing on; comments.csv says why.`);
  if (part.left_out) notes.push(`${several(part.left_out, "item")} left out: a video cannot be read.`);
  return element("section", { class: "coverage" }, element("h2", { text: `${part.answered} of ${part.wanted} planned answers` }), ...bars,
    ...notes.map((text) => element("p", { class: "lacking", text })));
}
function invitation() {
  const input = element("input", { type: "text", placeholder: "name of a person", "aria-label": "name of a person", maxlength: 80 });
  const ask = () => input.value.trim() && invite(input.value.trim());
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") ask(); });
  const link = invited ? [element("p", { class: "link", text: `The link of ${invited.name}, shown only now:` }), element("code", { text: `${invited.address}?token=${encodeURIComponent(invited.token)}` })] : [];
  return element("section", {}, element("h2", { text: "Invite" }), element("div", { class: "invite" }, input, element("button", { class: "primary", text: "Invite", onclick: ask })), ...link);
}
function show(content) {
  if (content.token) invited = { name: content.invited, token: content.token, address: content.address };
  const typed = el.querySelector(".invite input")?.value ?? "", typing = document.activeElement?.matches(".invite input");
  el.replaceChildren(element("h1", { text: content.title }),
    element("p", { class: "hint", text: `${content.form}: ${content.source}. ${several(content.coverage.items, "item")}, ${several(content.coverage.raters, "rater")} each, ${several(content.gold_items, "gold item")} to choose from.` }),
    cover(content.coverage), element("section", {}, element("h2", { text: "People" }), people(content.people)), invitation(),
    element("section", {}, element("h2", { text: "Files" }), element("p", { class: "files" }, ...content.exports.map((name) => element("a", { href: `export/${name}`, download: name, text: name })))));
  const input = el.querySelector(".invite input");
  input.value = content.token ? "" : typed;
  if (typing) input.focus();
}
const refresh = () => send("api/progress").then(show, (error) => say(error.message));
refresh();
setInterval(refresh, EVERY);
