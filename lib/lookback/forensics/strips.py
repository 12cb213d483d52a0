"""Rows of frames: evenly spaced, the subject's outline drawn in, the failing ones framed."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from lookback.clips import Clip
from lookback.errors import MediaError
from lookback.figures import PALETTE
from lookback.media import open_video, sample_uniform
from lookback.paths import resolve

FAILING, OUTLINE, TRACK = PALETTE[3], PALETTE[6], PALETTE[4]
TRAIL = 8  # frames of the subject's track that are drawn
THUMBNAIL = 240  # width in pixels


@dataclass(frozen=True)
class Span:
    """Frames [start, end] in which a failure shows."""

    start: int
    end: int
    title: str

    def holds(self, frame: int) -> bool:
        return self.start <= frame <= self.end


def chosen_frames(n_frames: int, count: int, spans: list[Span]) -> NDArray[np.int64]:
    """Evenly spaced frames; the nearest to a short failing span moves onto it, so that it is seen."""
    frames = sample_uniform(n_frames, count).astype(np.int64)
    for span in spans:
        if not any(span.holds(int(frame)) for frame in frames):
            frames[np.abs(frames - span.start).argmin()] = span.start
    return np.unique(frames)


def read_small(clip: Clip, frames: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
    """The frames, no wider than a thumbnail; grey ones where the clip cannot be read, so that the picture is still drawn."""
    try:
        with open_video(resolve(clip.video)) as reader:
            pictures = reader.read([int(frame) for frame in frames])
    except MediaError:
        height = round(THUMBNAIL * (clip.height or 9) / (clip.width or 16))
        grey = np.full((height, THUMBNAIL, 3), 190, np.uint8)
        cv2.putText(grey, "cannot be read", (4, height // 2), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 0, 0), 1, cv2.LINE_AA)
        return [grey] * len(frames)
    scale = min(1.0, THUMBNAIL / pictures.shape[2])
    return [cv2.resize(p, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else p for p in pictures]


def trail(boxes: NDArray[np.floating] | None, frame: int, width: int) -> NDArray[np.float64]:
    """Centres of the subject's box in the last frames up to this one, in shares of the video's width."""
    if boxes is None or frame >= len(boxes):
        return np.empty((0, 2))
    recent = boxes[max(0, frame - TRAIL) : frame + 1]
    recent = recent[np.isfinite(recent).all(axis=1)]
    return np.asarray((recent[:, :2] + recent[:, 2:]) / 2 / width, np.float64)


def outlined(picture: NDArray[np.uint8], mask: NDArray[np.bool_] | None, track: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The picture with the mask's outline and the subject's recent track drawn in."""
    if len(track) > 1:
        points = np.rint(track * picture.shape[1]).astype(np.int32)
        tint = tuple(round(255 * part) for part in to_rgb(TRACK))
        picture = np.asarray(cv2.polylines(picture.copy(), [points[:, None]], False, tint, 2, cv2.LINE_AA), np.uint8)
    if mask is None or not mask.any():
        return picture
    full = cv2.resize(mask.astype(np.uint8), (picture.shape[1], picture.shape[0]), interpolation=cv2.INTER_NEAREST)
    contours, _ = cv2.findContours(full, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    colour = tuple(round(255 * part) for part in to_rgb(OUTLINE))
    return np.asarray(cv2.drawContours(picture.copy(), contours, -1, colour, 2), np.uint8)


def show_strip(
    axes: Axes,
    pictures: list[NDArray[np.uint8]],
    frames: NDArray[np.int64],
    spans: list[Span],
    fps: float | None = None,
) -> None:
    """The pictures in one row, each under its frame number; a thick frame where a failure shows."""
    height, width = pictures[0].shape[:2]
    step = width * 1.05
    for place, (picture, frame) in enumerate(zip(pictures, frames.tolist(), strict=True)):
        left = place * step
        axes.imshow(picture, extent=(left, left + width, 0, height))
        failing = any(span.holds(frame) for span in spans)
        colour, line = (FAILING, 3.0) if failing else ("#bbbbbb", 0.6)
        axes.add_patch(Rectangle((left, 0), width, height, fill=False, edgecolor=colour, linewidth=line, clip_on=False))
        label = f"{frame}" if fps is None else f"{frame} ({frame / fps:.1f} s)"
        weight = "bold" if failing else "normal"
        text = FAILING if failing else "black"
        axes.text(left + width / 2, height * 1.05, label, fontsize=7, ha="center", va="bottom", color=text, fontweight=weight)
    axes.set_xlim(-0.01 * width, len(pictures) * step - 0.04 * width)
    axes.set_ylim(-0.02 * height, 1.02 * height)
    axes.set_aspect("equal")
    axes.set_axis_off()
