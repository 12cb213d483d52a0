"""Cosine similarity of features."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite


def unit_vectors(features: ArrayLike, name: str = "features") -> NDArray[np.float64]:
    """Features (…,D) divided by their length; a zero vector has no direction and is an invalid input."""
    array = require_finite(features, name)
    if array.ndim == 0 or array.size == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"{name}: no feature vector")
    length = np.linalg.norm(array, axis=-1, keepdims=True)
    if not (length > 0).all():
        raise NotScorable(Reason.INVALID_INPUT, f"{name}: a feature vector is zero, so its direction is undefined")
    return array / length


def cosine(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """cos(a, b) along the last axis, with broadcasting."""
    return np.clip((unit_vectors(a) * unit_vectors(b)).sum(axis=-1), -1.0, 1.0)


def centroid_cosines(features: ArrayLike) -> NDArray[np.float64]:
    """cos(f_i, mean of f) for features (N,D): how far each observation is from its track's centroid (MBench eq. 5 and 6)."""
    array = require_finite(features, "features", ndim=2)
    unit = unit_vectors(array)
    centroid = array.mean(axis=0)
    length = np.linalg.norm(centroid)
    if not length > 1e-12 * np.abs(array).max():
        raise NotScorable(Reason.UNDEFINED, "the features cancel out, so their centroid has no direction")
    return np.clip(unit @ (centroid / length), -1.0, 1.0)
