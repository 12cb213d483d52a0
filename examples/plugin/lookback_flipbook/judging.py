"""Flipbook's one question to a judge, over frames that are spread evenly from the first to the last."""

from __future__ import annotations

from lookback.clips import Clip
from lookback.errors import NotScorable
from lookback.judging.prompting import load_prompt
from lookback.judging.question import Part, Question, Unasked
from lookback.judging.tasks import Sampling, Task, compose, footage, register

TASK, QUESTION = "flipbook_return", "left_and_returned"
WORDS = "Does the video visibly leave its first picture and end with it again?"


def asks(clip: Clip) -> bool:
    return clip.benchmark == "flipbook"


def questions(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    prompt, part = load_prompt("flipbook_return.v1"), Part(QUESTION, WORDS)
    try:
        shown = footage(clip)
    except NotScorable as error:
        return [Unasked(clip, TASK, prompt.version, (part,), error.reason, error.detail)]
    asked = clip.prompt or "(no words were given)"
    return [compose(clip, TASK, prompt, "yes_no", (part,), shown, shown.uniform(sampling), prompt=asked)]


register(Task(TASK, "Flipbook: left the first picture and came back", "scorer", asks, questions))
