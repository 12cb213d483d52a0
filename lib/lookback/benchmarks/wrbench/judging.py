"""WRBench's questions: the probes D3 to D6 and the re-observation gate (section 3.4, eq. 4-7).

Probes are yes/no questions with fixed polarity; p_yes comes from token scores. Another judge than the scorer answers the gate,
before any re-observed score: whether each second is judgeable, and the predicates H, U and J_a of each re-observed dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lookback.benchmarks.wrbench.metrics.reobservation import reobservation_pattern
from lookback.benchmarks.wrbench.metrics.shared import Settings, settings_of
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.judging.prompting import PLACEHOLDER, WHOLE, fill, load_catalogue, load_prompt
from lookback.judging.question import SECOND, Part, Question, Unasked
from lookback.judging.run import Session, judgements_frame
from lookback.judging.tasks import Footage, Sampling, Task, compose, footage, register, subject
from lookback.judging.verdicts import JudgedClip, clip_verdicts
from lookback.media import sample_fps

Role = Literal["score", "hidden", "returned", "unidentifiable"]
VISIBLE = ("visible_spatial", "visible_state")
REOBSERVED = ("reobserved_spatial", "reobserved_state")
ASKED = "Is the main subject judgeable in this second?"
UNSEEN = "\n\nNo frame is shown of these seconds; leave them out: {seconds}."
GATE, RESCUE = "judgeability", "rescue"  # tasks: the gate, and the gate asked again (only in runs whose `judging.tasks` name it)
FLAGS = {  # of the gate asked again: id -> dimension
    "d5_applicable": "reobserved_spatial",
    "d6_applicable": "reobserved_state",
}
Gate = Mapping[str, tuple[str, Reason | None]]  # question -> (answer, reason)


@dataclass(frozen=True)
class Probe:
    """One of the sixteen fixed questions."""

    id: str
    dimension: str
    role: Role
    polarity: Literal["positive", "negative"]
    text: str


def probes() -> tuple[Probe, ...]:
    """All sixteen: ten that score, six that decide whether a re-observed dimension applies (H, U, J)."""
    return tuple(Probe(**entry) for entry in load_catalogue("wrbench_probes.v1")["questions"])


def scoring_probes(dimension: str) -> tuple[Probe, ...]:
    return tuple(probe for probe in probes() if probe.dimension == dimension and probe.role == "score")


def applies(clip: Clip) -> bool:
    return clip.benchmark == "wrbench"


def probe_questions(clip: Clip, sampling: Sampling, task: str, chosen: tuple[Probe, ...]) -> list[Question | Unasked]:
    """One yes/no question per probe over the video at 2 frames per second (fewer above `max_frames`), with the context bundle c."""
    prompt, catalogue = load_prompt("wrbench_probe.v1"), load_catalogue("wrbench_probes.v1")
    version = f"{prompt.version};{catalogue['version']}"
    parts = {probe.id: Part(probe.id, probe.text, None, probe.dimension, probe.polarity) for probe in chosen}
    try:
        shown = footage(clip)
        frames = shown.timed(sampling)
    except NotScorable as error:
        return [Unasked(clip, task, version, tuple(parts.values()), error.reason, error.detail)]
    context = {"scene": clip.scene or "(not named)", "camera": clip.camera or "(not named)"}
    context |= {"event": _event(clip), "subject": subject(clip), "regime": _regime(clip)}
    known = {**context, "clip": clip.clip_id, "task": task_text(clip), "sampling": sampled(shown, sampling)}
    asked: list[Question | Unasked] = []
    for probe in chosen:
        text = fill(probe.text, known)
        values = {**context, "rubric": fill(catalogue["rubrics"][probe.dimension], known), "question": text}
        question = compose(clip, task, prompt, "yes_no", (parts[probe.id],), shown, frames, **values)
        blanks = set(PLACEHOLDER.findall(probe.text))
        if blanks and blanks <= WHOLE:  # the words of the released program
            question = replace(question, system="", text=text)
        asked.append(replace(question, prompt_version=version))
    return asked


def task_text(clip: Clip) -> str:
    """What the released program tells a judge about the task: the world-state prompt, else the prompt."""
    return str(clip.extras.get("world_state_prompt") or clip.prompt or "(no prompt)")


def visible_questions(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """The probes of the visible dimensions. Those of a re-observed dimension are asked only when its gate is open."""
    return probe_questions(clip, sampling, "probe", tuple(probe for name in VISIBLE for probe in scoring_probes(name)))


def reobserved_questions(clip: Clip, sampling: Sampling, dimension: str) -> list[Question | Unasked]:
    """The scoring probes of one re-observed dimension."""
    return probe_questions(clip, sampling, "probe", scoring_probes(dimension))


def _event(clip: Clip) -> str:
    ending = f" It must end like this: {clip.expected_state}" if clip.expected_state and clip.expected_state != clip.prompt else ""
    return (clip.prompt or "(no event)") + ending


def _regime(clip: Clip) -> str:
    if clip.camera == "static":
        return "the camera holds still, so the target should stay in view"
    return "the camera moves away and comes back, so the target may be out of view for a while"


def sampled(shown: Footage, sampling: Sampling) -> str:
    """How the frames were chosen, in the words of the released program, with the rate that they really have."""
    frames = shown.timed(sampling)
    if shown.fps is None:
        return f"{len(frames)} frames, evenly spread"
    rate = min(shown.fps, sampling.fps)
    if len(frames) < len(sample_fps(shown.n_frames, shown.fps, sampling.fps)):  # there were more than `max_frames`
        rate = (len(frames) - 1) * shown.fps / (frames[-1] - frames[0])
    return f"frames sampled at {round(rate, 2):g} fps"


def gate_questions(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """One question for all seconds, and the six predicates of the two re-observed dimensions."""
    gate = tuple(probe for probe in probes() if probe.role != "score")
    return [second_question(clip, sampling, GATE, "wrbench_judgeability.v1"), *probe_questions(clip, sampling, GATE, gate)]


def second_question(clip: Clip, sampling: Sampling, task: str, name: str, flags: Sequence[str] = ()) -> Question | Unasked:
    """One question about all seconds, with flags about the whole clip where the prompt asks for them.

    A long clip has seconds between two frames. The words say so, and only a judge that measures answers for them.
    """
    prompt = load_prompt(name)
    asked_flags = tuple(Part(flag, f"Can {FLAGS[flag].replace('_', ' ')} be judged after the return?") for flag in flags)
    try:
        shown = footage(clip)
        fps = shown.fps or 1.0
        parts = tuple(
            Part(
                f"{SECOND}{second:03d}",
                ASKED,
                min(round(second * fps), shown.n_frames - 1),
            )
            for second in range(shown.n_seconds)
        )
        values = {"prompt": task_text(clip), "subject": subject(clip), "camera": clip.camera or "(not named)"}
        values["last_second"] = str(len(parts) - 1)
        question = compose(clip, task, prompt, "per_second", (*parts, *asked_flags), shown, shown.timed(sampling), **values)
        unseen = ", ".join(map(str, question.unseen_seconds))
        return replace(question, text=question.text + UNSEEN.format(seconds=unseen)) if unseen else question
    except NotScorable as error:
        parts = (Part(f"{SECOND}000", ASKED), *asked_flags)
        return Unasked(clip, task, prompt.version, parts, error.reason, error.detail)


def support(answers: Gate) -> tuple[bool, Reason | None]:
    """Whether judgeable -> not judgeable -> judgeable occurs in the seconds, or why not. NotScorable if a second has no answer."""
    seconds = sorted((name for name in answers if name.startswith(SECOND)), key=_place)
    for name in seconds:
        if (reason := answers[name][1]) is not None:
            raise NotScorable(reason, f"{name} has no answer")
    if not seconds:
        raise NotScorable(Reason.BACKEND_UNAVAILABLE, "no judge was asked about the seconds")
    return reobservation_pattern([answers[name][0] for name in seconds])


def _place(name: str) -> list[int]:
    """The second that a row is about, and its number where the judge wrote several about that second."""
    return [int(number) for number in name.removeprefix(SECOND).split(".")]


def reobservable(judged: JudgedClip, dimension: str, context: Settings) -> tuple[bool, Reason | None, str]:
    """Whether the gate of one re-observed dimension is open, with the reason when it is not (eq. 7).

    The per-second pattern must hold. Where the variant says so: the dimension's own predicates, too; a task without a planned gap
    never applies; and the answers of the gate asked again count where the first ones show no return, if all of them can be read.
    """
    if vetoed(judged, context):
        return False, Reason.NO_OOV, "the task plans no gap (oov_gap is none)"
    again = _asked_again(judged) if context.setting("rescue") else {}
    try:
        supported, why = support(judged.gate())
    except NotScorable:
        if context.setting("missing_evidence") == "missing" and not again:
            raise
        supported, why = False, Reason.JUDGE_UNPARSED
    if not supported and again:
        return _rescued(again, dimension)
    if not supported:
        return False, why, "the per-second pattern judgeable, hidden, judgeable does not occur"
    return _predicates(dimension, judged.gate()) if context.setting("predicates") else (True, None, "")


def vetoed(judged: JudgedClip, context: Settings) -> bool:
    return bool(context.setting("manifest_veto")) and judged.clip.extras.get("oov_gap") == "none"


def _asked_again(judged: JudgedClip) -> Gate:
    """The answers of the gate asked again. None where one of them cannot be read: the first answers then stand, as released."""
    answers = {name: (verdict.answer, verdict.reason) for name, verdict in judged.tasks.get(RESCUE, {}).items()}
    return {} if any(reason is not None for _, reason in answers.values()) else answers


def _rescued(answers: Gate, dimension: str) -> tuple[bool, Reason | None, str]:
    """The gate asked again: the same pattern over its seconds, and its flag of the dimension."""
    supported, why = support(answers)
    if not supported:
        return False, why, "asked again, the pattern judgeable, hidden, judgeable does not occur"
    flag = next(name for name, known in FLAGS.items() if known == dimension)
    is_open = answers[flag][0] == "yes"
    return (True, None, "") if is_open else (False, Reason.NO_RETURN, "asked again, the return cannot be judged")


def _predicates(dimension: str, answers: Gate) -> tuple[bool, Reason | None, str]:
    """R_a = H and U and J_a for one re-observed dimension. D5 and D6 are decided separately."""
    verdicts = {}
    for probe in (probe for probe in probes() if probe.dimension == dimension and probe.role != "score"):
        answer, reason = answers.get(probe.id, ("", Reason.PROBE_MISSING))
        if reason is not None:
            raise NotScorable(reason, f"{probe.id} has no answer")
        verdicts[probe.role] = answer == "yes"
    if not verdicts["hidden"]:
        return False, Reason.NO_OOV, "the gate judge sees no hidden interval for this dimension"
    if not verdicts["returned"]:
        return False, Reason.NO_RETURN, "the gate judge sees no return for this dimension"
    if verdicts["unidentifiable"]:
        return False, Reason.NO_RETURN, "what returned cannot be identified well enough for this dimension"
    return True, None, ""


def _judged(session: Session, clips: Sequence[Clip]) -> list[JudgedClip]:
    verdicts = clip_verdicts(judgements_frame(session.rows), session.counted)
    return [JudgedClip(clip, "paper", verdicts.get(clip.key, {})) for clip in clips]


def ask_again(session: Session, clips: Sequence[Clip]) -> None:
    """The gate once more, as the released program does, for the clips in which it found no return that can be judged."""
    gate = session.panel.judge("gate")
    if gate is None or GATE not in session.counted:
        return
    questions = []
    for judged in _judged(session, clips):
        try:
            supported = support(judged.gate())[0]
        except NotScorable:
            supported = False
        if not supported:
            questions.append(second_question(judged.clip, session.sampling, RESCUE, "wrbench_rescue.v1", tuple(FLAGS)))
    session.ask(gate, questions)


def ask_reobserved(session: Session, clips: Sequence[Clip]) -> None:
    """The probes of D5 and D6, each for the clips whose gate is open in the paper's variant or in the released program."""
    scorer = session.panel.judge("scorer")
    if scorer is None or GATE not in session.counted:
        return
    questions: list[Question | Unasked] = []
    for judged in _judged(session, clips):
        for dimension in REOBSERVED:
            if any(_open(judged, dimension, variant) for variant in ("paper", "official")):
                questions += reobserved_questions(judged.clip, session.sampling, dimension)
    session.ask(scorer, questions)


def _open(judged: JudgedClip, dimension: str, variant: str) -> bool:
    try:
        return reobservable(judged, dimension, settings_of(dimension, variant))[0]
    except NotScorable:
        return False


register(Task("probe", "WRBench probes, visible and re-observed", "scorer", applies, visible_questions))
register(Task(GATE, "WRBench re-observation gate", "gate", applies, gate_questions))
register(Task(RESCUE, "WRBench re-observation gate asked again", "gate", applies, lambda clip, sampling: []))
