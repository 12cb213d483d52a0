"""What MemoBench's metrics share: how they are registered, the clip's phases, and its camera path beside the true one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookback.artifacts import PoseTrack, TruePoseTrack
from lookback.camera.poses import Poses
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant
from lookback.measures.frames import Phase, phase_frames, phase_map
from lookback.registry import metric
from lookback.scoring import ScoringClip

BOTH = ("paper", "official")


def memobench_metric(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register under `memobench.<name>`; scores lie in [0,1] and higher is better unless the declaration says otherwise."""
    common: dict[str, Any] = {"benchmark": "memobench", "unit": "score", "range": (0.0, 1.0), "higher_is_better": True}
    return metric(name=f"memobench.{name}", **{**common, **declaration})


def variant_of(context: ScoringClip) -> Variant:
    return "official" if context.variant == "official" else "paper"


def phases(context: ScoringClip) -> dict[Phase, NDArray[np.int64]]:
    """The generated frames of V, D and R."""
    clip = context.clip
    if clip.d_start is None or clip.r_start is None or clip.gt_frames is None:
        raise NotScorable(Reason.NO_PHASES, "the phase sheet has no d_start and r_start for this clip")
    count = context.need("n_frames")
    return phase_frames(*phase_map(clip.d_start, clip.r_start, clip.gt_frames, count), count, variant=variant_of(context))


def phase_of(frame: int, frames: dict[Phase, NDArray[np.int64]]) -> str:
    """The (last) phase a frame belongs to."""
    return next((phase for phase in ("R", "D", "V") if frame in frames[phase]), "")


def matched_paths(context: ScoringClip) -> tuple[Poses, Poses]:
    """(ground truth, generated) camera paths with one pose per generated pose. The truth is sampled at the same relative times."""
    generated, truth = context.artifact(PoseTrack), context.artifact(TruePoseTrack)
    count, true_count = context.need("n_frames"), context.clip.gt_frames or int(truth.frame_index.max()) + 1
    share = generated.frame_index / max(1, count - 1)
    return truth.at(share * (true_count - 1)), generated.c2w
