"""What MBench's metrics share: how they are registered, the clip's camera path, and the frame pairs that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookback.artifacts import PoseTrack
from lookback.artifacts.poses import MAPPED
from lookback.errors import NotScorable, Reason
from lookback.measures.frames import FramePairs, caption_segment_pairs, fold_pairs
from lookback.measures.geometry import match_sift
from lookback.media import sample_segments
from lookback.presets import presets_of
from lookback.registry import metric
from lookback.scoring import ScoringClip

SETTINGS = {"A": "mbencha", "T": "mbencht"}


def mbench_metric(
    dimension: str, settings: str = "AT", needs: tuple[str, ...] = ("video",), paired: bool = False, **declaration: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register one scoring function for settings A and T (camera interaction exists in A only).

    A `paired` metric compares `paired_frames`, which T takes from the caption segments.
    """
    declaration |= {"presets": presets_of("lookback.benchmarks.mbench", dimension), "range": (0.0, 1.0), "higher_is_better": True}

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for setting in settings:
            name = f"{SETTINGS[setting]}.{dimension}"
            needed = (*needs, "caption_segments") if paired and setting == "T" else needs
            metric(name=name, benchmark="mbench", settings=(setting,), needs=needed, **declaration)(function)
        return function

    return register


Matches = tuple[NDArray[np.float64], NDArray[np.float64]]  # matched pixels (N,2) of two frames


@dataclass(frozen=True)
class PairedFrames:
    """Frame pairs of a clip: as rows of its camera path, and as frames of the video."""

    path: PoseTrack
    rows: NDArray[np.int64]  # (P,2)
    frames: NDArray[np.int64]  # (P,2)
    note: str

    def __iter__(self) -> Iterator[tuple[int, int, int, int]]:
        """(row i, row j, frame i, frame j) of each pair."""
        return ((int(i), int(j), int(first), int(second)) for (i, j), (first, second) in zip(self.rows, self.frames, strict=True))

    def unit_id(self, first: int, second: int) -> str:
        return f"f{first}_f{second}"


def paired_frames(context: ScoringClip) -> PairedFrames:
    """Fold pairs (A) or caption-segment pairs (T) of the clip, chosen once for all its metrics."""
    fold, chosen = int(context.number("fold_pairs")), int(context.number("segment_pairs"))
    key = ("paired_frames", fold, chosen, int(context.number("frames_per_segment")))
    if key not in context.shared:
        path = context.artifact(PoseTrack)
        found = fold_pairs(path.c2w, max_pairs=fold) if context.clip.setting == "A" else _segment_pairs(context, path, chosen)
        mapped = [note for note in path.notes if MAPPED in note]
        note = "; ".join(filter(None, [found.note, *mapped]))
        context.shared[key] = PairedFrames(path, found.pairs, path.frame_index[found.pairs], note)
    context.used.add("pose")
    pairs: PairedFrames = context.shared[key]
    return pairs


def _segment_pairs(context: ScoringClip, path: PoseTrack, most: int) -> FramePairs:
    count = len(context.clip.caption_segments)
    if count < 2:
        raise NotScorable(Reason.MISSING_INPUT, f"{count} caption segments, a return needs at least 2")
    per_segment = int(context.number("frames_per_segment"))
    segments = sample_segments(context.need("n_frames"), count, per_segment, known=path.frame_index)
    return caption_segment_pairs(path.c2w, segments, max_pairs=most)


def matches(context: ScoringClip, images: dict[int, NDArray[np.uint8]], first: int, second: int) -> Matches:
    """SIFT matches of two frames, computed once for all metrics of the clip."""
    ratio = context.number("match_ratio")
    key = ("matches", first, second, ratio)
    if key not in context.shared:
        context.shared[key] = match_sift(images[first], images[second], ratio=ratio)
    found: Matches = context.shared[key]
    return found
