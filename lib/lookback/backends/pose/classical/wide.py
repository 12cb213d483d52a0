"""The field of view of a camera that turns and moves at once, from the motion of the whole picture.

A turn moves the border of the picture faster than its middle, and the more so the wider the lens. With the camera turning by the
rates (a, b, c) about its axes, a point at (x, y) from the middle moves by

    u = a xy/f - b (f + x^2/f) + c y,    v = a (f + y^2/f) - b xy/f - c x

(Longuet-Higgins and Prazdny 1980). Near things also slide by because the camera moves; the fit is robust, so they count little.
`rotation.estimate_focal` needs pairs of views between which the camera only turns; this needs none. It only speaks where the usual
field of view explains the motion clearly worse.
"""

from __future__ import annotations

import numpy as np

from lookback.backends.pose.classical.rotation import DEFAULT_FOV_DEG, focal_from_fov
from lookback.measures.camera_activity import TURN_STEP, Motion, fixed_cells, windows

FIELDS_DEG = np.arange(30.0, 131.0, 5.0)
FEWEST_WINDOWS = 2
BETTER = 0.8  # the best field of view leaves at most this share of what the usual one leaves unexplained
OUTLIER = 0.05  # share of the slide from which a cell loses its weight
MOST = 0.5  # share of the slide that one cell can leave unexplained at most
ROUNDS = 10


def fov_by_motion(motion: Motion, height_over_width: float) -> float | None:
    """The horizontal field of view in degrees, or None where the motion of the picture does not tell it from the usual one."""
    rows, columns = motion.shape[1:3]
    x, y = np.meshgrid((np.arange(columns) + 0.5) / columns - 0.5, ((np.arange(rows) + 0.5) / rows - 0.5) * height_over_width)
    turning = [
        (x[known], y[known], steps[known])
        for _, steps, known in windows(motion, ~fixed_cells(motion))
        if np.linalg.norm(np.median(steps[known], axis=0)) >= TURN_STEP
    ]
    if len(turning) < FEWEST_WINDOWS:
        return None
    costs = np.array([sum(_unexplained(*window, focal_from_fov(field, 1.0)) for window in turning) for field in FIELDS_DEG])
    best, usual = int(costs.argmin()), costs[np.abs(FIELDS_DEG - DEFAULT_FOV_DEG).argmin()]
    return float(FIELDS_DEG[best]) if 0 < best < len(costs) - 1 and costs[best] <= BETTER * usual else None


def _unexplained(x: np.ndarray, y: np.ndarray, steps: np.ndarray, focal: float) -> float:
    """How much of the steps (n,2) of some cells no turn explains, in widths of the picture."""
    across = np.stack([x * y / focal, -(focal + x**2 / focal), y], axis=1)
    down = np.stack([focal + y**2 / focal, -x * y / focal, -x], axis=1)
    design, target = np.concatenate([across, down]), np.concatenate([steps[:, 0], steps[:, 1]])
    slide = float(np.median(np.linalg.norm(steps, axis=1)))
    weights, error = np.ones(len(target)), np.zeros(len(x))
    for _ in range(ROUNDS):
        turn = np.linalg.lstsq(design * weights[:, None], target * weights, rcond=None)[0]
        error = np.linalg.norm((design @ turn - target).reshape(2, -1), axis=0)
        weights = np.tile(1 / np.sqrt(1 + (error / (OUTLIER * slide)) ** 2), 2)
    return float(np.minimum(error, MOST * slide).mean())
