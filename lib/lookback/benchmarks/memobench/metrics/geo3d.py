"""Geo3D consistency: depth maps of consecutive sampled frames, in V and in R (MemoBench section 3.4, eq. 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.benchmarks.memobench.metrics.shared import limited, memobench_metric, percent, phases, raw_rounded, share, spread
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite
from lookback.scoring import Frames, Item, PixelScoring, Scored, ScoringClip, Unit

ALPHA = 0.7


def depth_similarities(depth: ArrayLike, name: str = "depth", *, flat_depth: str = "refuse") -> NDArray[np.float64]:
    """Cosine of consecutive depth maps (T,H,W), each min-max normalised to [0,1], flattened and brought to unit length; (T-1,).

    A map without any range has no direction: it is refused, or counts as 0 (`flat_depth`), as in the released code.
    """
    maps = require_finite(depth, name, ndim=3)
    if len(maps) < 2:
        raise NotScorable(Reason.TOO_SHORT, f"{name}: {len(maps)} depth maps, at least 2 are needed")
    flat = maps.reshape(len(maps), -1)
    low, high = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    if flat_depth == "refuse" and not (high > low).all():
        raise NotScorable(Reason.UNDEFINED, f"{name}: a depth map is constant")
    scaled = (flat - low) / np.where(high > low, high - low, 1.0)
    unit = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), np.finfo(float).tiny)
    cosines: NDArray[np.float64] = (unit[:-1] * unit[1:]).sum(axis=1).clip(0.0, 1.0)
    return cosines


def geo3d(depth_v: ArrayLike, depth_r: ArrayLike, *, alpha: float = ALPHA) -> float:
    """alpha * (mean_V + mean_R) / 2 + (1 - alpha) * min(min_V, min_R) of depth similarities (MemoBench eq. 5), in [0,1]."""
    visible, reappear = depth_similarities(depth_v, "depth_v"), depth_similarities(depth_r, "depth_r")
    mean = (visible.mean() + reappear.mean()) / 2.0
    return float(alpha * mean + (1.0 - alpha) * min(visible.min(), reappear.min()))


@memobench_metric(
    "geo3d",
    title="3D consistency",
    needs=("video", "d_start", "r_start"),
    roles=(),
    tools=("depth",),
    equation="0.7 (mean_V + mean_R) / 2 + 0.3 min, of cosines of consecutive depth maps, three per phase",
    source="MemoBench section 3.4, eq. 5",
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """Depth maps of three frames in V and three in R, compared in order."""
    network, found = context.backend("depth"), phases(context)
    chosen = {phase: _sampled(context, found[phase]) for phase in ("V", "R")}
    wanted = np.unique(np.concatenate(list(chosen.values())))
    images = yield Frames(wanted)
    shown = np.stack([limited(context, images[int(frame)]) for frame in wanted])
    maps = dict(zip(wanted.tolist(), network.maps(shown, clip=context.clip, indices=wanted), strict=True))
    means, minima, units = [], [], []
    for phase, frames in chosen.items():
        cosines = _similarities(context, np.stack([maps[int(frame)] for frame in frames]), phase)
        means.append(raw_rounded(context, float(cosines.mean())))
        minima.append(raw_rounded(context, float(cosines.min())))
        units += [
            Unit(f"{phase}{number}_f{int(a)}_f{int(b)}", "pair", float(value), float(value), int(b), int(a), phase)
            for number, (value, a, b) in enumerate(zip(cosines, frames[:-1], frames[1:], strict=False))
        ]
    mean, alpha = sum(means) / 2.0, context.number("alpha")
    value = share(context, alpha * percent(context, mean) + (1.0 - alpha) * percent(context, min(minima)))
    return Scored([Item(value, mean, n_units=len(units))], units)


def _sampled(context: ScoringClip, frames: NDArray[np.int64]) -> NDArray[np.int64]:
    chosen = spread(int(frames[0]), int(frames[-1]), int(context.number("depth_samples")))
    if len(chosen) < 2 and context.setting("short_phase") == "refuse":
        raise NotScorable(Reason.TOO_SHORT, "a phase has one frame, two are needed to compare depth maps")
    return chosen


def _similarities(context: ScoringClip, maps: NDArray[np.float64], phase: str) -> NDArray[np.float64]:
    """The cosines of one phase. A single map counts as 0 where the preset says so; otherwise `_sampled` refused it."""
    if len(maps) < 2:
        return np.zeros(1)
    return depth_similarities(maps, f"depth in {phase}", flat_depth=str(context.setting("flat_depth")))
