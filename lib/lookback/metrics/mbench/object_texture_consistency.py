"""Object texture: do the masked object's features stay around their centroid (MBench section 4.2.1, eq. 5)?"""

from __future__ import annotations

from numpy.typing import ArrayLike

from lookback.metrics.shared.normalise import clip01
from lookback.metrics.shared.similarity import centroid_cosines


def centroid_consistency(features: ArrayLike) -> float:
    """(1/N) sum_i cos(f_i, mean f) of features (N,D), clipped to [0,1] (MBench eq. 5, and the inner sum of eq. 6)."""
    return clip01(float(centroid_cosines(features).mean()))
