// The annotation desk: one question at a time, blind names, keyboard first.
function render({ model, el }) {
  el.classList.add("lookback-desk");
  let players = [], clock = null;
  const act = (message) => model.send(message);
  const vote = (label) => act({ type: "vote", label, token: model.get("view").token });

  function nameForm() {
    const input = element("input", { type: "text", placeholder: "your name or initials", "aria-label": "annotator name", maxlength: 80 });
    const start = () => input.value.trim() && act({ type: "start", annotator: input.value.trim() });
    input.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "Enter") start(); });
    return element("div", { class: "start" },
      element("p", { text: "Who is annotating? Your answers are saved under this name, each as you give it; you can stop and come back at any time." }),
      input, element("button", { class: "primary", text: "Start", onclick: start }));
  }
  function answers(view) {
    return element("div", { class: "answers" }, ...view.answers.map((answer) =>
      element("button", { "data-label": answer.label, title: `key ${answer.key}`, onclick: () => vote(answer.label) },
        element("span", { text: answer.text }), element("kbd", { text: answer.key }))));
  }
  function clips(view) {
    players = view.slots.map((facts, slot) => new Player(model, slot, { ...facts, label: ["left clip", "right clip"][slot] }));
    const length = Math.max(...view.slots.map((facts) => facts.n_frames)), bar = transport(() => clock, length);
    clock = new Clock(players, length, view.slots[0].fps, bar.update);
    const row = element("div", { class: `clips of${players.length}` }, ...players.map((player, slot) =>
      element("figure", {}, player.canvas, players.length > 1 ? element("figcaption", { text: ["Left", "Right"][slot] }) : "")));
    clock.seek(0);
    return element("div", {}, row, element("div", { class: "transport" }, bar.play, bar.slider, bar.label));
  }
  function context(view) {
    return element("dl", { class: "context" }, ...view.context.flatMap((part) => [element("dt", { text: part.title }),
      element("dd", {}, part.lines.length > 1 ? element("ol", {}, ...part.lines.map((text) => element("li", { text }))) : part.lines[0])]));
  }
  function draw() {
    const view = model.get("view");
    if (clock) clock.playing = false;
    players = []; clock = null;
    el.replaceChildren();
    if (view.stage === "name") { el.append(nameForm(), element("p", { class: "message", role: "status", text: view.message })); return; }
    el.append(element("div", { class: "standing" }, element("progress", { max: Math.max(1, view.total), value: view.done, "aria-label": "progress" }),
      element("span", { class: "count", text: `${view.done} of ${view.total} answered by ${view.annotator}` }),
      element("button", { class: "undo", text: "Undo last (u)", onclick: () => act({ type: "undo" }) }),
      element("button", { class: "export", text: "Export all answers", onclick: () => act({ type: "export" }) })));
    if (view.message) el.append(element("p", { class: "message", role: "status", text: view.message }));
    if (view.stage === "finished") { el.append(element("p", { class: "finished", text: "All questions are answered. Thank you." })); refocus(el, true); return; }
    const first = view.stage === "judgeability" ? element("p", { class: "step", text: "First: can this be judged at all? If not, the comparison is not asked." }) : "";
    el.append(context(view), element("h3", { class: "question", text: view.question }), first, clips(view), answers(view),
      element("p", { class: "hint", text: "Keys: space plays, arrows step one frame, u undoes, the answers' keys are on their buttons." }));
    refocus(el, true);
  }

  keyboard(el, (event) => {
    if (model.get("view").stage === "name") return false;
    const answer = (model.get("view").answers || []).find((each) => each.key === event.key);
    if (event.repeat && !event.key.startsWith("Arrow")) return true; // a key held down is one answer
    if (answer) vote(answer.label);
    else if (event.key === "u") act({ type: "undo" });
    else if (event.key === " " && clock) clock.toggle();
    else if (event.key === "ArrowRight" && clock) clock.step(1);
    else if (event.key === "ArrowLeft" && clock) clock.step(-1);
    else return false;
    return true;
  });
  const receive = (message, buffers) => { if (message.type === "frames") players[message.slot]?.receive(message, buffers); };
  model.on("change:view", draw);
  model.on("msg:custom", receive);
  draw();
  return () => { if (clock) clock.playing = false; model.off("change:view", draw); model.off("msg:custom", receive); };
}
export default { render };
