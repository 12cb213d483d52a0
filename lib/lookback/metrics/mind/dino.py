"""DINO feature error of the predicted frames (MIND, `dino`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.metrics.shared.checks import require_equal_size, require_finite
from lookback.metrics.shared.similarity import unit_vectors


def dino_mse(patches: ArrayLike, patches_truth: ArrayLike) -> NDArray[np.float64]:
    """Per frame, the mean squared error of L2-normalised patch tokens (N,P,D), special tokens dropped."""
    predicted, expected = require_finite(patches, "patches", ndim=3), require_finite(patches_truth, "patches_truth", ndim=3)
    require_equal_size(predicted, expected, "patches and patches_truth")
    return ((unit_vectors(predicted) - unit_vectors(expected)) ** 2).mean(axis=(1, 2))
