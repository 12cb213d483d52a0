"""The written rules: each names a failure, says when it holds, and points to the frames.

Only what camera path, masks and shots can show is labelled here. A rule that lacks its evidence says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lookback.forensics.evidence import Evidence

MOVES_DEG = 10.0  # a request below this asks for no motion
INACTIVE_SHARE = 0.25  # of the requested turn
BACK_DEG = 8.0  # a camera within this of its first orientation has returned
DIRECTION_DEG = 5.0  # a smaller peak has no direction
LAST_SHARE = 0.15  # of the clip: where the subject should be back


@dataclass(frozen=True)
class Finding:
    """A failure, how sure the rule is, and where to look."""

    label: str
    confidence: float
    frame_start: int
    frame_end: int
    evidence: str


@dataclass(frozen=True)
class Rule:
    """A failure's rule in words and in code."""

    label: str
    when: str
    find: Callable[[Evidence], Finding | None]


def camera_inactivity(seen: Evidence) -> Finding | None:
    if seen.path is None or seen.requested is None or seen.requested.farthest < MOVES_DEG:
        return None
    share = seen.path.farthest / seen.requested.farthest
    if share >= INACTIVE_SHARE:
        return None
    words = f"the camera turned {seen.path.farthest:.1f} of {seen.requested.farthest:.1f} deg"
    return Finding("camera_inactivity", 1.0 - share / INACTIVE_SHARE, int(seen.path.frames[0]), int(seen.path.frames[-1]), words)


def wrong_direction(seen: Evidence) -> Finding | None:
    if seen.path is None or seen.requested is None:
        return None
    made, wanted = (path.yaw[np.abs(path.yaw).argmax()] for path in (seen.path, seen.requested))
    if abs(wanted) < MOVES_DEG or abs(made) < DIRECTION_DEG or np.sign(made) == np.sign(wanted):
        return None
    frame = int(seen.path.frames[np.abs(seen.path.yaw).argmax()])
    words = f"yaw peaks at {made:.1f}, asked {wanted:.1f} deg"
    return Finding("wrong_direction", float(min(1.0, abs(made) / abs(wanted))), frame, frame, words)


def object_vanishes(seen: Evidence) -> Finding | None:
    """In view at the start, and out of view at the end although the camera is back."""
    if seen.path is None or seen.state is None or seen.frames is None or not (seen.state[:3] == 1).any():
        return None
    if seen.path.farthest < MOVES_DEG or seen.path.away[-1] > BACK_DEG:
        return None
    last = max(1, round(LAST_SHARE * len(seen.state)))
    gone = float((seen.state[-last:] == 0).mean())
    if gone < 0.5:
        return None
    words = (
        f"the camera is back within {seen.path.away[-1]:.1f} deg, the subject is missing in {gone:.0%} of the last {last} frames"
    )
    return Finding("object_vanishes", gone, int(seen.frames[-last]), int(seen.frames[-1]), words)


def cut(seen: Evidence) -> Finding | None:
    if seen.cuts < 1:
        return None
    return Finding("cut", 1.0, 0, int((seen.clip.n_frames or 1) - 1), f"{seen.cuts} hard cut(s)")


RULES = (
    Rule(
        "camera_inactivity",
        f"the camera turns less than {INACTIVE_SHARE:.0%} of a requested turn of {MOVES_DEG:g} deg or more",
        camera_inactivity,
    ),
    Rule("wrong_direction", f"the yaw peaks on the other side than requested, by {DIRECTION_DEG:g} deg or more", wrong_direction),
    Rule(
        "object_vanishes",
        f"the camera is back within {BACK_DEG:g} deg and the subject is missing in most of the last {LAST_SHARE:.0%} of the frames",
        object_vanishes,
    ),
    Rule("cut", "the clip holds a hard cut", cut),
)
