"""GrabCut (Rother et al. 2004) from a box in the first frame, and in a narrow band around a predicted mask later on."""

from __future__ import annotations

import cv2
import numpy as np

from lookback.artifacts.masks import bounds
from lookback.backends.masks.classical.colours import colour_index, histogram

SURROUNDINGS = 30  # pixels around the box that the cut sees
BAND = 3  # pixels to either side of a predicted outline that a cut may change
ROUNDS = 5  # of re-estimating the box's colour histograms
COLOUR_WEIGHT, MAX_LOG_RATIO = 1.5, 3.0
CENTRE, CORNER = 0.7, 0.35  # chance that a pixel of the box belongs to the object: at its centre, in its corners
SURE, IMPOSSIBLE = 0.8, 0.03
Models = tuple[np.ndarray, np.ndarray]  # GrabCut's colour models of background and object


def cut_in_box(image: np.ndarray, box: np.ndarray, seed: int) -> np.ndarray:
    """The object's mask inside a box (x0, y0, x1, y1) of an RGB picture; all of the box when nothing can be told apart."""
    height, width = image.shape[:2]
    x0, y0, x1, y1 = (int(v) for v in np.round(box))
    inside = np.zeros((height, width), bool)
    inside[y0:y1, x0:x1] = True
    chance = _object_chance(image, inside, (x0, y0, x1, y1))
    labels = np.where(inside, cv2.GC_PR_BGD, cv2.GC_BGD).astype(np.uint8)
    labels[chance > 0.5], labels[chance > SURE], labels[chance < IMPOSSIBLE] = cv2.GC_PR_FGD, cv2.GC_FGD, cv2.GC_BGD
    crop = _around((x0, y0, x1, y1), SURROUNDINGS, image.shape)
    mask = np.zeros((height, width), bool)
    mask[crop], _ = _cut(image[crop], labels[crop], 2, seed)
    mask = main_part(cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)).astype(bool))
    return mask if mask.sum() >= 0.1 * inside.sum() else inside


class BandCut:
    """Moves a predicted outline to the picture's edges, by at most BAND pixels; its colour models go on from frame to frame."""

    def __init__(self, seed: int):
        self.seed = seed
        self.models: Models | None = None

    def __call__(self, image: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        around = bounds(predicted)
        if around is None:
            return predicted
        crop = _around(around, 4 * BAND, image.shape)
        part = predicted[crop].astype(np.uint8)
        kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * BAND + 1, 2 * BAND + 1))
        sure, possible = cv2.erode(part, kernel, borderValue=1), cv2.dilate(part, kernel)
        labels = np.where(part > 0, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
        labels[possible == 0], labels[sure > 0] = cv2.GC_BGD, cv2.GC_FGD
        mask = np.zeros_like(predicted)
        mask[crop], self.models = _cut(image[crop], labels, 1, self.seed, self.models)
        return mask


def main_part(mask: np.ndarray) -> np.ndarray:
    """The largest connected part with its holes filled."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    if count < 2:
        return mask
    main = (labels == 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))).astype(np.uint8)
    outlines, _ = cv2.findContours(main, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return cv2.drawContours(main, outlines, -1, 1, -1).astype(bool)


def _object_chance(image: np.ndarray, inside: np.ndarray, box: tuple[int, int, int, int]) -> np.ndarray:
    """How likely each pixel is the object: its colour in the box against that around it, and its place in the box.

    GrabCut's five colours a side are too few for a bookshelf; histograms tell which colours only the box has.
    """
    x0, y0, x1, y1 = box
    index = colour_index(cv2.GaussianBlur(image, (0, 0), 0.7))
    y, x = np.ogrid[: image.shape[0], : image.shape[1]]
    radius = ((x - (x0 + x1) / 2) / (x1 - x0) * 2) ** 2 + ((y - (y0 + y1) / 2) / (y1 - y0) * 2) ** 2
    place = np.clip(CENTRE - (CENTRE - CORNER) * radius / 1.2, CORNER, CENTRE)
    chance = np.exp(-radius) * inside
    for _ in range(ROUNDS):
        fore, back = histogram(index, chance), histogram(index, 1 - chance)
        ratio = np.log((fore[index] + 1e-5) / (back[index] + 1e-5)).clip(-MAX_LOG_RATIO, MAX_LOG_RATIO).astype(np.float32)
        evidence = COLOUR_WEIGHT * cv2.GaussianBlur(ratio, (0, 0), 1.0) + np.log(place / (1 - place))
        chance = inside / (1 + np.exp(-evidence))
    return np.asarray(chance)


def _cut(
    image: np.ndarray, labels: np.ndarray, iterations: int, seed: int, models: Models | None = None
) -> tuple[np.ndarray, Models | None]:
    """GrabCut where both sides have enough pixels for a colour model, else the labels as they are; and the colour models."""
    image, labels = np.ascontiguousarray(image), np.ascontiguousarray(labels)
    fore = np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD))
    if min(fore.sum(), (~fore).sum()) < 20:
        return fore, None
    how = cv2.GC_INIT_WITH_MASK if models is None else cv2.GC_EVAL
    back, front = (np.zeros((1, 65)), np.zeros((1, 65))) if models is None else models
    cv2.setRNGSeed(seed)  # the clustering of the colour models starts at random
    cv2.grabCut(image, labels, (0, 0, 1, 1), back, front, iterations, how)
    return np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD)), (back, front)


def _around(box: tuple[int, int, int, int], margin: int, shape: tuple[int, ...]) -> tuple[slice, slice]:
    x0, y0, x1, y1 = box
    rows = slice(max(0, y0 - margin), min(shape[0], y1 + margin))
    return rows, slice(max(0, x0 - margin), min(shape[1], x1 + margin))
