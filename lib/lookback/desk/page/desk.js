// The annotation desk: instructions, practice with feedback, one item at a time, keyboard first. All text is set as text, never as HTML.
const el = document.getElementById("desk");
const seen = new Set(); // items whose videos were played to the end on this page
const AGAIN = 30000; // milliseconds
let view = null, videos = [], answers = {}, active = 0, busy = false, slider = null, played = null;

async function act(path, body) {
  if (busy) return;
  busy = true;
  try {
    const content = await send(path, body);
    if (body?.item) sessionStorage.removeItem(draft());
    content.feedback ? explain(content) : show(content);
  } catch (error) {
    if (error.status === 409) { try { show(await send("/api/now")); } catch {} }
    say(error.message);
  } finally { busy = false; }
}
function say(text) {
  el.querySelector(".message")?.remove();
  if (text) el.querySelector(".standing, h1").after(element("p", { class: "message", role: "status", text }));
}

function show(content) {
  view = content; answers = {}; active = 0; videos = []; slider = null;
  el.replaceChildren();
  if (view.stage === "instructions") instructions(true);
  else if (view.stage === "finished") finished();
  else item();
  if (view.message) say(view.message);
  window.scrollTo(0, 0);
  refocus(el, true);
}
function paragraphs() { return view.instructions.map((text) => element("p", { text })); }
function instructions(first) {
  const pieces = [view.practice ? `First: ${several(view.practice, "practice item")} with explanations. They do not count.` : "",
    `Your part of the study: ${several(view.total, "item")}. Each answer is saved as you give it. You may close this page at any time; your link brings you back to where you were.`];
  el.append(element("h1", { text: view.title }), element("div", { class: "instructions" }, ...paragraphs(),
    ...pieces.filter(Boolean).map((text) => element("p", { text }))),
    element("button", { class: "primary start", text: "I have read this. Start", onclick: () => act("/api/read", {}) }));
}
function finished() {
  el.append(standing(), element("p", { class: "finished", text: view.total ? "All your items are done. Thank you." : "There is no item for you at the moment. Thank you; the organiser will tell you if more come." }));
  const shown = view;
  const look = async () => {
    if (view !== shown) return;
    await act("/api/now");
    if (view === shown) setTimeout(look, AGAIN); // the server did not answer
  };
  setTimeout(look, AGAIN); // somebody else's items may come
}
function standing() {
  const words = view.stage === "practice" ? "Practice" : `${view.done} of ${view.total} done by ${view.annotator}`;
  return element("div", { class: "standing" },
    element("progress", { max: Math.max(1, view.total), value: view.done, "aria-label": "progress" }),
    element("span", { class: "count", text: words }),
    view.stage === "practice" ? "" : element("button", { class: "undo", text: "Undo last (u)", onclick: () => act("/api/undo", {}) }));
}

function item() {
  const shown = view.item;
  const reminder = element("details", { class: "reminder" }, element("summary", { text: "Instructions" }), ...paragraphs());
  el.append(standing(), context(shown), film(shown), element("div", { class: "questions" }, ...shown.questions.map(question)));
  const comment = element("textarea", { class: "comment", rows: 1, maxlength: 2000, placeholder: "Comment (optional)", "aria-label": "comment", oninput: keep });
  const actions = element("div", { class: "actions" }, comment);
  if (view.stage === "item") actions.append(element("button", { class: "skip", text: "Skip (s)", onclick: skip }));
  actions.append(element("button", { class: "primary next", text: "Save and go on (Enter)", onclick: vote }));
  el.append(actions, element("p", { class: "hint keys", text: "Keys: space plays, arrows step one frame, the answers' keys are on their buttons, Enter saves, s skips, u takes back." }), reminder);
  restore(comment);
  update();
}
// What is chosen and written stays in this tab until it is sent, so that a reload or a new start of the server costs nothing.
const draft = () => `${view.annotator} ${view.item.id}`;
function keep() {
  const comment = el.querySelector(".comment"); // gone beside an explanation
  if (comment) sessionStorage.setItem(draft(), JSON.stringify({ answers, comment: comment.value }));
}
function restore(comment) {
  const kept = JSON.parse(sessionStorage.getItem(draft()));
  if (!kept) return;
  answers = kept.answers;
  comment.value = kept.comment;
  if (Object.keys(answers).length) for (const video of videos) video.complete = true; // whoever answered has watched
  next();
}
function context(shown) {
  return element("dl", { class: "context" }, ...shown.context.flatMap((part) => [element("dt", { text: part.title }),
    element("dd", {}, part.lines.length > 1 ? element("ol", {}, ...part.lines.map((text) => element("li", { text }))) : element("span", { text: part.lines[0] }))]));
}

