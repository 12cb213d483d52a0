// Parts of a page that the inspector and the annotation desk share: elements, and keys that work wherever the mouse was last.
// Keys work wherever the mouse was last: what a click focused gives the focus back, fields for typing keep it.
function keyboard(el, keys) {
  el.tabIndex = 0;
  let pointed = false; // who chooses from a list with the mouse is done with it; who uses the keys may want the next entry
  const typing = (node) => node.matches?.("textarea, select, input[type=text], input[type=search], input[type=number]");
  el.addEventListener("pointerdown", () => { pointed = true; });
  el.addEventListener("change", (event) => { if (pointed && event.target.matches("select")) { event.target.blur(); refocus(el, true); } });
  document.addEventListener("keydown", (event) => { // also when nothing has the focus
    pointed = false;
    if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && event.target.matches("button, summary, input[type=checkbox], a")) return;
    if (keys(event)) { event.preventDefault(); event.stopPropagation(); }
  });
  const attached = new ResizeObserver(() => { // a page of its own starts with the keys at hand; a notebook keeps its focus
    if (!el.isConnected) return;
    attached.disconnect();
    refocus(el);
  });
  attached.observe(el);
  el.addEventListener("pointerup", (event) => { if (!typing(event.target)) setTimeout(() => refocus(el, true)); });
}
function refocus(el, force = false) {
  const active = document.activeElement, idle = !active || active === document.body;
  const spent = force && (!el.contains(active) || active.matches("button, canvas, input[type=range], input[type=checkbox], summary"));
  if (idle || spent)
    el.focus({ preventScroll: true });
}
// Draw a part of the page anew. The control that had the focus gets it again, or else what stands around it.
function redraw(node, draw) {
  const held = document.activeElement, inside = node.contains(held);
  const name = (control) => JSON.stringify([control.className, control.ariaLabel, control.dataset]);
  draw();
  if (!inside || held === document.activeElement) return;
  [...node.querySelectorAll(held.localName)].find((control) => name(control) === name(held))?.focus({ preventScroll: true });
  refocus(node.closest("[tabindex]"));
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
// 1 item, 2 items
const several = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
