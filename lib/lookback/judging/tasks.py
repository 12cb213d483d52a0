"""Judging tasks: a task turns a clip into questions and chooses the frames to show.

Benchmarks register their tasks in their own `judging.py`. The one task that all benchmarks share, the timeline, is here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lookback.clips import Clip
from lookback.errors import MediaError, NotScorable, Reason
from lookback.judging.prompting import Prompt
from lookback.judging.question import Expects, Part, Question, Unasked
from lookback.media import content_hash, probe, sample_fps, sample_uniform
from lookback.params.stages import Judging
from lookback.paths import resolve
from lookback.registry import Registry, parts

# the facts that the gate funnel counts
TIMELINE_FACTS = {
    "camera_inactive": "Was the camera inactive?",
    "camera_departed": "Did the camera leave the first view?",
    "camera_returned": "Did the camera come back to the first view?",
    "subject_hidden": "Was the subject hidden for a nontrivial interval?",
    "subject_returned": "Did the subject come back after it was hidden?",
    "return_judgeable": "Is the returned subject judgeable?",
}
TIMELINE_VERSION = "timeline.v1"


@dataclass(frozen=True)
class Sampling:
    """How many frames of a video are shown."""

    n_frames: int = 8
    fps: float = 2.0
    max_frames: int = 32

    @classmethod
    def of(cls, params: Judging) -> Sampling:
        return cls(params.n_frames, params.fps, params.max_frames)


@dataclass(frozen=True)
class Footage:
    """A video that questions are asked about."""

    video: str
    content: str  # its content hash
    n_frames: int
    fps: float | None

    def uniform(self, sampling: Sampling) -> tuple[int, ...]:
        """n frames, evenly spread over the video."""
        return tuple(int(index) for index in sample_uniform(self.n_frames, sampling.n_frames))

    def timed(self, sampling: Sampling) -> tuple[int, ...]:
        """Frames at a fixed rate; evenly spread where the video has no frame rate."""
        if self.fps is None:
            return tuple(int(index) for index in sample_uniform(self.n_frames, sampling.max_frames))
        return tuple(int(index) for index in sample_fps(self.n_frames, self.fps, sampling.fps, sampling.max_frames))

    def labels(self, frames: Sequence[int]) -> tuple[str, ...]:
        if self.fps is None:
            return tuple(f"Frame {index + 1} of {self.n_frames}" for index in frames)
        return tuple(f"Frame at {index / self.fps:.2f} s" for index in frames)

    @property
    def n_seconds(self) -> int:
        """How many seconds the video lasts; the last one may be shorter."""
        if self.fps is None:
            raise NotScorable(Reason.MISSING_INPUT, "the clip carries no frame rate; give its fps in the dataset")
        return max(1, int(np.ceil(self.n_frames / self.fps - 1e-6)))


def footage(clip: Clip) -> Footage:
    """The clip's own video, as curation described it."""
    if clip.n_frames and clip.content_hash:
        return Footage(clip.video, clip.content_hash, clip.n_frames, clip.fps)
    return other_footage(clip.video)


def other_footage(video: str) -> Footage:
    """Another video: a ground truth or a known failure."""
    try:
        info = probe(resolve(video))
        return Footage(video, content_hash(resolve(video)), info.n_frames, info.fps)
    except MediaError as error:
        raise NotScorable(error.reason, str(error)) from None


@dataclass(frozen=True)
class Task:
    """One kind of question. `role` says who answers: the scorer, the gate (another judge), or a witness (a judge that measures)."""

    name: str
    title: str
    role: Literal["scorer", "gate", "witness"]
    applies: Callable[[Clip], bool]
    questions: Callable[[Clip, Sampling], list[Question | Unasked]]


TASKS: Registry[Task] = Registry("judging task", lambda: parts("judging"), "lookback.judges")


def register(task: Task) -> Task:
    TASKS.add(task.name, task)
    return task


def compose(
    clip: Clip,
    task: str,
    prompt: Prompt,
    expects: Expects,
    parts: tuple[Part, ...],
    shown: Footage,
    frames: tuple[int, ...],
    /,
    **values: str,
) -> Question:
    """A question from a prompt, the values of its placeholders, and the frames to show."""
    system, text = prompt.render(**{"clip": clip.clip_id, **values})
    labels = shown.labels(frames)
    return Question(clip, task, expects, system, text, prompt.version, parts, shown.video, shown.content, frames, labels)


def captions(clip: Clip) -> str:
    """The numbered caption segments; the prompt where there are none."""
    lines = [f"({number}) {text}" for number, text in enumerate(clip.caption_segments, start=1)]
    return "\n".join(lines) or clip.prompt or "(no caption)"


def subject(clip: Clip) -> str:
    return clip.object_name or "the main subject of the scene"


def timeline_questions(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """One question with all facts of departure and return. No frames are shown: only judges that measure are asked."""
    facts = tuple(Part(name, text) for name, text in TIMELINE_FACTS.items())
    try:
        shown = footage(clip)
    except NotScorable as error:
        return [Unasked(clip, "timeline", TIMELINE_VERSION, facts, error.reason, error.detail)]
    return [Question(clip, "timeline", "table", "", "", TIMELINE_VERSION, facts, shown.video, shown.content, (), ())]


register(Task("timeline", "departure and return, as measured", "witness", lambda clip: True, timeline_questions))