// Both videos play together. Until they have been played to the end once, nobody can jump ahead and nobody can answer.
function film(shown) {
  videos = shown.videos.map((facts) => {
    const video = element("video", { src: facts.source, preload: "auto", muted: "", playsinline: "", disablepictureinpicture: "", "aria-label": facts.caption || "video" });
    video.muted = true;
    Object.assign(video, { facts, furthest: 0, complete: seen.has(shown.id) });
    video.addEventListener("timeupdate", () => {
      if (!video.seeking && video.currentTime <= video.furthest + 1) video.furthest = Math.max(video.furthest, video.currentTime);
      update();
    });
    video.addEventListener("seeking", () => { if (!video.complete && video.currentTime > video.furthest + 0.3) video.currentTime = video.furthest; });
    video.addEventListener("ratechange", () => { if (!video.complete && video.playbackRate > 1) video.playbackRate = 1; });
    video.addEventListener("ended", () => { video.complete = true; if (videos.every((each) => each.complete)) seen.add(shown.id); update(); });
    video.addEventListener("play", update);
    video.addEventListener("pause", update);
    video.addEventListener("click", toggle);
    video.addEventListener("error", () => say("A video cannot be shown here. Skip this item and write that in the comment."));
    return video;
  });
  slider = element("input", { type: "range", class: "slider", min: 0, max: 1000, step: 1, value: 0, "aria-label": "position" });
  slider.addEventListener("input", () => { pause(); seek((Number(slider.value) / 1000) * length()); });
  played = element("span", { class: "position" });
  const row = element("div", { class: `clips of${videos.length}` }, ...videos.map((video) =>
    element("figure", {}, video, video.facts.caption ? element("figcaption", { text: video.facts.caption }) : "")));
  return element("div", {}, row, element("div", { class: "transport" },
    element("button", { class: "play", text: "Play", title: "space", onclick: toggle }), slider, played));
}
const length = () => Math.max(...videos.map((video) => video.facts.seconds));
const position = () => Math.max(...videos.map((video) => video.currentTime));
const playing = () => videos.some((video) => !video.paused && !video.ended);
const watched = () => !view.watch || videos.every((video) => video.complete);
function seek(time) { for (const video of videos) video.currentTime = Math.max(0, Math.min(time, video.duration || video.facts.seconds)); }
function pause() { for (const video of videos) video.pause(); }
function toggle() {
  if (playing()) { pause(); return; }
  if (videos.every((video) => video.ended)) seek(0);
  for (const video of videos) if (!video.ended) video.play().catch(() => say("The browser did not start the video; press Play again."));
}
function step(by) { pause(); seek(position() + by / videos[0].facts.fps); }

