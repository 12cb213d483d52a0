"""The subject of a clip that names none: the foreground object of the first frame.

MobileSAM cuts out what lies at a grid of points. An object is a likely subject when it has a usual size, lies whole and near the
middle of the picture, differs in colour from what is around it, and moves on its own in the first second. When no object stands
out, there is no proposal.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from lookback.artifacts.masks import bounds, working_size
from lookback.backends.masks.classical.colours import colour_index, histogram
from lookback.backends.masks.classical.motion import background_motion, sources
from lookback.backends.masks.segmenter import WEIGHTS, Cut, Segmenter, objects
from lookback.weights import locate

WORKING_SIDE = 256
USUAL_AREA = 0.06
RING = 9  # pixels around an object that are compared with it
MOTION_PX = 1.0  # motion on its own, per frame at the working size, that counts fully
PAIRS = 3  # frame pairs of the first second
ACCEPT = 0.45


@dataclass(frozen=True)
class Proposal:
    """A subject in the first frame. The box is (x0, y0, x1, y1) in shares of the picture."""

    box: tuple[float, float, float, float]
    score: float  # from 0 to 1
    mask: np.ndarray  # (h,w) at a working size
    why: dict[str, float]  # the parts of the score


def propose_subject(frames: np.ndarray, segmenter: Segmenter | None = None) -> Proposal | None:
    """The foreground object of frame 0 of frames uint8 (n,H,W,3), about the first second; None when no object stands out.

    BackendUnavailable when MobileSAM's weights are not in the cache.
    """
    segmenter = segmenter or Segmenter(locate(WEIGHTS))
    size = working_size(frames.shape[1], frames.shape[2], WORKING_SIDE)
    small = np.stack([cv2.resize(frame, size[::-1], interpolation=cv2.INTER_AREA) for frame in frames])
    moving = own_motion(small)
    index = colour_index(small[0])
    proposals = [_rated(cut, index, moving) for cut in objects(segmenter, frames[0], size)]
    best = max(proposals, key=lambda proposal: proposal.score, default=None)
    return best if best is not None and best.score >= ACCEPT else None


def own_motion(small: np.ndarray) -> np.ndarray:
    """How far each pixel of the first frame moves relative to the background (h,w), in pixels a frame."""
    grey = [cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in small]
    nothing = np.zeros(grey[0].shape, bool)
    moved = [np.zeros(grey[0].shape, np.float32)]
    for other in np.unique(np.linspace(0, len(small) - 1, PAIRS + 1).astype(int))[1:]:
        motion = background_motion(grey[0], grey[other], nothing)
        places = sources(grey[other], grey[0], None if motion is None else np.linalg.inv(motion))
        y, x = np.mgrid[: places.shape[0], : places.shape[1]].astype(np.float32)
        rest = np.stack([x, y], -1)
        expected = rest if motion is None else cv2.perspectiveTransform(rest, motion)
        moved.append(np.linalg.norm(places - expected, axis=2) / other)
    return np.median(np.stack(moved[1:] or moved), 0)


def _rated(cut: Cut, index: np.ndarray, moving: np.ndarray) -> Proposal:
    height, width = cut.mask.shape
    x0, y0, x1, y1 = bounds(cut.mask) or (0, 0, width, height)
    away = np.array([(x0 + x1) / 2 / width - 0.5, (y0 + y1) / 2 / height - 0.5])
    ring = cv2.dilate(cut.mask.astype(np.uint8), np.ones((2 * RING + 1, 2 * RING + 1), np.uint8)).astype(bool) & ~cut.mask
    alike = float(np.sqrt(histogram(index, cut.mask) * histogram(index, ring)).sum()) if ring.any() else 1.0
    inside = float(np.median(moving[cut.mask]))
    outside = float(np.median(moving[ring])) if ring.any() else inside
    sides = (x0 == 0) + (y0 == 0) + (x1 == width) + 0.5 * (y1 == height)  # a subject is often cut by the lower border
    why = {
        "guess": cut.score,
        "central": float(np.exp(-4 * (away**2).sum())),
        "size": float(np.exp(-((np.log(cut.mask.mean() / USUAL_AREA) / 1.6) ** 2) / 2)),
        "whole": float(0.5**sides),
        "contrast": 1 - alike,
        "motion": float(np.clip((inside - outside) / MOTION_PX, 0, 1)),
    }
    score = (
        why["guess"] * why["whole"] * (0.25 * why["central"] + 0.25 * why["size"] + 0.25 * why["contrast"] + 0.25 * why["motion"])
    )
    score += 0.25 * why["guess"] * why["whole"] * (1 - why["motion"]) * why["contrast"]  # a still object must stand out by colour
    return Proposal((x0 / width, y0 / height, x1 / width, y1 / height), float(min(1.0, score)), cut.mask, why)
