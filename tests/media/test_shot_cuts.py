"""Hard cuts on pans over photographs (scikit-image's own pictures), where every cut is known by construction."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np
import pytest
import skimage
from lookback.media import encode, open_video, read_image, shot_cuts

PHOTOGRAPHS = ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png")


@cache
def photograph_of(name: str, height: int, width: int) -> np.ndarray:
    """Scaled to at least 1.2 frame heights and 2.2 frame widths."""
    photograph = read_image(Path(skimage.__file__).parent / "data" / name)
    scale = max(1.2 * height / photograph.shape[0], 2.2 * width / photograph.shape[1])
    return cv2.resize(photograph, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)


def pan(name: str, speed: float, n_frames: int = 24, height: int = 108, width: int = 192) -> np.ndarray:
    """`speed` widths a frame, to and fro."""
    photograph = photograph_of(name, height, width)
    span = photograph.shape[1] - width
    offsets = [int(speed * width * t) % (2 * span) for t in range(n_frames)]
    lefts = [min(offset, 2 * span - offset) for offset in offsets]
    return np.stack([photograph[10 : 10 + height, left : left + width] for left in lefts])


@pytest.mark.parametrize("speed", [0.02, 0.1, 0.2, 0.33, 0.5])
def test_a_fast_pan_has_no_cut(speed: float) -> None:
    for name in PHOTOGRAPHS:
        assert shot_cuts(pan(name, speed)).tolist() == [], name


@pytest.mark.parametrize("speed", [0.02, 0.2, 0.5])
def test_two_joined_pans_have_exactly_one(speed: float) -> None:
    for first, second in combinations(PHOTOGRAPHS, 2):
        frames = np.concatenate([pan(first, speed, 10), pan(second, speed, 12)])
        assert shot_cuts(frames).tolist() == [10], (first, second)


def test_several_shots_of_an_encoded_clip(tmp_path: Path) -> None:
    frames = np.concatenate([pan(name, 0.05, 12) for name in PHOTOGRAPHS])
    with open_video(encode(tmp_path / "clip.mp4", frames, 24)) as reader:
        assert shot_cuts(reader).tolist() == [12, 24, 36, 48]


def test_a_change_of_light_a_flash_and_a_zoom_are_no_cuts() -> None:
    frames = pan("coffee.png", 0.02)
    brighter = np.clip(frames[12:] * 1.8 + 20, 0, 255).astype(np.uint8)
    assert shot_cuts(np.concatenate([frames[:12], brighter])).tolist() == []
    flash = frames.copy()
    flash[12] = 255
    assert shot_cuts(flash).tolist() == []
    zoom = [cv2.resize(frames[0][t : 108 - t, 2 * t : 192 - 2 * t], (192, 108)) for t in range(30)]
    assert shot_cuts(zoom).tolist() == []


@pytest.mark.parametrize("n_frames", [0, 1, 2])
def test_very_short_clips(n_frames: int) -> None:
    assert shot_cuts(pan("coffee.png", 0.02)[:n_frames]).tolist() == []


def test_a_cut_from_black_is_found_and_black_alone_has_none() -> None:
    black = np.zeros((10, 108, 192, 3), np.uint8)
    assert shot_cuts(black).tolist() == []
    assert shot_cuts(np.concatenate([black, pan("coffee.png", 0.02, 10)])).tolist() == [10]
