"""Which frame of a video is shown beside each frame of the opened clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lookback.clips import Clip
from lookback.errors import UsageError
from lookback.inspector.run import RunView
from lookback.measures.frames import ground_truth_index
from lookback.paths import resolve


@dataclass(frozen=True)
class Film:
    """A clip's own video, or its ground truth."""

    clip: Clip
    truth: bool = False

    @property
    def path(self) -> Path:
        if self.truth and not self.clip.ground_truth:
            raise UsageError(f"{self.clip.label} has no ground truth")
        return resolve(str(self.clip.ground_truth) if self.truth else self.clip.video)


def frames_beside(run: RunView, clip: Clip, count: int, other: Film, others: int, by: str) -> list[int]:
    """The frame of `other` (of `others` frames) beside every frame of `clip` (of `count` frames); `by` is "phase" or "frame"."""
    offset = clip.mark_time or 0 if other.truth else 0
    if by == "frame" or offset:
        return by_frame(count, others, offset)
    if not other.truth:
        return by_phase(run.marks(clip, count), run.marks(other.clip, others))
    if clip.d_start is None or clip.r_start is None:
        return by_phase([0, count], [0, others])
    return by_phase(run.marks(clip, count), [0, clip.d_start, clip.r_start, min(clip.gt_frames or others, others)])


def by_frame(n_frames: int, other_frames: int, offset: int = 0) -> list[int]:
    """Frame i is shown beside frame i + offset (MIND's ground truth starts at mark_time). The last frame is repeated."""
    return np.minimum(np.arange(n_frames) + offset, other_frames - 1).tolist()


def by_phase(marks: Sequence[int], other: Sequence[int]) -> list[int]:
    """Frames are matched linearly within each phase, as MemoBench matches a clip with its ground truth.

    `marks` are the first frames of the phases and the end, [0, d_start, r_start, n]. If the videos do not have the same phases,
    they are matched linearly as a whole.
    """
    if len(marks) != len(other):
        marks, other = (marks[0], marks[-1]), (other[0], other[-1])
    frames: list[int] = []
    for start, end, first, stop in zip(marks, marks[1:], other, other[1:], strict=False):
        if end > start:
            frames += ground_truth_index(end - start, first, max(first, stop - 1)).tolist()
    return frames or [other[0]]
