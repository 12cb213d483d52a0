"""Visual quality per frame (MIND, `visual`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.metrics.shared.checks import require_finite

IMAGING_SCALE = 100.0
AESTHETIC_SCALE = 10.0


def visual(musiq: ArrayLike, aesthetic: ArrayLike) -> dict[str, NDArray[np.float64] | float]:
    """imaging = MUSIQ-SPAQ / 100 and aesthetic = LAION score / 10, per frame, with their means."""
    imaging = require_finite(musiq, "musiq", ndim=1) / IMAGING_SCALE
    looks = require_finite(aesthetic, "aesthetic", ndim=1) / AESTHETIC_SCALE
    return {"imaging": imaging, "avg_imaging": float(imaging.mean()), "aesthetic": looks, "avg_aesthetic": float(looks.mean())}
