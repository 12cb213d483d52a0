"""MobileSAM as the embedded segmenter: cut an object out of a frame by its box, or all objects by a grid of points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np

from lookback.artifacts.masks import bounds
from lookback.backends.runtime import loaded_once

if TYPE_CHECKING:
    from lookback.networks.mobile_sam import MobileSam

WEIGHTS = "mobile-sam"
MODULES = ("torch", "transformers", "timm")
SIDE = 512  # encoder pixels on the longer side of what is cut: a crop of the frame, or the frame for a grid of points
AROUND = 0.75  # the crop reaches this share of the box's longer side beyond the box
MIN_CROP = 96  # pixels
BOX_WEIGHT = 0.5  # of how well a mask fills the prompt's box, beside the network's guess
GRID = (7, 11)  # points down and across
MIN_GUESS = 0.8  # the network's guess of the overlap
SAME = 0.7  # overlap from which two masks show the same object
AREA = (0.002, 0.45)  # share of the picture
COMPACT = 0.35  # share of its box that an object fills


@dataclass(frozen=True)
class Cut:
    """A mask (h,w) at the wanted size, and the network's own guess of how well it overlaps the object, from 0 to 1."""

    mask: np.ndarray
    score: float


class Segmenter:
    """Cuts objects out of frames of the video's size."""

    def __init__(self, path: Path, device: str = "cpu"):
        self.network = _network(path, device)

    def in_boxes(self, frame: np.ndarray, boxes: np.ndarray, size: tuple[int, int], points: np.ndarray | None = None) -> list[Cut]:
        """The object in each box (k,4), in pixels of the frame; the masks have (height, width) `size`. One crop holds all boxes.

        A point (k,2) inside each box lies on the object, by default the middle. A box alone often gives the background in it. Of
        the network's three masks, the surest that fills the box counts.
        """
        x0, y0, x1, y1 = _crop(frame.shape, boxes)
        picture = self.network.encode(np.ascontiguousarray(frame[y0:y1, x0:x1]), SIDE)
        inside = (boxes[:, :2] + boxes[:, 2:]) / 2 if points is None else points
        shown = boxes - np.tile([x0, y0], 2)
        logits, scores = self.network.masks(picture, shown, inside - [x0, y0], several=True)
        cuts = []
        for box, three, guess in zip(shown, logits, scores, strict=True):
            fills = [_fills(logit > 0, box * logit.shape[1] / (x1 - x0)) for logit in three]
            best = int(np.argmax(guess + BOX_WEIGHT * np.array(fills)))
            whole = np.full(frame.shape[:2], -1.0, np.float32)
            whole[y0:y1, x0:x1] = cv2.resize(three[best], (x1 - x0, y1 - y0), interpolation=cv2.INTER_LINEAR)
            mask = cv2.resize(whole.clip(-1, 1), size[::-1], interpolation=cv2.INTER_AREA) > 0
            cuts.append(Cut(mask, float(np.clip(guess[best], 0, 1))))
        return cuts

    def at_points(self, frame: np.ndarray, points: np.ndarray, size: tuple[int, int]) -> list[Cut]:
        """Up to three objects for each point (k,2) in pixels of the frame: from the part to the whole."""
        picture = self.network.encode(frame, SIDE)
        logits, scores = self.network.masks(picture, points=points, several=True)
        flat, guess = logits.reshape(-1, *logits.shape[2:]), scores.reshape(-1).clip(0, 1)
        return [
            Cut(cv2.resize(logit, size[::-1], interpolation=cv2.INTER_LINEAR) > 0, float(score))
            for logit, score in zip(flat, guess, strict=True)
        ]


def objects(segmenter: Segmenter, frame: np.ndarray, size: tuple[int, int], grid: tuple[int, int] = GRID) -> list[Cut]:
    """Different objects of a frame, the surest first."""
    height, width = frame.shape[:2]
    down, across = ((np.arange(count) + 0.5) / count for count in grid)
    y, x = np.meshgrid(down * height, across * width, indexing="ij")
    cuts = segmenter.at_points(frame, np.stack([x.ravel(), y.ravel()], 1), size)
    kept: list[Cut] = []
    for cut in sorted(cuts, key=lambda cut: -cut.score):
        around = bounds(cut.mask)
        if cut.score < MIN_GUESS or around is None or not AREA[0] < cut.mask.mean() < AREA[1]:
            continue
        box_area = (around[2] - around[0]) * (around[3] - around[1])
        if cut.mask.sum() >= COMPACT * box_area and all(overlap(cut.mask, other.mask) < SAME for other in kept):
            kept.append(cut)
    return kept


def _fills(mask: np.ndarray, box: np.ndarray) -> float:
    """Intersection over union of the box around a mask and the prompt's box."""
    around = bounds(mask)
    if around is None:
        return 0.0
    found = np.array(around, np.float64)
    both = np.clip(np.minimum(found[2:], box[2:]) - np.maximum(found[:2], box[:2]), 0, None).prod()
    return float(both / ((found[2:] - found[:2]).prod() + (box[2:] - box[:2]).prod() - both))


def _crop(shape: tuple[int, ...], boxes: np.ndarray) -> tuple[int, int, int, int]:
    """The part of the frame around all boxes that the network sees."""
    low, high = boxes[:, :2].min(0), boxes[:, 2:].max(0)
    reach = max(AROUND * float((high - low).max()), (MIN_CROP - float((high - low).max())) / 2)
    x0, y0 = np.floor(low - reach).clip(0).astype(int)
    x1, y1 = np.ceil(np.minimum(high + reach, [shape[1], shape[0]])).astype(int)
    return int(x0), int(y0), int(x1), int(y1)


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Intersection over union of two masks; 0 when both are empty."""
    union = int((one | other).sum())
    return float((one & other).sum() / union) if union else 0.0


def box_of(mask: np.ndarray, scale: np.ndarray) -> np.ndarray | None:
    """The box around a small mask, in pixels of the video; None when it is empty."""
    around = bounds(mask)
    return None if around is None else np.array(around) * scale


@loaded_once(1)
def _network(path: Path, device: str) -> MobileSam:
    from lookback.networks.mobile_sam import load_mobile_sam

    return load_mobile_sam(path, device)
