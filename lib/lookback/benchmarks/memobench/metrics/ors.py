"""Object Reappearance Score: is the object found when it should be back (MemoBench section 3.4, eq. 6)?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lookback.artifacts import Masks
from lookback.benchmarks.memobench.metrics.shared import memobench_metric, phases
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite, require_probability
from lookback.scoring import Item, Scored, ScoringClip, Unit

# share of the image a mask may cover: the first range, and the one tried when nothing fits the first
COVERAGE_RANGES: tuple[tuple[float, float], ...] = ((0.0005, 0.50), (0.0005, 0.70))


def best_detection(
    coverages: ArrayLike, confidences: ArrayLike, *, ranges: Sequence[tuple[float, float]] = COVERAGE_RANGES
) -> float | None:
    """The highest confidence among one frame's masks whose coverage (share of the image) fits, or None when none does."""
    cover = require_finite(coverages, "coverages", ndim=1, at_least=0)
    confidence = require_finite(confidences, "confidences", ndim=1, at_least=0)
    if len(cover) != len(confidence):
        raise NotScorable(Reason.LENGTH_MISMATCH, f"coverages and confidences: {len(cover)} against {len(confidence)}")
    for low, high in ranges:
        fits = (cover >= low) & (cover <= high)
        if fits.any():
            return float(confidence[fits].max())
    return None


def object_reappearance(confidences: ArrayLike, n_frames: int) -> float:
    """(n_d / n_R) * mean confidence of the n_d detected among n_R reappear frames (MemoBench eq. 6), in [0,1].

    `confidences` holds one number per frame with a valid detection; without any the score is 0.
    """
    if n_frames < 1:
        raise NotScorable(Reason.TOO_SHORT, "the R phase has no frame")
    if np.size(confidences) == 0:
        return 0.0
    detected = require_probability(confidences, "confidences")
    if len(detected) > n_frames:
        raise NotScorable(Reason.INVALID_INPUT, f"{len(detected)} detected frames of {n_frames}")
    return float(detected.sum() / n_frames)


@memobench_metric(
    "ors",
    title="Object reappearance score",
    needs=("video", "d_start", "r_start"),
    roles=("masks",),
    equation="(n_d / n_R) * mean confidence of the detections of 0.05-50 % of the image (else up to 70 %)",
    source="MemoBench section 3.4, eq. 6",
    constants=("ors_low", "ors_high"),
)
def score(context: ScoringClip) -> Scored:
    """The object's masks in the R frames; `ors_low` and `ors_high` are the coverage range (table S3)."""
    masks, frames = context.artifact(Masks), phases(context)["R"]
    low, high = context.constant("ors_low", COVERAGE_RANGES[0][0]), context.constant("ors_high", COVERAGE_RANGES[0][1])
    ranges = ((low, high), (low, max(high, COVERAGE_RANGES[1][1])))
    rows = masks.rows_in(frames)
    if not len(rows):
        raise NotScorable(Reason.TOO_SHORT, "no frame of R has a mask row")
    units, confidences = [], []
    for row in rows:
        seen = masks.in_view[row]
        confidence = best_detection(masks.area[[row]], masks.confidence[[row]].clip(0, 1), ranges=ranges) if seen else None
        frame = int(masks.frame_index[row])
        units.append(Unit(f"f{frame}", "frame", confidence or 0.0, float(masks.area[row]), frame, phase="R"))
        confidences += [confidence] if confidence is not None else []
    detail = f"found in {len(confidences)} of {len(rows)} frames"
    value = object_reappearance(confidences, len(rows))
    return Scored([Item(value, value, detail=detail, n_units=len(rows))], units)
