"""WRBench's scoring probes D3 to D6: yes/no with fixed polarity, p_yes from token scores (section 3.4, eq. 4-6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from lookback.clips import Clip
from lookback.errors import NotScorable
from lookback.judging.prompting import load_catalogue, load_prompt
from lookback.judging.question import Part, Question, Unasked
from lookback.judging.tasks import Sampling, Task, compose, footage, register, subject

Role = Literal["score", "hidden", "returned", "unidentifiable"]
VISIBLE = ("visible_spatial", "visible_state")
REOBSERVED = ("reobserved_spatial", "reobserved_state")


@dataclass(frozen=True)
class Probe:
    """One of the sixteen fixed questions."""

    id: str
    dimension: str
    role: Role
    polarity: Literal["positive", "negative"]
    text: str


@cache
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


def questions(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """The visible dimensions' probes; those of a re-observed one are asked when its gate has opened."""
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


register(Task("probe", "WRBench probes, visible and re-observed", "scorer", applies, questions))
