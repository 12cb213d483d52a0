"""What is asked and what comes back: `Question` -> `Reply` (raw, recorded) -> `Answer`s (read from it)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lookback.clips import Clip
from lookback.errors import Reason

Expects = Literal["yes_no", "decision", "rating", "per_second", "table", "questions"]
ValueFrom = Literal["logprobs", "sampled", "stated", "geometry", "simulated"]


SECOND = "second_"  # how the ids of questions about one second of a clip begin


@dataclass(frozen=True)
class Part:
    """One thing a question asks about; a question with several parts is answered by one call."""

    question_id: str
    text: str
    frame: int | None = None  # where one second or frame is asked about
    dimension: str = ""
    polarity: Literal["positive", "negative"] = "positive"


@dataclass(frozen=True)
class Question:
    """One call to a judge: the rendered prompt, the frames that go with it, and what form the answer has."""

    clip: Clip
    task: str
    expects: Expects
    system: str
    text: str
    prompt_version: str
    parts: tuple[Part, ...]
    video: str  # the clip's own video, or its ground truth or a known failure in the VQA filters
    video_hash: str
    frames: tuple[int, ...]
    labels: tuple[str, ...]  # what each frame is called before it is shown: its time, or its number where there is no rate


@dataclass(frozen=True)
class Unasked:
    """A question that could not be put: its parts carry the reason instead of an answer."""

    clip: Clip
    task: str
    prompt_version: str
    parts: tuple[Part, ...]
    reason: Reason
    detail: str


@dataclass(frozen=True)
class Stated:
    """What a judge without a language says about one part."""

    answer: str  # yes, no, 1..5
    value: float
    confidence: float
    value_from: ValueFrom
    because: str  # the sentence a person can check


@dataclass(frozen=True)
class Reply:
    """What one call returned, kept as it came. `usage` never enters a table: it differs from run to run."""

    text: str
    logprobs: tuple[tuple[str, float], ...] | None = None  # candidates for the answer's first token
    stated: Mapping[str, Stated] | None = None  # by question_id, from a judge without a language
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # question_id -> (reason, detail) it cannot judge
    usage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """One part's answer: a value or a reason, with the judge's own words."""

    part: Part
    answer: str = ""
    value: float | None = None
    confidence: float | None = None
    value_from: str = ""
    reason: Reason | None = None
    verbatim: str = ""


class JudgeError(Exception):
    """A call that gave no reply. `retry` says whether another try may help, `wait_s` how long the server asks to wait."""

    def __init__(self, reason: Reason, detail: str, *, retry: bool = False, wait_s: float | None = None, fatal: bool = False):
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.retry = retry
        self.wait_s = wait_s
        self.fatal = fatal  # no other question will fare better (a refused key): ask nothing more
        self.changed = False  # the judge changed the request (left out a refused field): ask again at once, as a call of its own
