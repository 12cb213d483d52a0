"""Artifacts for tests that care about a few of their arrays: the rest is filled in plainly."""

from __future__ import annotations

from typing import Any

import numpy as np
from lookback.artifacts import FaceTracks, Masks, People, PoseTrack
from lookback.artifacts.masks import pack_masks


def poses(c2w: np.ndarray, **given: Any) -> PoseTrack:
    """A camera path; unless told otherwise one pose per frame, all observed."""
    n = len(c2w)
    plain = {
        "frame_index": np.arange(n),
        "intrinsics": np.tile(np.eye(3), (n, 1, 1)),
        "confidence": np.ones(n),
        "has_translation": np.ones(n, bool),
    }
    return PoseTrack(**{**plain, "c2w": c2w, **given})


def masks(shown: np.ndarray, **given: Any) -> Masks:
    """Masks (N,H,W); unless told otherwise one per frame, in view where they are not empty."""
    return Masks(**{**_plain(shown), **given})


def people(shown: np.ndarray, track: np.ndarray, **given: Any) -> People:
    return People(**{**_plain(shown), "track": track, **given})


def _plain(shown: np.ndarray) -> dict[str, Any]:
    return {
        "frame_index": np.arange(len(shown)),
        "packed": pack_masks(shown),
        "boxes": np.full((len(shown), 4), np.nan),
        "area": shown.mean((1, 2)),
        "state": shown.any((1, 2)).astype(np.int8),
        "confidence": np.ones(len(shown)),
        "shape": shown.shape,
    }


def faces(frame: np.ndarray, box: np.ndarray, track: np.ndarray, **given: Any) -> FaceTracks:
    count = len(frame)
    plain = {"landmarks": np.zeros((count, 5, 2)), "score": np.full(count, 0.8), "embedding": np.ones((count, 4))}
    return FaceTracks(**{**plain, "frame": frame, "box": box, "track": track, **given})
