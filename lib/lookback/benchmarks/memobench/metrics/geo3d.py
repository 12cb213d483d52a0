"""Geo3D consistency: depth maps of consecutive sampled frames, in V and in R (MemoBench section 3.4, eq. 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.artifacts import Depth
from lookback.benchmarks.memobench.metrics.shared import BOTH, memobench_metric, phases
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite
from lookback.scoring import Item, Scored, ScoringClip, Unit

ALPHA = 0.7


def depth_similarities(depth: ArrayLike, name: str = "depth") -> NDArray[np.float64]:
    """Cosine of consecutive depth maps (T,H,W), each min-max normalised to [0,1], flattened and brought to unit length; (T-1,)."""
    maps = require_finite(depth, name, ndim=3)
    if len(maps) < 2:
        raise NotScorable(Reason.TOO_SHORT, f"{name}: {len(maps)} depth maps, at least 2 are needed")
    flat = maps.reshape(len(maps), -1)
    low, high = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    if not (high > low).all():
        raise NotScorable(Reason.UNDEFINED, f"{name}: a depth map is constant")
    scaled = (flat - low) / (high - low)
    unit = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    cosines: NDArray[np.float64] = (unit[:-1] * unit[1:]).sum(axis=1).clip(0.0, 1.0)
    return cosines


def geo3d(depth_v: ArrayLike, depth_r: ArrayLike, *, alpha: float = ALPHA) -> float:
    """alpha * (mean_V + mean_R) / 2 + (1 - alpha) * min(min_V, min_R) of depth similarities (MemoBench eq. 5), in [0,1]."""
    visible, reappear = depth_similarities(depth_v, "depth_v"), depth_similarities(depth_r, "depth_r")
    mean = (visible.mean() + reappear.mean()) / 2.0
    return float(alpha * mean + (1.0 - alpha) * min(visible.min(), reappear.min()))


OFFICIAL_SAMPLES = 3  # depth maps per phase in the released code


@memobench_metric(
    "geo3d",
    title="3D consistency",
    needs=("video", "d_start", "r_start"),
    roles=("depth",),
    equation="0.7 (mean_V + mean_R) / 2 + 0.3 min, of cosines of consecutive depth maps",
    source="MemoBench section 3.4, eq. 5",
    constants=("alpha", "depth_samples"),
    differences={"official": "three depth maps per phase"},
    variants=BOTH,
)
def score(context: ScoringClip) -> Scored:
    """Depth maps of the sampled frames in V and in R."""
    depth, frames = context.artifact(Depth), phases(context)
    samples = int(context.constant("depth_samples", OFFICIAL_SAMPLES if context.variant == "official" else 0))
    maps, units = {}, []
    for phase in ("V", "R"):
        rows = depth.rows_in(frames[phase])
        if samples and len(rows) > samples:
            rows = rows[np.linspace(0, len(rows) - 1, samples).round().astype(int)]
        maps[phase] = np.nan_to_num(depth.depth[rows].astype(np.float64), posinf=0.0)
        found = depth_similarities(maps[phase], f"depth in {phase}")
        units += [
            Unit(f"f{int(a)}_f{int(b)}", "pair", float(value), float(value), int(b), int(a), phase)
            for value, a, b in zip(found, depth.frame_index[rows[:-1]], depth.frame_index[rows[1:]], strict=True)
        ]
    value = geo3d(maps["V"], maps["R"], alpha=context.constant("alpha", ALPHA))
    return Scored([Item(value, value, n_units=len(units))], units)
