"""The subject of a clip that names none: the foreground object of the first frame.

MobileSAM cuts out what lies at a grid of points. An object is a likely subject when it has a usual size, lies whole and near the
middle of the picture, differs in colour from what is around it, moves on its own in the first second, is not a part of another
object, and looks like a thing rather than a surface: an ImageNet classifier (EfficientNet-Lite0) is sure of a class. When no object
stands out, there is no proposal.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np

from lookback.artifacts.masks import bounds, working_size
from lookback.backends.features.encoders import LITE
from lookback.backends.masks.classical.colours import colour_index, histogram
from lookback.backends.masks.classical.motion import background_motion, sources
from lookback.backends.masks.segmenter import WEIGHTS, Cut, Segmenter, objects
from lookback.backends.runtime import loaded_once
from lookback.weights import locate

if TYPE_CHECKING:
    from lookback.networks.efficientnet_lite0 import EfficientNetLite0

WORKING_SIDE = 256
USUAL_AREA = 0.06
RING = 9  # pixels around an object that are compared with it
MOTION_PX = 1.0  # motion on its own, per frame at the working size, that counts fully
PAIRS = 3  # frame pairs of the first second
MOST = 16  # objects that are rated
CONTEXT, CROP_SIDE, TOP_CLASSES = 0.1, 160, 3  # of what the classifier sees, and how many classes may share its belief
LARGER = 1.3  # factor of the area from which another object may be the whole of a part
PART_WEIGHT = 0.4
WEIGHT = {"central": 0.15, "size": 0.15, "contrast": 0.15, "motion": 0.2, "thing": 0.35}
ACCEPT = 0.35


@dataclass(frozen=True)
class Proposal:
    """A subject in the first frame. The box is (x0, y0, x1, y1) in shares of the picture."""

    box: tuple[float, float, float, float]
    score: float  # from 0 to 1
    mask: np.ndarray  # (h,w) at a working size
    why: dict[str, float]  # the parts of the score


def propose_subject(frames: np.ndarray) -> Proposal | None:
    """The foreground object of frame 0 of frames uint8 (n,H,W,3), about the first second; None when no object stands out.

    BackendUnavailable when the weights of MobileSAM or EfficientNet-Lite0 are not in the cache.
    """
    segmenter = Segmenter(locate(WEIGHTS))
    size = working_size(frames.shape[1], frames.shape[2], WORKING_SIDE)
    small = np.stack([cv2.resize(frame, size[::-1], interpolation=cv2.INTER_AREA) for frame in frames])
    cuts = objects(segmenter, frames[0], size)[:MOST]
    if not cuts:
        return None
    moving, index, things = own_motion(small), colour_index(small[0]), thing_chances(frames[0], [cut.mask for cut in cuts])
    proposals = []
    for cut, thing in zip(cuts, things, strict=True):
        part = max((_inside(cut.mask, other.mask) for other in cuts if other is not cut), default=0.0)
        proposals.append(_rated(cut, index, moving, float(thing), part))
    best = max(proposals, key=lambda proposal: proposal.score)
    return best if best.score >= ACCEPT else None


def thing_chances(frame: np.ndarray, masks: list[np.ndarray]) -> np.ndarray:
    """How sure the classifier is of a few classes in the box of each mask, from 0 to 1."""
    import torch

    network, crops = _classifier(locate(LITE)), []
    for mask in masks:
        x0, y0, x1, y1 = np.array(bounds(mask)) * np.tile([frame.shape[1] / mask.shape[1], frame.shape[0] / mask.shape[0]], 2)
        reach = CONTEXT * max(x1 - x0, y1 - y0)
        rows, columns = slice(int(max(0, y0 - reach)), int(y1 + reach) + 1), slice(int(max(0, x0 - reach)), int(x1 + reach) + 1)
        crops.append(cv2.resize(frame[rows, columns], (CROP_SIDE, CROP_SIDE), interpolation=cv2.INTER_AREA))
    pixels = torch.from_numpy((np.stack(crops).astype(np.float32) - 127) / 128).permute(0, 3, 1, 2)
    with torch.inference_mode():
        return np.asarray(network(pixels).softmax(1).topk(TOP_CLASSES).values.sum(1).numpy())


@loaded_once(1)
def _classifier(path: Path) -> EfficientNetLite0:
    from lookback.networks.efficientnet_lite0 import load

    return load(path)


def _inside(mask: np.ndarray, other: np.ndarray) -> float:
    """The share of a mask that lies inside another, clearly larger one."""
    return float((mask & other).sum() / mask.sum()) if other.sum() > LARGER * mask.sum() else 0.0


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


def _rated(cut: Cut, index: np.ndarray, moving: np.ndarray, thing: float, part: float) -> Proposal:
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
        "thing": thing,
        "part": part,
    }
    score = why["guess"] * why["whole"] * (1 - PART_WEIGHT * part) * sum(weight * why[name] for name, weight in WEIGHT.items())
    return Proposal((x0 / width, y0 / height, x1 / width, y1 / height), float(min(1.0, score)), cut.mask, why)
