"""Object texture: do the masked object's features stay around their centroid (MBench section 4.2.1, eq. 5)?"""

from __future__ import annotations

from numpy.typing import ArrayLike

from lookback.artifacts import ObjectFeatures
from lookback.benchmarks.mbench.metrics.shared import mbench_metric
from lookback.measures.features import centroid_cosines
from lookback.measures.scores import clip01
from lookback.scoring import Item, Scored, ScoringClip, Unit


def centroid_consistency(features: ArrayLike) -> float:
    """(1/N) sum_i cos(f_i, mean f) of features (N,D), clipped to [0,1] (MBench eq. 5, and the inner sum of eq. 6)."""
    return clip01(float(centroid_cosines(features).mean()))


@mbench_metric(
    "entity.object_texture_consistency",
    title="Object texture",
    unit="cosine",
    needs=("video", "object_anchor|object_name"),
    roles=("object_features", "masks"),
    subsets=("object",),
    equation="1/N sum_i cos(f_i, mean f)",
    source="MBench section 4.2.1, eq. 5",
)
def score(context: ScoringClip) -> Scored:
    """Features of the masked object over the whole clip against their centroid."""
    found = context.artifact(ObjectFeatures)
    cosines = centroid_cosines(found.vector)
    units = [
        Unit(f"f{int(frame)}", "frame", clip01(float(cosine)), float(cosine), int(frame))
        for frame, cosine in zip(found.frame, cosines, strict=True)
    ]
    value = centroid_consistency(found.vector)
    return Scored([Item(value, value, n_units=len(units))], units)
