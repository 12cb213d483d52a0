"""The focal length of a camera that turns: the one under which its pairs of views are related by a rotation.

A turn by angle a moves a point at the image's edge further than one at its centre, by an amount that depends on the focal length
alone; a small turn hides that, and then the focal length stays unknown.
"""

from __future__ import annotations

import numpy as np

from lookback.backends.pose.classical.rotation import MIN_SCALE_PX, fit_rotation

DEFAULT_FOV_DEG = 60.0
SEARCH_FOV_DEG = (25.0, 110.0)
STEPS = 18
MAX_ERROR_PX = 1.0  # pairs that no rotation explains better say nothing
CLEAR = 1.25  # the cost at neighbours 1.5 times the best focal length apart, over the best cost
Pair = tuple[np.ndarray, np.ndarray]


def focal_from_fov(fov_deg: float, width: float) -> float:
    return width / 2.0 / np.tan(np.radians(fov_deg) / 2.0)


def estimate_focal(pairs: list[Pair], width: float, centre: np.ndarray, seed: int) -> float | None:
    """Focal length in pixels, or None when the pairs do not determine it."""
    if not pairs:
        return None
    low, high = focal_from_fov(SEARCH_FOV_DEG[1], width), focal_from_fov(SEARCH_FOV_DEG[0], width)
    candidates = np.geomspace(low, high, STEPS)
    errors = np.array([_pair_errors(pairs, focal, centre, seed) for focal in candidates])  # (F, pairs)
    fitting = errors.min(axis=0) < MAX_ERROR_PX
    if fitting.sum() < 2:
        return None
    cost = np.sqrt((errors[:, fitting] ** 2).mean(axis=1) + MIN_SCALE_PX**2)
    best = int(cost.argmin())
    if not 0 < best < STEPS - 1:
        return None
    reach = round(np.log(1.5) / np.log(candidates[1] / candidates[0]))
    sides = [cost[max(0, best - reach)], cost[min(STEPS - 1, best + reach)]]
    if min(sides) < CLEAR * cost[best]:
        return None
    # vertex of the parabola through the three best, in log focal length
    left, middle, right = cost[best - 1 : best + 2]
    bend = left - 2 * middle + right
    offset = 0.5 * (left - right) / bend if bend > 0 else 0.0
    return float(candidates[best] * (candidates[1] / candidates[0]) ** offset)


def _pair_errors(pairs: list[Pair], focal: float, centre: np.ndarray, seed: int) -> list[float]:
    """The median error of the half that fits best, per pair: what moves by itself does not count."""
    out = []
    for first, second in pairs:
        error = fit_rotation(first, second, focal, centre, np.random.default_rng(seed)).error
        out.append(float(np.sort(error)[: max(1, len(error) * 7 // 10)].mean()))
    return out
