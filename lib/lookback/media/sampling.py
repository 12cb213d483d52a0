"""Which frames to look at, as arrays of indices. The first and the last frame are included where possible."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from lookback.errors import NotScorable, Reason, UsageError


def sample_uniform(n_frames: int, n: int) -> np.ndarray:
    """`n` frames spread evenly from the first to the last: round(k (N-1)/(n-1)).

    All frames if the clip has no more than `n`; the middle frame if n is 1.
    """
    _at_least_one(n_frames=n_frames, n=n)
    if n >= n_frames:
        return np.arange(n_frames)
    if n == 1:
        return np.array([(n_frames - 1) // 2])
    return np.rint(np.linspace(0, n_frames - 1, n)).astype(np.int64)


def sample_fps(n_frames: int, fps: float | None, target_fps: float, max_frames: int | None = None) -> np.ndarray:
    """WRBench's time-based sampler (visual integrity, paper appendix): every fps/target_fps-th frame, rounded.

    The first and the last frame are always kept. With more than `max_frames`, an even selection of the S sampled frames is kept:
    the k-th is number floor(k (S-1)/(max_frames-1)).
    """
    if fps is None:
        raise NotScorable(
            Reason.MISSING_INPUT,
            "the clip has no frame rate (a frame folder); encode it as a video or, in a plain folder, give it in the column fps of "
            "models.csv",
        )
    _at_least_one(n_frames=n_frames)
    if not (math.isfinite(fps) and fps > 0 and math.isfinite(target_fps) and target_fps > 0):
        raise UsageError(f"frame rates must be positive, not {fps:g} and {target_fps:g}")
    step = max(fps / target_fps, 1.0)
    sampled = np.rint(np.arange(0, n_frames, step)).astype(np.int64)
    sampled = np.unique(np.clip(np.concatenate([sampled, [n_frames - 1]]), 0, n_frames - 1))
    if max_frames is not None and len(sampled) > max_frames:
        if max_frames < 2:
            raise UsageError(f"max_frames must be at least 2 to keep the first and last frame, not {max_frames}")
        sampled = sampled[np.linspace(0, len(sampled) - 1, max_frames).astype(np.int64)]
    return sampled


def segment_edges(n_frames: int, n_segments: int) -> list[int]:
    """The frames at which caption segments begin, and the end: segment s of S covers frames [floor(s N/S), floor((s+1) N/S))."""
    return [s * n_frames // n_segments for s in range(n_segments + 1)]


def sample_segments(n_frames: int, n_segments: int, per_segment: int, known: np.ndarray | None = None) -> list[np.ndarray]:
    """Frame indices per caption segment (`segment_edges`).

    Inside a segment the frames are the centres of `per_segment` equal parts, so that none is at a change of caption.
    A segment with no more frames than that gives all of them. Where only the frames `known` (rising) can be taken, the indices
    are places in it.
    """
    _at_least_one(n_frames=n_frames, n_segments=n_segments, per_segment=per_segment)
    if n_segments > n_frames:
        raise NotScorable(Reason.TOO_SHORT, f"{n_segments} caption segments do not fit into {n_frames} frames")
    edges = segment_edges(n_frames, n_segments)
    if known is not None:
        edges = np.searchsorted(known, edges).tolist()
        if empty := [number for number, (start, stop) in enumerate(pairwise(edges)) if start == stop]:
            raise NotScorable(Reason.TOO_FEW_VALUES, f"no frame of caption segment {empty[0]} (from 0) is known")
    return [_centres(start, stop, per_segment) for start, stop in pairwise(edges)]


def _centres(start: int, stop: int, n: int) -> np.ndarray:
    if n >= stop - start:
        return np.arange(start, stop)
    return start + ((2 * np.arange(n) + 1) * (stop - start) // (2 * n))


def _at_least_one(**counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise UsageError(f"{name} must be at least 1, not {value}")
