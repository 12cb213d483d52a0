"""What a clip shows over time, frame by frame, against its own start and against its ground truth at the same moment.

Every curve has one value per looked-at frame (every second one). Pictures are shrunk to one size first, so that a sharper or
larger video does not look like another style. No mask, pose or prompt is read here: this evidence exists for every clip.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.measures.inverse_search import FAST_MIN_HEIGHT
from lookback.media import open_video

Picture = NDArray[np.uint8]
Curve = NDArray[np.float64]

WIDTH = 320  # of the looked-at pictures
STEP = 2  # frames between two looked-at pictures
GRID = (8, 6)  # cells in which tracks start, so that one textured thing does not outvote the rest
PER_CELL = 6
MIN_TRACKS = 12  # with fewer, nothing is known about the camera
TRACK_ERROR = 1.5  # pixels: a track within this distance follows the camera
STILL = 0.25  # pixels: a track that moves less stands still in the picture
MOVES = 0.6  # pixels: below this the whole picture stands still
RATIO = 0.8  # Lowe's ratio for matches with the first frame
APART = 0.1  # difference in [0,1] from which a pixel counts as unexplained
RESIDUAL = 0.01  # of the width: a pixel that moves this much on its own moves by itself
BINS = 8  # per channel of the colour palettes
NAMES = (
    "step", "pan", "tilt", "zoom", "rigid", "own_motion", "unexplained", "first_match", "detail", "saturation", "light",
    "palette", "block_noise",
)  # fmt: skip
TRUTH_NAMES = ("truth_match", "truth_palette")


@dataclass(frozen=True)
class Motion:
    """The camera's motion between two pictures (a similarity), and the share of tracks that follow it."""

    matrix: NDArray[np.float64]  # (2,3)
    rigid: float

    def shift(self, width: int, height: int) -> Curve:
        """How far the centre of the picture moves, as a share of the width."""
        centre = np.array([width / 2, height / 2, 1.0])
        return np.asarray((self.matrix @ centre - centre[:2]) / width, np.float64)

    @property
    def scale(self) -> float:
        return float(np.hypot(self.matrix[0, 0], self.matrix[1, 0]))

    def corner_move(self, width: int, height: int) -> float:
        """How far the corners move on average, as a share of the width."""
        corners = np.array([[0, 0, 1], [width, 0, 1], [0, height, 1], [width, height, 1]], np.float64)
        return float(np.linalg.norm(corners @ self.matrix.T - corners[:, :2], axis=1).mean() / width)


def read_small(video: Path, step: int = STEP) -> list[Picture]:
    """Every `step`-th frame at one width."""
    pictures = []
    with open_video(video) as reader:
        height = max(2, round(reader.info.height * WIDTH / reader.info.width))
        for number, frame in reader:
            if number % step == 0:
                pictures.append(np.asarray(cv2.resize(frame, (WIDTH, height), interpolation=cv2.INTER_AREA), np.uint8))
    return pictures


def curves(video: Path, truth: Path | None = None) -> dict[str, list[float]]:
    """All curves of a clip by name; NaN where a value could not be taken."""
    pictures = read_small(video)
    found = {name: [float("nan")] * len(pictures) for name in NAMES}
    if len(pictures) < 2:
        return found
    greys = [np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8) for picture in pictures]
    first = FirstView(greys[0])
    start = palette(pictures[0])
    for index, (picture, grey) in enumerate(zip(pictures, greys, strict=True)):
        values = {"first_match": first.share(grey), "palette": overlap(start, palette(picture)), **_look(picture, grey)}
        if index:
            values |= between(greys[index - 1], grey)
        for name, value in values.items():
            found[name][index] = value
    return found | (_against(pictures, greys, truth) if truth is not None else {})


def _look(picture: Picture, grey: Picture) -> dict[str, float]:
    """Fine detail, saturation, light, and how much of the detail is noise of single pixels."""
    laplacian = np.abs(cv2.Laplacian(grey.astype(np.float32), cv2.CV_32F))
    smooth = np.abs(cv2.Laplacian(cv2.GaussianBlur(grey.astype(np.float32), (0, 0), 1.5), cv2.CV_32F))
    top = picture.max(axis=2).astype(np.float32)
    saturation = (top - picture.min(axis=2)) / np.maximum(top, 13.0)
    return {
        "detail": float(laplacian.mean() / 255),
        "saturation": float(saturation.mean()),
        "light": float(grey.mean() / 255),
        "block_noise": float(laplacian.mean() / max(float(smooth.mean()), 1e-3)),
    }


class FirstView:
    """Finds again what the first picture showed."""

    def __init__(self, grey: Picture):
        self.sift = cv2.SIFT.create(nfeatures=400)
        self.points, self.descriptors = self.sift.detectAndCompute(grey, None)

    def share(self, grey: Picture) -> float:
        """The share of the first picture's points that are found again in one common arrangement (a homography)."""
        if self.descriptors is None or len(self.points) < MIN_TRACKS:
            return float("nan")
        points, descriptors = self.sift.detectAndCompute(grey, None)
        if descriptors is None or len(points) < 8:
            return 0.0
        pairs = cv2.BFMatcher().knnMatch(self.descriptors, descriptors, k=2)
        good = [pair[0] for pair in pairs if len(pair) == 2 and pair[0].distance < RATIO * pair[1].distance]
        if len(good) < 8:
            return 0.0
        before = np.array([self.points[match.queryIdx].pt for match in good], np.float32)
        after = np.array([points[match.trainIdx].pt for match in good], np.float32)
        _, inside = cv2.findHomography(before, after, cv2.RANSAC, 3.0)
        count = 0 if inside is None else int(inside.sum())
        return count / len(self.points) if count >= 8 else 0.0


