// Search, copy buttons, filters, figures and the inspector's links of a lookback report. Everything works from file://.
"use strict";
const own = document.currentScript ?? document.querySelector("script[data-prefix]");
const { prefix, entry } = own.dataset;
const all = (chosen, root = document) => [...root.querySelectorAll(chosen)];

// on a small screen the list of pages is folded
const menu = document.querySelector(".menu");
if (matchMedia("(max-width: 860px)").matches) menu.open = false;

// search: the index is loaded when somebody looks for something
const box = document.getElementById("search"), found = document.getElementById("found");
let index;
function places() {
  index ??= new Promise(done => {
    const script = document.createElement("script");
    script.src = `${prefix}search.js`;
    script.onload = () => done(window.lookbackPlaces);
    document.head.append(script);
  });
  return index;
}
async function look() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const known = words.length ? await places() : [];
  const hits = known.filter(([page, , text]) => words.every(word => `${page} ${text}`.toLowerCase().includes(word))).slice(0, 12);
  found.hidden = !words.length;
  found.replaceChildren(...hits.map(([page, place, text]) => {
    const row = document.createElement("li"), link = document.createElement("a"), where = document.createElement("small");
    const target = page ? `${prefix}${page}.html` : entry === "#top" ? "" : entry;
    link.href = target + (place ? `#${place}` : page ? "" : "#top");
    link.textContent = text;
    where.textContent = page || "first page";
    link.append(where);
    row.append(link);
    return row;
  }));
  if (words.length && !hits.length) found.textContent = "Nothing found.";
}
box.addEventListener("focus", places);
box.addEventListener("input", look);
box.form.addEventListener("submit", event => { event.preventDefault(); found.querySelector("a")?.click(); });

// copy buttons: the text stands in the hidden field behind the button
async function copy(button) {
  const field = button.nextElementSibling, said = button.textContent;
  try {
    // a browser in the background may never answer
    await Promise.race([navigator.clipboard.writeText(field.value), new Promise((_, reject) => setTimeout(reject, 1000))]);
  } catch {
    field.hidden = false;
    field.select();
    document.execCommand("copy");
    field.hidden = true;
  }
  button.dataset.copied = "yes";
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = said; }, 1500);
}
all("button.copy").forEach(button => button.addEventListener("click", () => copy(button)));

// filters: a row or card is shown where every chosen value is its own
function filter() {
  const wanted = all(".filters select").filter(choice => choice.value).map(choice => [choice.name, choice.value]);
  const rows = all("[data-label]");
  rows.forEach(row => { row.hidden = !wanted.every(([name, value]) => row.dataset[name] === value); });
  const count = document.querySelector(".filters output");
  if (count) count.textContent = `${all("tr[data-label]").filter(row => !row.hidden).length} shown`;
}
all(".filters select").forEach(choice => choice.addEventListener("change", filter));

// figures draw themselves when they come into sight
const sight = new IntersectionObserver(seen => seen.filter(part => part.isIntersecting).forEach(({ target: figure }) => {
  sight.unobserve(figure);
  figure.classList.add("ready");
  const { data, layout } = JSON.parse(figure.querySelector("script").textContent);
  Plotly.newPlot(figure.querySelector(".plot"), data, layout, { displaylogo: false, responsive: true });
}), { rootMargin: "400px" });
addEventListener("load", () => all("figure.drawn").forEach(figure => sight.observe(figure)));  // plotly is there by then

// a link into a folded part opens it
function reveal() {
  const part = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = part?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  part?.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

// the inspector is a program on this machine: where it does not answer, say how to start it
all("a[data-command]").forEach(link => link.addEventListener("click", async event => {
  event.preventDefault();
  const page = window.open("", "lookback-inspector");
  try {
    await fetch(link.href, { mode: "no-cors", signal: AbortSignal.timeout(1500) });
    page.location = link.href;
  } catch {
    page?.close();
    const told = document.getElementById("closed");
    told.querySelector("code").textContent = link.dataset.command;
    told.showModal();
  }
}));
document.querySelector("#closed button").addEventListener("click", event => event.target.closest("dialog").close());