function question(asked, index) {
  const buttons = asked.choices.map((choice) => element("button", { "data-label": choice.label, title: `key ${choice.key}`, onclick: () => choose(index, choice.label) },
    element("span", { text: choice.text }), element("kbd", { text: choice.key })));
  return element("section", { class: "question", "data-question": asked.id }, element("h2", { text: asked.text }), element("div", { class: "answers" }, ...buttons));
}
const open = (asked) => !asked.only_if || answers[asked.only_if] === "yes";
const needed = () => view.item.questions.filter(open);
const complete = () => needed().every((asked) => answers[asked.id]);
function choose(index, label) {
  const asked = view.item.questions[index];
  if (!watched() || !open(asked)) { say("Watch to the end first, then answer."); return; }
  answers[asked.id] = label;
  for (const other of view.item.questions) if (!open(other)) delete answers[other.id];
  active = index;
  next();
  keep();
  say("");
  update();
}
function next() { // the first question without an answer, if there is one, is asked now
  const unanswered = view.item.questions.findIndex((other) => open(other) && !answers[other.id]);
  if (unanswered >= 0) active = unanswered;
}
function vote() {
  if (!complete()) { say(watched() ? "Answer every question first." : "Watch to the end first, then answer."); return; }
  act("/api/vote", { item: view.item.id, answers, comment: el.querySelector(".comment").value, watched: watched() });
}
function skip() { act("/api/skip", { item: view.item.id, comment: el.querySelector(".comment").value }); }

function update() {
  if (!videos.length || !slider) return;
  slider.value = Math.round(1000 * position() / Math.max(0.001, length()));
  played.textContent = `${position().toFixed(1)} of ${length().toFixed(1)} s`;
  el.querySelector(".play").textContent = playing() ? "Pause" : "Play";
  const ready = watched();
  el.classList.toggle("watched", ready);
  view.item.questions.forEach((asked, index) => {
    const section = el.querySelectorAll(".question")[index];
    section.hidden = !open(asked);
    section.classList.toggle("active", ready && index === active);
    for (const button of section.querySelectorAll("button")) {
      button.disabled = !ready;
      button.setAttribute("aria-pressed", answers[asked.id] === button.dataset.label);
    }
  });
  el.querySelector(".next").disabled = !(ready && complete());
  let note = el.querySelector(".watch");
  if (!note) { note = element("p", { class: "watch" }); el.querySelector(".questions").before(note); }
  note.textContent = ready ? "" : videos.length > 1 ? "Play both videos to the end; then you can answer." : "Play the video to the end; then you can answer.";
}

function explain(content) {
  pause();
  const right = content.feedback.every((row) => row.ok);
  const box = element("div", { class: `feedback ${right ? "right" : "wrong"}`, role: "status" }, element("h2", { text: right ? "That is right." : "Not quite." }),
    ...content.feedback.filter((row) => !row.ok).map((row) => element("p", { text: `${row.question} You answered: ${row.given}. Better: ${row.right}.` })),
    element("p", { text: content.why }), element("button", { class: "primary onward", text: "Go on (Enter)", onclick: () => { view = null; show(content.next); } }));
  for (const button of el.querySelectorAll(".answers button, .next")) button.disabled = true;
  el.querySelector(".actions").replaceWith(box);
  box.scrollIntoView({ block: "nearest" });
}

keyboard(el, (event) => {
  if (event.key === "Enter") {
    if (event.target.matches("button, summary")) return false; // the focused button itself
    el.querySelector(".onward, .start, .next:not(:disabled)")?.click();
    return true;
  }
  if (el.querySelector(".feedback")) return false;
  if (event.key === "u" && !event.repeat && el.querySelector(".undo")) { act("/api/undo", {}); return true; } // also when all is done
  if (!view?.item) return false;
  if (event.repeat && !event.key.startsWith("Arrow")) return true; // a key held down is one answer
  const choice = view.item.questions[active]?.choices.find((each) => each.key === event.key);
  if (choice) choose(active, choice.label);
  else if (event.key === "s" && view.stage === "item") skip();
  else if (event.key === " ") toggle();
  else if (event.key === "ArrowRight") step(1);
  else if (event.key === "ArrowLeft") step(-1);
  else return false;
  return true;
});
send("/api/now").then(show, (error) => { el.append(element("h1", { text: "Annotation desk" })); say(error.message); });
