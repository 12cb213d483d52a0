"""The demo world's truth as evidence: the camera that filmed, and what could be seen of the subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.judging.geometry import FRAGMENT, CameraPath, Visibility, camera_path
from lookback.paths import resolve

SEEN = 0.05  # share of the outline from which the demo world counts its subject as in view


def true_evidence(clip: Clip, truth: Mapping[str, Any]) -> tuple[CameraPath, Visibility]:
    """Camera path and visibility from the clip's truth record (npz with c2w, intrinsics, visibility)."""
    if clip.fps is None or not clip.width or not clip.height:
        raise NotScorable(Reason.MISSING_INPUT, "the clip carries no frame rate or size")
    try:
        with np.load(resolve(truth["record"]), allow_pickle=False) as record:
            c2w, intrinsics, share = record["c2w"], record["intrinsics"], np.asarray(record["visibility"], np.float64)
    except (OSError, KeyError, ValueError) as error:
        raise NotScorable(Reason.MISSING_INPUT, f"the truth record {truth['record']} cannot be read ({error})") from None
    seconds = np.arange(len(share)) / clip.fps
    sure = np.ones(len(c2w))
    camera = camera_path(c2w, intrinsics, (clip.width, clip.height), seconds[: len(c2w)], sure, sure.astype(bool))
    visible = share >= SEEN
    cut = visible & (share < 0.9)
    subject = Visibility(seconds, visible, share >= FRAGMENT, share, cut, 1.0, 1 / clip.fps)
    return camera, subject
