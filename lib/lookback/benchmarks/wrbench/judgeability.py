"""WRBench's re-observation gate: per-second judgeability, and the predicates H, U and J_a (section 3.4, eq. 7).

Asked of another judge than the scorer, before any re-observed score.
"""

from __future__ import annotations

from collections.abc import Mapping

from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.judging.prompting import load_prompt
from lookback.judging.question import Part, Question, Unasked
from lookback.judging.tasks import Sampling, Task, compose, footage, register, subject
from lookback.benchmarks.wrbench.probes import applies, probe_questions, probes
from lookback.metrics.functional import reobservation_pattern

SECOND = "second_"
ASKED = "Is the main subject judgeable in this second?"


def questions(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
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
    """Whether judgeable -> not judgeable -> judgeable occurs in the seconds, and why not. An unread second leaves it undecided."""
    seconds = {name: answer for name, answer in answers.items() if name.startswith(SECOND)}
    for name in sorted(seconds):
        if seconds[name][1] is not None:
            raise NotScorable(seconds[name][1] or Reason.JUDGE_UNPARSED, f"{name} has no answer")
    if not seconds:
        raise NotScorable(Reason.BACKEND_UNAVAILABLE, "no judge was asked about the seconds")
    return reobservation_pattern([seconds[name][0] for name in sorted(seconds)])


def applicable(dimension: str, answers: Mapping[str, tuple[str, Reason | None]]) -> tuple[bool, Reason | None, str]:
    """R_a = H and U and J_a for one re-observed dimension, with the reason when it does not hold (eq. 7).

    The per-second pattern must hold, and the dimension's own predicates: D5 and D6 are masked separately.
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


register(Task("judgeability", "WRBench re-observation gate", "gate", applies, questions))
