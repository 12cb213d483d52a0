"""What a camera path does: MemoBench's trajectory classes (table S2), and whether its first view is left and seen again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookback.camera.poses import Poses, pitch_deg, relative_to_first, signed_peak, turned_yaw_deg

# The paper names the classes but not their limits; these are ours.
TURN_DEG = 5.0  # a smaller turn is hand shake or estimation noise
TRAVEL_UNITS = 0.05  # WRBench's limit of a static camera
U_TURN_DEG = 120.0  # from this angle on the camera looks back
RETURN_SHARE = 0.5  # a head turn ends at less than this share of its peak
CLASSES = ("Static", "Pan L->R", "Pan R->L", "Tilt U->D", "Tilt D->U", "U-turn", "Forward", "Head turn", "Vertical", "Sideways")


def trajectory_class(c2w: Poses, observer: bool = False) -> str:
    """One of CLASSES.

    A fixed camera pans (LR: left first, then back; a negative yaw peak, as in WRBench) or tilts. An `observer` who walks
    (MemoBench's synthetic clips) makes a U-turn, turns the head and back, looks or moves vertically, or else walks forward,
    curves included.
    """
    yaw, pitch = turned_yaw_deg(c2w), pitch_deg(c2w)
    if np.abs(yaw).max() >= U_TURN_DEG:
        return "U-turn"
    yaw_range, pitch_range = float(np.ptp(yaw)), float(np.ptp(pitch))
    if max(yaw_range, pitch_range) < TURN_DEG:
        return _travel_class(c2w)
    if observer:
        return _observer_class(c2w, yaw, pitch_range > yaw_range)
    if pitch_range > yaw_range:
        return "Tilt U->D" if signed_peak(pitch) > 0 else "Tilt D->U"
    return "Pan L->R" if signed_peak(yaw) < 0 else "Pan R->L"


def _travel_class(c2w: Poses) -> str:
    extent = np.abs(relative_to_first(c2w)[:, :3, 3]).max(axis=0)
    if extent.max() <= TRAVEL_UNITS:
        return "Static"
    return ("Sideways", "Vertical", "Forward")[int(np.argmax(extent))]


def _observer_class(c2w: Poses, yaw: NDArray[np.float64], looks_vertically: bool) -> str:
    extent = np.abs(relative_to_first(c2w)[:, :3, 3]).max(axis=0)
    if looks_vertically or (extent[1] > TRAVEL_UNITS and extent[1] == extent.max()):
        return "Vertical"
    returns = abs(yaw[-1]) <= RETURN_SHARE * abs(signed_peak(yaw))
    return "Head turn" if returns or extent.max() <= TRAVEL_UNITS else "Forward"


@dataclass(frozen=True)
class Challenge:
    """The memory challenge of a clip: the view is left and seen again after `gap_frames`. None: unknown."""

    departs: bool | None
    returns: bool | None
    gap_frames: int | None


UNKNOWN = Challenge(None, None, None)


def challenge_from_visibility(visible: NDArray[np.bool_]) -> Challenge:
    """The challenge of a visibility timeline (from masks, or from a camera path): seen, then not, then seen again.

    The gap is the longest absence that ends with a return; without a return, the absence up to the end.
    """
    seen = np.flatnonzero(visible)
    if len(seen) == 0:
        return UNKNOWN
    timeline = visible[seen[0] :]
    if timeline.all():
        return Challenge(False, False, 0)
    edges = np.flatnonzero(np.diff(np.concatenate([[True], timeline, [True]]).astype(np.int8)))
    absences = [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    returned = [end - start for start, end in absences if end < len(timeline)]
    if returned:
        return Challenge(True, True, int(max(returned)))
    return Challenge(True, False, int(len(timeline) - absences[-1][0]))


def challenge_from_path(c2w: Poses, fov_deg: tuple[float, float]) -> Challenge:
    """Whether the middle of the first view leaves the picture and comes back, by the camera's rotation.

    The first view's middle is outside where |yaw| > fov_x / 2 or |pitch| > fov_y / 2; a full turn shows it again. How far a camera
    must travel to lose a view depends on the depth of the scene, so a path that only travels is unknown.
    """
    yaw, pitch = (turned_yaw_deg(c2w) + 180.0) % 360.0 - 180.0, pitch_deg(c2w)
    inside = (np.abs(yaw) <= fov_deg[0] / 2) & (np.abs(pitch) <= fov_deg[1] / 2)
    if inside.all() and np.abs(relative_to_first(c2w)[:, :3, 3]).max() > TRAVEL_UNITS:
        return UNKNOWN
    return challenge_from_visibility(inside)
