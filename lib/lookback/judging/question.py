"""What is asked and what comes back: a `Question` gets a `Reply` (raw, recorded), which is read as one `Answer` per part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lookback.clips import Clip
from lookback.errors import Reason

Expects = Literal["yes_no", "decision", "rating", "per_second", "table", "questions"]
ValueFrom = Literal["logprobs", "sampled", "stated", "geometry", "simulated"]
YES_NO_TOKENS = 16  # enough for Yes or No, where a model does not think first
SECOND = "second_"  # the ids of questions about one second of a clip begin with this


@dataclass(frozen=True)
class Part:
    """One thing that a question asks about. One call answers all parts of a question."""

    question_id: str
    text: str
    frame: int | None = None  # set where the part is about one second or frame
    dimension: str = ""
    polarity: Literal["positive", "negative"] = "positive"


@dataclass(frozen=True)
class Question:
    """One call to a judge: the filled-in prompt, the frames to show, and the form of the answer."""

    clip: Clip
    task: str
    expects: Expects
    system: str
    text: str
    prompt_version: str
    parts: tuple[Part, ...]
    video: str  # the clip's own; for the VQA filters its ground truth or a known failure
    video_hash: str
    frames: tuple[int, ...]
    labels: tuple[str, ...]  # one per frame: its time, or its number where there is no frame rate

    @property
    def is_timed(self) -> bool:
        """Whether its frames are a video at a fixed rate (probes, judgeability, VQA) rather than a few single pictures."""
        return self.expects in ("yes_no", "per_second", "table") and len(self.frames) > 1

    @property
    def unseen_seconds(self) -> list[int]:
        """The whole seconds of a video that fall between two frames, so that nothing of them is shown."""
        if not self.frames or not self.clip.fps:
            return []
        shown = {int(frame / self.clip.fps + 1e-6) for frame in self.frames}
        return [second for second in range(max(shown)) if second not in shown]


@dataclass(frozen=True)
class Unasked:
    """A question that could not be asked. Its parts get the reason instead of an answer."""

    clip: Clip
    task: str
    prompt_version: str
    parts: tuple[Part, ...]
    reason: Reason
    detail: str


@dataclass(frozen=True)
class Stated:
    """What a judge that writes no text (geometric, simulated) says about one part."""

    answer: str  # yes, no, 1..5
    value: float
    confidence: float
    value_from: ValueFrom
    because: str  # a sentence that a person can check


@dataclass(frozen=True)
class Reply:
    """What one call returned, unchanged. `usage` differs from run to run, so it never enters a table."""

    text: str
    logprobs: tuple[tuple[str, float], ...] | None = None  # candidates for the answer's first token
    stated: Mapping[str, Stated] | None = None  # by question_id, from a judge that writes no text
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # question_id -> (reason, detail) where it cannot judge
    truncated: bool = False  # it ended at the token limit
    usage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The answer to one part: a value or a reason, with the judge's own words."""

    part: Part
    answer: str = ""
    value: float | None = None
    confidence: float | None = None
    value_from: str = ""
    reason: Reason | None = None
    verbatim: str = ""


class JudgeError(Exception):
    """A call that got no reply. `retry`: another try may help. `wait_s`: how long the server asks to wait."""

    def __init__(self, reason: Reason, detail: str, *, retry: bool = False, wait_s: float | None = None, fatal: bool = False):
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.retry = retry
        self.wait_s = wait_s
        self.fatal = fatal  # no other question can succeed (the key was refused): ask nothing more
        self.changed = False  # the judge will send something else: ask again at once, as a new call
        self.spent: Mapping[str, Any] = {}  # tokens of a reply that is thrown away
