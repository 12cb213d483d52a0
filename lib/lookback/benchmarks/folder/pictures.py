"""The pictures behind a verdict: first frame, farthest frame, return, and what differs between first frame and return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.benchmarks.folder.verdict import MISSING, Measured
from lookback.clips import Clip
from lookback.errors import MediaError
from lookback.measures.revisits import PlaceComparison, View, compare_place, same_place
from lookback.paths import resolve
from lookback.strips import FilmStrip, read_strip

WIDTH, GAP = 300, 4


@dataclass(frozen=True)
class ClipPicture:
    """A strip of frames and the words below it."""

    image: NDArray[np.uint8]
    caption: str


def clip_picture(clip: Clip, facts: Mapping[str, Measured]) -> ClipPicture | None:
    """First, away and return frame with the map of differences; without a return the first, the farthest and the last frame."""
    revisit = next(iter(facts.get("folder.view_again", MISSING).frames), None)
    last = (clip.n_frames or 1) - 1
    away = next((frame for frame, _ in facts.get("folder.camera_turn", MISSING).frames), last // 2)
    try:
        if revisit is None or revisit[1] is None:
            frames = sorted({0, away, last})
            strip = read_strip(resolve(clip.video), frames).resized(WIDTH).numbered()
            return ClipPicture(strip.joined(gap=GAP), f"Frames {_listed(frames)}.")
        first, back = revisit[0], revisit[1]
        strip = read_strip(resolve(clip.video), [first, away, back])
    except MediaError:
        return None
    shown = strip.resized(WIDTH).numbered()
    words = f"Frame {first}, away (frame {away}), return (frame {back})"
    pair = same_place(View.of(first, strip.pictures[0]), View.of(back, strip.pictures[2]))
    if pair.matrix is None:
        return ClipPicture(shown.joined(gap=GAP), f"{words}.")
    sides = [View.of(place, strip.pictures[place]).picture for place in (0, 2)]
    drawn = difference_map(compare_place(sides[0], sides[1], pair.matrix))
    size = (shown.pictures.shape[2], shown.pictures.shape[1])
    extra = np.asarray(cv2.resize(drawn, size, interpolation=cv2.INTER_AREA), np.uint8)
    joined = FilmStrip((*shown.frames, back), np.concatenate([shown.pictures, extra[None]]))
    return ClipPicture(
        joined.joined(gap=GAP), f"{words}; red: where the return, warped into the first view, differs; grey: not seen."
    )


def difference_map(place: PlaceComparison) -> NDArray[np.uint8]:
    """The early view in grey, red where its structure is lost on return, dimmed where the return does not show it."""
    grey = cv2.cvtColor(cv2.cvtColor(place.first, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB).astype(np.float32)
    lost = (1.0 - np.clip(place.structure, 0.0, 1.0))[..., None] * place.valid[..., None]
    red = np.array([200.0, 30.0, 30.0], np.float32)
    mixed = (1.0 - lost) * (0.35 * grey + 150.0) + lost * red
    return np.where(place.valid[..., None], mixed, 0.5 * grey + 60.0).clip(0, 255).astype(np.uint8)


def _listed(frames: list[int]) -> str:
    return ", ".join(str(frame) for frame in frames[:-1]) + f" and {frames[-1]}" if len(frames) > 1 else str(frames[0])
