"""The camera's departure and return, from its poses alone.

Rotation decides: what share of the first view is still in sight. A monocular pose has no scale, so that translation counts only as
"the camera moved", where parallax was observed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookback.camera.poses import relative_to_first, rotation_angle_deg
from lookback.errors import NotScorable, Reason

INACTIVE_DEG = 5.0  # a camera that never turns further than this and shows no parallax did nothing (WRBench's static band)
STATIC_TRANSLATION = 0.05  # WRBench's static request allows this much
DEPARTED_OVERLAP = 0.4  # more than half of the first view is out of sight: about 36 deg of a 60 deg view
RETURNED_OVERLAP = 0.4  # enough of it is back to compare; drift over the departure costs an estimated path this much
REGAINED = 0.3  # and the return must have brought back at least this share
MOVING_SHARE = 0.1  # of the frames show parallax: the camera moved, even if only for a while
GRID = 24  # sample rays per image side


@dataclass(frozen=True)
class CameraPath:
    """A clip's camera in the terms a reader can check on the frames."""

    seconds: NDArray[np.float64]  # (N,)
    angle_deg: NDArray[np.float64]  # turn away from the first view
    overlap: NDArray[np.float64]  # share of the first view still in sight
    moved: bool  # parallax was observed
    confidence: float

    @property
    def inactive(self) -> bool:
        return not self.moved and float(self.angle_deg.max()) < INACTIVE_DEG

    @property
    def turnaround(self) -> int:
        """Where the least of the first view is in sight (the farthest turn among equals)."""
        return int(np.lexsort((-self.angle_deg, self.overlap))[0])

    @property
    def departed(self) -> bool:
        return float(self.overlap.min()) <= DEPARTED_OVERLAP

    @property
    def back_at(self) -> int | None:
        """The first frame after the turnaround that sees the first view again."""
        enough = max(RETURNED_OVERLAP, float(self.overlap.min()) + REGAINED)
        back = np.flatnonzero(self.overlap[self.turnaround :] >= enough)
        return self.turnaround + int(back[0]) if self.departed and len(back) else None

    @property
    def returned(self) -> bool:
        return self.back_at is not None

    def describe(self) -> str:
        """What the camera did, in a sentence."""
        peak = float(self.angle_deg.max())
        if self.inactive:
            return f"The camera never turns more than {peak:.1f} deg from its first view and shows no parallax: it is inactive."
        where = self.turnaround
        share = f"{100 * self.overlap[where]:.0f} % of it in sight"
        turn = f"{self.angle_deg[where]:.0f} deg at {self.seconds[where]:.1f} s, with {share}"
        if not self.departed:
            return f"The camera does not leave the first view: its farthest turn is {turn}."
        back = self.back_at
        if back is None:
            last = f"at the end {100 * self.overlap[-1]:.0f} % of it are in sight"
            return f"The camera leaves the first view ({turn}) and does not come back: {last}."
        best = back + int(np.argmax(self.overlap[back:]))
        seen = f"{100 * self.overlap[best]:.0f} % of it in sight at {self.seconds[best]:.1f} s"
        return f"The camera leaves the first view ({turn}) and comes back from {self.seconds[back]:.1f} s on ({seen})."


def camera_path(
    c2w: NDArray[np.float64],
    intrinsics: NDArray[np.float64],
    size: tuple[int, int],
    seconds: NDArray[np.float64],
    confidence: NDArray[np.floating],
    has_translation: NDArray[np.bool_],
) -> CameraPath:
    """The path of a pose artifact; `size` is (width, height) of the video the intrinsics belong to."""
    if len(c2w) < 3:
        raise NotScorable(Reason.TOO_SHORT, f"{len(c2w)} poses, at least 3 are needed to depart and return")
    relative = relative_to_first(c2w)
    angle = rotation_angle_deg(np.eye(3), relative[:, :3, :3])
    overlap = view_overlap(relative[:, :3, :3], np.asarray(intrinsics, np.float64), size)
    extent = float(np.linalg.norm(relative[:, :3, 3], axis=1).max())
    moved = bool(np.mean(has_translation) > MOVING_SHARE and extent > STATIC_TRANSLATION)
    return CameraPath(np.asarray(seconds, np.float64), angle, overlap, moved, float(np.mean(confidence)))


def view_overlap(rotation: NDArray[np.float64], intrinsics: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.float64]:
    """Share of the first image's pixels whose viewing ray falls inside each later image.

    `rotation` (N,3,3) turns camera t's axes into camera 0's. Exact for a camera that only turns; for one that also moves it is the
    share seen of what is far away.
    """
    width, height = size
    u, v = np.meshgrid((np.arange(GRID) + 0.5) * width / GRID, (np.arange(GRID) + 0.5) * height / GRID)
    pixels = np.stack([u.ravel(), v.ravel(), np.ones(GRID * GRID)])
    camera = np.broadcast_to(intrinsics, (len(rotation), 3, 3)) if intrinsics.ndim == 2 else intrinsics
    rays = np.linalg.inv(camera[0]) @ pixels
    seen = camera @ (np.swapaxes(rotation, 1, 2) @ rays)  # (N,3,P)
    ahead = seen[:, 2] > 1e-9
    depth = np.where(ahead, seen[:, 2], 1.0)
    x, y = seen[:, 0] / depth, seen[:, 1] / depth
    inside = ahead & (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return inside.mean(axis=1)
