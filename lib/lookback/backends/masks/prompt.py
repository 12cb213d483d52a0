"""What tells the mask backends which object is meant: the clip's anchor in the first frame."""

from __future__ import annotations

import numpy as np

from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo

MIN_SIDE = 4  # video pixels


def anchor_box(clip: Clip, info: VideoInfo) -> np.ndarray | None:
    """The anchor as (x0, y0, x1, y1) in video pixels, cut at the picture's border; None when the clip has none."""
    anchor = clip.object_anchor
    if anchor is None:
        return None
    half = np.array([anchor.width, anchor.height]) / 2
    centre = np.array([anchor.centre_x, anchor.centre_y])
    box = np.concatenate([centre - half, centre + half]).clip(0, np.tile([info.width, info.height], 2))
    if (box[2:] - box[:2] < MIN_SIDE).any():
        raise NotScorable(
            Reason.INVALID_INPUT,
            f"the object anchor lies outside the first frame ({info.width} x {info.height}) or is smaller than {MIN_SIDE} pixels",
        )
    return box
