"""WRBench's questions: the probes D3 to D6 and the re-observation gate (section 3.4, eq. 4-7).

Probes are yes/no questions with fixed polarity; p_yes comes from token scores. Another judge than the scorer answers the gate,
before any re-observed score: whether each second is judgeable, and the predicates H, U and J_a of each re-observed dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lookback.benchmarks.wrbench.metrics.reobservation import reobservation_pattern
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.judging.prompting import load_catalogue, load_prompt
from lookback.judging.question import SECOND, Part, Question, Unasked
from lookback.judging.run import Session, judgements_frame
from lookback.judging.tasks import Sampling, Task, compose, footage, register, subject
from lookback.judging.verdicts import JudgedClip, clip_verdicts

Role = Literal["score", "hidden", "returned", "unidentifiable"]
VISIBLE = ("visible_spatial", "visible_state")
REOBSERVED = ("reobserved_spatial", "reobserved_state")
ASKED = "Is the main subject judgeable in this second?"


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
    """One yes/no question per probe over the video at 2 frames per second, with the context bundle c."""
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
    asked: list[Question | Unasked] = []
    for probe in chosen:
        values = {**context, "rubric": catalogue["rubrics"][probe.dimension], "question": probe.text}
        question = compose(clip, task, prompt, "yes_no", (parts[probe.id],), shown, frames, **values)
        asked.append(replace(question, prompt_version=version))
    return asked


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


def gate_questions(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """One question for all seconds, and the six predicates of the two re-observed dimensions."""
    prompt = load_prompt("wrbench_judgeability.v1")
    asked: list[Question | Unasked] = []
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
        values = {"prompt": clip.prompt or "(no prompt)", "subject": subject(clip), "camera": clip.camera or "(not named)"}
        last = str(len(parts) - 1)
        frames = shown.timed(sampling)
        asked.append(compose(clip, "judgeability", prompt, "per_second", parts, shown, frames, last_second=last, **values))
    except NotScorable as error:
        parts = (Part(f"{SECOND}000", ASKED),)
        asked.append(Unasked(clip, "judgeability", prompt.version, parts, error.reason, error.detail))
    gate = tuple(probe for probe in probes() if probe.role != "score")
    return asked + probe_questions(clip, sampling, "judgeability", gate)


def support(answers: Mapping[str, tuple[str, Reason | None]]) -> tuple[bool, Reason | None]:
    """Whether judgeable -> not judgeable -> judgeable occurs in the seconds, or why not. NotScorable if a second has no answer."""
    seconds = {name: answer for name, answer in answers.items() if name.startswith(SECOND)}
    for name in sorted(seconds):
        if seconds[name][1] is not None:
            raise NotScorable(seconds[name][1] or Reason.JUDGE_UNPARSED, f"{name} has no answer")
    if not seconds:
        raise NotScorable(Reason.BACKEND_UNAVAILABLE, "no judge was asked about the seconds")
    return reobservation_pattern([seconds[name][0] for name in sorted(seconds)])


def applicable(dimension: str, answers: Mapping[str, tuple[str, Reason | None]]) -> tuple[bool, Reason | None, str]:
    """R_a = H and U and J_a for one re-observed dimension, with the reason when it does not hold (eq. 7).

    The per-second pattern and the dimension's own predicates must hold. D5 and D6 are decided separately.
    """
    supported, why = support(answers)
    if not supported:
        return False, why, "the per-second pattern judgeable, hidden, judgeable does not occur"
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


def ask_reobserved(session: Session, clips: Sequence[Clip]) -> None:
    """The probes of D5 and D6, each for the clips whose own gate is open."""
    scorer = session.panel.judge("scorer")
    if scorer is None or "judgeability" not in session.counted:
        return
    verdicts = clip_verdicts(judgements_frame(session.rows), session.counted)
    questions: list[Question | Unasked] = []
    for clip in clips:
        judged = JudgedClip(clip, "paper", verdicts.get(clip.key, {}))
        for dimension in REOBSERVED:
            try:
                is_open = applicable(dimension, judged.gate())[0]
            except NotScorable:
                continue
            questions += reobserved_questions(clip, session.sampling, dimension) if is_open else []
    session.ask(scorer, questions)


register(Task("probe", "WRBench probes, visible and re-observed", "scorer", applies, visible_questions))
register(Task("judgeability", "WRBench re-observation gate", "gate", applies, gate_questions))
