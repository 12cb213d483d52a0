// The annotation desk: one question at a time, blind names, keyboard first.
function render({ model, el }) {
  el.classList.add("lookback-desk");
  let players = [], clock = null, position = null;

  const act = (message) => model.send(message);
  const vote = (label) => { const view = model.get("view"); act({ type: "vote", label, token: view.token }); };

  function nameForm() {
    const input = element("input", { type: "text", id: "annotator", placeholder: "your name or initials", "aria-label": "annotator name" });
    const start = () => input.value.trim() && act({ type: "start", annotator: input.value.trim() });
    input.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "Enter") start(); });
    return element("div", { class: "start" }, element("p", { text: "Who is annotating? Your votes are saved under this name; you can stop and come back at any time." }),
      input, element("button", { class: "primary", text: "Start", onclick: start }));
  }

  function buttons(view) {
    return element("div", { class: "answers" }, ...view.answers.map((answer) =>
      element("button", { "data-label": answer.label, title: `key ${answer.key}`, onclick: () => vote(answer.label) },
        element("span", { text: answer.text }), element("kbd", { text: answer.key }))));
  }

  function clips(view) {
    players = view.slots.map((facts, slot) => new Player(model, slot, facts));
    position = element("input", { type: "range", min: 0, step: 1, value: 0, "aria-label": "frame" });
    const label = element("span", { class: "position" });
    clock = new Clock(players, view.slots[0].fps, (at) => { position.value = at; label.textContent = `frame ${at + 1} of ${clock.length}`; });
    position.max = clock.length - 1;
    position.addEventListener("input", () => { clock.pause(); clock.seek(Number(position.value)); });
    const bar = element("div", { class: "transport" }, element("button", { class: "play", text: "Play / pause", title: "space", onclick: () => clock.toggle() }), position, label);
    const row = element("div", { class: "clips" }, ...players.map((player, slot) =>
      element("figure", {}, player.canvas, element("figcaption", { text: players.length > 1 ? ["Left", "Right"][slot] : "Clip" }))));
    clock.seek(0);
    return element("div", {}, row, bar);
  }

  function draw() {
    const view = model.get("view");
    if (clock) clock.pause();
    players = []; clock = null;
    el.replaceChildren();
    if (view.message) el.append(element("p", { class: "message", role: "status", text: view.message }));
    if (view.stage === "name") { el.append(nameForm()); return; }
    const progress = element("div", { class: "progress" }, element("progress", { max: Math.max(1, view.total), value: view.done }),
      element("span", { class: "count", text: `${view.done} of ${view.total} answered by ${view.annotator}` }),
      element("button", { class: "undo", text: "Undo last (u)", onclick: () => act({ type: "undo" }) }));
    el.append(progress);
    if (view.stage === "finished") { el.append(element("p", { class: "finished", text: "All questions are answered. Thank you." })); return; }
    el.append(element("h3", { class: "question", text: view.question }));
    if (view.context.length) el.append(element("ol", { class: "captions" }, ...view.context.map((text) => element("li", { text }))));
    el.append(clips(view), buttons(view));
  }

  const keys = (event) => {
    const view = model.get("view");
    if (event.target instanceof HTMLInputElement && event.target.type === "text") return;
    if (event.key === "u") act({ type: "undo" });
    else if (event.key === " " && clock) clock.toggle();
    else if (event.key === "ArrowRight" && clock) { clock.pause(); clock.seek(clock.position + 1); }
    else if (event.key === "ArrowLeft" && clock) { clock.pause(); clock.seek(clock.position - 1); }
    else {
      const answer = (view.answers || []).find((each) => each.key === event.key);
      if (!answer) return;
      vote(answer.label);
    }
    event.preventDefault(); event.stopPropagation();
  };
  const receive = (message, buffers) => { if (message.type === "frames" && players[message.slot]) players[message.slot].receive(message.indices, buffers, message.version); };
  el.tabIndex = 0;
  el.addEventListener("keydown", keys);
  model.on("change:view", draw);
  model.on("msg:custom", receive);
  draw();
  return () => { model.off("change:view", draw); model.off("msg:custom", receive); };
}
export default { render };
