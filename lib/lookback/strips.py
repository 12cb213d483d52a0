"""Film strips: a few frames of one clip side by side. Every strip and contact sheet of the package is built here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from lookback.figures import PALETTE, image_html
from lookback.media import open_video, resize

HIGHLIGHT = PALETTE[3]
TITLE_HEIGHT = 22  # pixels
INK = (27, 31, 36)


@dataclass(frozen=True)
class FilmStrip:
    """Some frames of a clip: their numbers, and their pictures (N,H,W,3) in RGB."""

    frames: tuple[int, ...]
    pictures: NDArray[np.uint8]

    def resized(self, width: int, height: int | None = None) -> FilmStrip:
        """Every picture at this width. Without a height the proportions are kept."""
        if height is None:
            height = max(1, round(width * self.pictures.shape[1] / self.pictures.shape[2]))
        return replace(self, pictures=resize(self.pictures, height, width, "area"))

    def shrunk(self, width: int) -> FilmStrip:
        """No picture wider than this; proportions are kept and smaller pictures stay as they are."""
        scale = width / self.pictures.shape[2]
        if scale >= 1:
            return self
        small = [cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) for picture in self.pictures]
        return replace(self, pictures=np.stack(small))

    def numbered(self) -> FilmStrip:
        """Every picture with its frame number in the lower left corner."""
        pictures = self.pictures.copy()
        for picture, frame in zip(pictures, self.frames, strict=True):
            place = (5, picture.shape[0] - 7)
            for colour, thickness in (((0, 0, 0), 3), ((255, 255, 255), 1)):
                cv2.putText(picture, str(frame), place, cv2.FONT_HERSHEY_SIMPLEX, 0.42, colour, thickness, cv2.LINE_AA)
        return replace(self, pictures=pictures)

    def joined(self, gap: int = 0, title: str = "") -> NDArray[np.uint8]:
        """One picture: the frames in a row, with `gap` white pixels after each and a title line above."""
        white = np.full((self.pictures.shape[1], gap, 3), 255, np.uint8)
        row = np.hstack([part for picture in self.pictures for part in (picture, white)])
        if not title:
            return row
        head = np.full((TITLE_HEIGHT, row.shape[1], 3), 255, np.uint8)
        cv2.putText(head, title, (4, 16), cv2.FONT_HERSHEY_SIMPLEX, 0.48, INK, 1, cv2.LINE_AA)
        return np.vstack([head, row])

    def draw(self, axes: Axes, highlighted: Collection[int] = (), fps: float | None = None) -> None:
        """Draw the frames into a figure, each under its number (and second). Highlighted frames get a thick border."""
        height, width = self.pictures.shape[1:3]
        step = width * 1.05
        for place, (picture, frame) in enumerate(zip(self.pictures, self.frames, strict=True)):
            left, marked = place * step, frame in highlighted
            axes.imshow(picture, extent=(left, left + width, 0, height))
            edge, line = (HIGHLIGHT, 3.0) if marked else ("#bbbbbb", 0.6)
            axes.add_patch(Rectangle((left, 0), width, height, fill=False, edgecolor=edge, linewidth=line, clip_on=False))
            label = f"{frame}" if fps is None else f"{frame} ({frame / fps:.1f} s)"
            ink, weight = (HIGHLIGHT, "bold") if marked else ("black", "normal")
            axes.text(left + width / 2, height * 1.05, label, fontsize=7, ha="center", va="bottom", color=ink, fontweight=weight)
        axes.set_xlim(-0.01 * width, len(self.frames) * step - 0.04 * width)
        axes.set_ylim(-0.02 * height, 1.02 * height)
        axes.set_aspect("equal")
        axes.set_axis_off()


def read_strip(video: Path, frames: int | Sequence[int]) -> FilmStrip:
    """The given frames of a video; a number asks for that many, evenly spaced from the first to the last."""
    with open_video(video) as reader:
        if isinstance(frames, int):
            frames = [int(frame) for frame in np.linspace(0, reader.info.n_frames - 1, frames).round()]
        return FilmStrip(tuple(frames), reader.read(list(frames)))


def jpeg_html(picture: NDArray[np.uint8], text: str, quality: int) -> str:
    """An RGB picture as a JPEG inside an HTML page; `text` is its alternative text."""
    jpeg = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return image_html(jpeg.tobytes(), "jpeg", text, lazy=True)
