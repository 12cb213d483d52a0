"""Similarity alignment of two point paths (Umeyama 1991), as MIND's action metric and trajectory errors need it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.camera.poses import Poses
from lookback.errors import ContractError


class Similarity(NamedTuple):
    """y = scale * rotation @ x + translation."""

    scale: float
    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]


def umeyama(source: ArrayLike, target: ArrayLike, *, added_variance: float = 0.0) -> Similarity:
    """Least-squares similarity from `source` (N,3) onto `target` (N,3): minimises sum |target - (s R source + t)|^2.

    S. Umeyama, IEEE TPAMI 13(4), 1991, eq. 40-43. A source without spread (a camera that never translates) has no scale: it is 0.
    `added_variance` is added to the variance of the source, by which the scale is divided.
    """
    x, y = np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 2 or x.shape[1] != 3 or len(x) == 0:
        raise ContractError(f"umeyama: source and target must both be (N,3) with N >= 1, not {x.shape} and {y.shape}.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ContractError("umeyama: source and target must be finite.")
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    centred_x, centred_y = x - mean_x, y - mean_y
    u, singular, vt = np.linalg.svd(centred_y.T @ centred_x / len(x))
    sign = np.diag([1.0, 1.0, np.sign(np.linalg.det(u) * np.linalg.det(vt))])
    rotation = u @ sign @ vt
    variance = float((centred_x**2).sum() / len(x)) + added_variance
    scale = float((singular * np.diag(sign)).sum() / variance) if variance > 0 else 0.0
    return Similarity(scale, rotation, mean_y - scale * rotation @ mean_x)


def apply_similarity(c2w: ArrayLike, similarity: Similarity) -> Poses:
    """The path moved by the similarity: positions scaled, rotated and shifted; orientations rotated."""
    poses = np.array(c2w, dtype=np.float64)
    poses[:, :3, 3] = similarity.scale * poses[:, :3, 3] @ similarity.rotation.T + similarity.translation
    poses[:, :3, :3] = similarity.rotation @ poses[:, :3, :3]
    return poses
