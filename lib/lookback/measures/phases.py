"""The phases Visible, Disappeared and Reappear of a clip, and which ground-truth frame belongs to which generated one."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_variant

Phase = Literal["V", "D", "R"]
PHASES: tuple[Phase, ...] = ("V", "D", "R")
MIN_FRAMES = 5  # the clamps below need this many


def phase_map(d_start: int, r_start: int, gt_frames: int, n_frames: int) -> tuple[int, int]:
    """(d_start, r_start) of the ground truth mapped to a generated video of `n_frames` (MemoBench section 3.2, released code).

    d = round(d_start / gt_frames * n) clamped to [2, n-4]; r = round(r_start / gt_frames * n) clamped to [d+2, n-1]; Python's
    round.
    """
    if gt_frames <= 0 or not 0 <= d_start <= r_start <= gt_frames:
        raise NotScorable(Reason.NO_PHASES, f"0 <= d_start {d_start} <= r_start {r_start} <= gt_frames {gt_frames} does not hold")
    if n_frames < MIN_FRAMES:
        raise NotScorable(Reason.TOO_SHORT, f"{n_frames} frames cannot hold three phases, {MIN_FRAMES} are needed")
    disappear = max(2, min(round(d_start / gt_frames * n_frames), n_frames - 4))
    return disappear, max(disappear + 2, min(round(r_start / gt_frames * n_frames), n_frames - 1))


def phase_spans(d_start: int, r_start: int, n_frames: int, *, variant: Variant = "paper") -> dict[Phase, tuple[int, int]]:
    """First and last frame of each phase, both inclusive.

    Paper: V = [0, d), D = [d, r), R = [r, N-1]. Official: both ends inclusive, so that frames d and r count in two phases.
    """
    require_variant(variant, ("paper", "official"))
    if not 0 < d_start < r_start < n_frames:
        raise NotScorable(Reason.NO_PHASES, f"0 < d_start {d_start} < r_start {r_start} < n_frames {n_frames} does not hold")
    overlap = 1 if variant == "official" else 0
    return {"V": (0, d_start - 1 + overlap), "D": (d_start, r_start - 1 + overlap), "R": (r_start, n_frames - 1)}


def phase_frames(d_start: int, r_start: int, n_frames: int, *, variant: Variant = "paper") -> dict[Phase, NDArray[np.int64]]:
    """The frame indices of each phase."""
    spans = phase_spans(d_start, r_start, n_frames, variant=variant)
    return {phase: np.arange(first, last + 1) for phase, (first, last) in spans.items()}


def ground_truth_index(n: int, gt_first: int, gt_last: int) -> NDArray[np.int64]:
    """round(gt_first + i (gt_last - gt_first) / (n - 1)) for i < n: linear within a phase, or over the whole video."""
    if n < 1:
        raise NotScorable(Reason.TOO_SHORT, "no frame to map")
    if n == 1:
        return np.array([gt_first], dtype=np.int64)
    return np.rint(gt_first + np.arange(n) * (gt_last - gt_first) / (n - 1)).astype(np.int64)


def ground_truth_pairs(
    d_start: int, r_start: int, gt_frames: int, n_frames: int, *, variant: Variant = "paper"
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(generated frames, ground-truth frames) of V, D, R and of the whole video (key ""), as fidelity compares them."""
    mapped = phase_map(d_start, r_start, gt_frames, n_frames)
    generated, truth = phase_spans(*mapped, n_frames, variant=variant), phase_spans(d_start, r_start, gt_frames, variant=variant)
    pairs: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    for phase in PHASES:
        frames = np.arange(generated[phase][0], generated[phase][1] + 1)
        pairs[phase] = (frames, ground_truth_index(len(frames), *truth[phase]))
    pairs[""] = (np.arange(n_frames), ground_truth_index(n_frames, 0, gt_frames - 1))
    return pairs
