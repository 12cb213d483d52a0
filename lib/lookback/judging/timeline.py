"""The plain facts of departure and return, asked of the judge that measures them: what the gate funnel counts."""

from __future__ import annotations

from lookback.clips import Clip
from lookback.errors import NotScorable
from lookback.judging.question import Part, Question, Unasked
from lookback.judging.tasks import Sampling, Task, footage, register

FACTS = {
    "camera_inactive": "Was the camera inactive?",
    "camera_departed": "Did the camera leave the first view?",
    "camera_returned": "Did the camera come back to the first view?",
    "subject_hidden": "Was the subject hidden for a nontrivial interval?",
    "subject_returned": "Did the subject come back after it was hidden?",
    "return_judgeable": "Is the returned subject judgeable?",
}
VERSION = "timeline.v1"


def applies(clip: Clip) -> bool:
    return True


def questions(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """One question with all facts; no frames are shown, because only a judge that measures is asked."""
    parts = tuple(Part(name, text) for name, text in FACTS.items())
    try:
        shown = footage(clip)
    except NotScorable as error:
        return [Unasked(clip, "timeline", VERSION, parts, error.reason, error.detail)]
    return [Question(clip, "timeline", "table", "", "", VERSION, parts, shown.video, shown.content, (), ())]


register(Task("timeline", "departure and return, as measured", "witness", applies, questions))