def camera_motion(before: Picture, after: Picture) -> Motion | None:
    """The motion that most tracks share. Tracks that stand still while the rest moves are fixed to the camera and left out."""
    points = _corners(before)
    if len(points) < MIN_TRACKS:
        return None
    moved, ok, _ = cv2.calcOpticalFlowPyrLK(before, after, points, np.empty_like(points), winSize=(15, 15), maxLevel=4)
    back, ok_back, _ = cv2.calcOpticalFlowPyrLK(after, before, moved, np.empty_like(points), winSize=(15, 15), maxLevel=4)
    kept = (ok.ravel() == 1) & (ok_back.ravel() == 1) & (np.linalg.norm(back - points, axis=2).ravel() < 1.0)
    if kept.sum() < MIN_TRACKS:
        return None
    start, end = points[kept, 0], moved[kept, 0]
    length = np.linalg.norm(end - start, axis=1)
    fixed = length < STILL
    if np.median(length) > MOVES and (~fixed).sum() >= MIN_TRACKS:
        start, end = start[~fixed], end[~fixed]
    matrix, inside = cv2.estimateAffinePartial2D(start, end, method=cv2.RANSAC, ransacReprojThreshold=TRACK_ERROR)
    if matrix is None:
        return None
    return Motion(np.asarray(matrix, np.float64), float(inside.sum()) / len(points))


def _corners(grey: Picture) -> NDArray[np.float32]:
    rows, columns = np.linspace(0, grey.shape[0], GRID[1] + 1, dtype=int), np.linspace(0, grey.shape[1], GRID[0] + 1, dtype=int)
    found = []
    for top, bottom in pairwise(rows):
        for left, right in pairwise(columns):
            corners = cv2.goodFeaturesToTrack(grey[top:bottom, left:right], PER_CELL, 0.02, 5)
            if corners is not None:
                found.append(corners.reshape(-1, 2) + np.array([left, top], np.float32))
    return np.concatenate(found).astype(np.float32).reshape(-1, 1, 2) if found else np.empty((0, 1, 2), np.float32)


def between(before: Picture, after: Picture) -> dict[str, float]:
    """The camera's step, what moves on its own, and what no motion explains.

    The flow starts from the camera's motion: by itself it does not find steps of a tenth of the width, and a fast pan over a still
    picture would look like one that melts. Nothing is said of a very wide picture, which is lower than `FAST_MIN_HEIGHT`.
    """
    height, width = before.shape
    if height < FAST_MIN_HEIGHT:
        return {}
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    motion = camera_motion(before, after)
    camera = np.zeros((height, width, 2), np.float32)
    if motion is not None:
        camera = np.asarray(np.dstack([x, y, np.ones_like(x)]) @ motion.matrix.T - np.dstack([x, y]), np.float32)
    flow = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST).calc(before, after, camera.copy())
    target = np.dstack([x, y]) + flow
    pulled = cv2.remap(after, target[..., 0].copy(), target[..., 1].copy(), cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    inside = (target >= 0).all(axis=2) & (target[..., 0] < width) & (target[..., 1] < height)
    apart = np.abs(cv2.blur(pulled, (3, 3)).astype(np.float32) - cv2.blur(before, (3, 3))) / 255
    values = {"unexplained": float((apart[inside] > APART).mean()) if inside.any() else float("nan")}
    if motion is None:
        return values
    shift = motion.shift(width, height)
    own = np.linalg.norm(flow - camera, axis=2) / width > RESIDUAL
    return values | {
        "step": motion.corner_move(width, height),
        "pan": float(shift[0]),
        "tilt": float(shift[1]),
        "zoom": float(np.log(max(motion.scale, 1e-3))),
        "rigid": motion.rigid,
        "own_motion": float(own.mean()),
    }


def palette(picture: Picture) -> Curve:
    """Colour histogram with sum 1."""
    counts = cv2.calcHist([picture], [0, 1, 2], None, [BINS] * 3, [0, 256] * 3)
    return np.asarray(counts.ravel() / max(float(counts.sum()), 1.0), np.float64)


def overlap(a: Curve, b: Curve) -> float:
    return float(np.minimum(a, b).sum())


def _against(pictures: list[Picture], greys: list[Picture], truth: Path) -> dict[str, list[float]]:
    """Every picture and the true picture of the same moment: the share of its points that are found, and the colours in common."""
    true = read_small(truth, step=1)
    moments = np.linspace(0, len(true) - 1, len(pictures)).round().astype(int)
    values: dict[str, list[float]] = {name: [] for name in TRUTH_NAMES}
    for index, moment in enumerate(moments.tolist()):
        picture = np.asarray(cv2.resize(true[moment], (greys[index].shape[1], greys[index].shape[0])), np.uint8)
        view = FirstView(np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8))
        values["truth_match"].append(view.share(greys[index]))
        values["truth_palette"].append(overlap(palette(picture), palette(pictures[index])))
    return values
