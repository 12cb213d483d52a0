"""Rendering consistency, lighting: brightness and colour of matching segments in CIELAB (MBench section 4.3.2, eq. 9-12)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookback.benchmarks.mbench.metrics.shared import mbench_metric, paired_frames
from lookback.measures.checks import require_images
from lookback.measures.images import mean_lab
from lookback.measures.scores import exp_decay
from lookback.scoring import Frames, Item, PixelScoring, Scored, ScoringClip, Unit

ALPHA = 0.5  # the paper gives no value; ours
TAU = 10.0  # the paper gives no value; ours: a shift of 10 CIELAB units scores 1/e


def lighting_deviation(frames_i: ArrayLike, frames_j: ArrayLike, alpha: float = ALPHA) -> float:
    """alpha |A_i - A_j| + (1 - alpha) |c_i - c_j| of one segment pair (MBench eq. 9-11), in CIELAB units.

    A is the mean lightness L (0..100) and c the mean (a, b) of the segment's frames (T,H,W,3).
    """
    first = mean_lab(require_images(frames_i, "frames_i"))
    second = mean_lab(require_images(frames_j, "frames_j"))
    return float(alpha * abs(first[0] - second[0]) + (1.0 - alpha) * np.linalg.norm(first[1:] - second[1:]))


def lighting_score(deviation: float, *, tau: float = TAU) -> float:
    """exp(-D / tau) (MBench eq. 12)."""
    return exp_decay(deviation, tau)


@mbench_metric(
    "environment.rendering_lighting",
    title="Rendering, lighting",
    unit="exp(-CIELAB/tau)",
    paired=True,
    roles=("pose",),
    subsets=("environment",),
    equation="exp(-D/tau), D = mean of alpha |A_i - A_j| + (1 - alpha) |c_i - c_j|",
    source="MBench section 4.3.2, eq. 9-12",
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """Segments of the way out against the matching segments of the way back. Each pair of segments is a unit.

    The pairs are grouped by time into `lighting_segments` pairs of segments.
    """
    pairs = paired_frames(context)
    images = yield Frames(np.unique(pairs.frames))
    alpha, tau = context.number("lighting_alpha"), context.number("lighting_tau")
    segments = int(context.number("lighting_segments"))
    units, deviations = [], []
    in_time = pairs.frames[np.lexsort(pairs.frames.T[::-1])]
    for number, group in enumerate(np.array_split(in_time, min(segments, len(in_time)))):
        sides = [np.stack([images[int(frame)] for frame in group[:, side]]) for side in (0, 1)]
        deviation = lighting_deviation(sides[0], sides[1], alpha)
        deviations.append(deviation)
        first, second = int(group[0, 0]), int(group[0, 1])
        note = f"{len(group)} frames a side" + (f"; {pairs.note}" if pairs.note else "")
        units.append(Unit(f"segment{number}", "segment", lighting_score(deviation, tau=tau), deviation, first, second, detail=note))
    mean = float(np.mean(deviations))
    return Scored([Item(lighting_score(mean, tau=tau), mean, detail=f"alpha {alpha:g}, tau {tau:g}", n_units=len(units))], units)
