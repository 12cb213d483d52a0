"""Which frame of another video is shown beside each frame of the opened clip: by frame number, or by phase."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookback.measures.frames import ground_truth_index


def by_frame(n_frames: int, other_frames: int, offset: int = 0) -> list[int]:
    """Frame i beside frame i + offset (MIND's ground truth starts at its mark_time); the last one is held."""
    return np.minimum(np.arange(n_frames) + offset, other_frames - 1).tolist()


def by_phase(marks: Sequence[int], other: Sequence[int]) -> list[int]:
    """Linear within each phase, as MemoBench pairs a clip with its ground truth.

    `marks` are the first frames of the phases and the end, [0, d_start, r_start, n]. Videos without the same phases are
    stretched onto each other as a whole.
    """
    if len(marks) != len(other):
        marks, other = (marks[0], marks[-1]), (other[0], other[-1])
    frames: list[int] = []
    for start, end, first, stop in zip(marks, marks[1:], other, other[1:], strict=False):
        if end > start:
            frames += ground_truth_index(end - start, first, max(first, stop - 1)).tolist()
    return frames or [other[0]]
