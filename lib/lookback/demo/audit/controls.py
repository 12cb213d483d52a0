"""Corruptions of good clips that test a metric: controls destroy memory on purpose, nuisances should not matter.

A corruption takes the clip's frames (N,H,W,3) uint8, a strength in (0, 1], a random generator and the frames of another clip, and
returns frames of the same shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lookback.media import encode, open_video, resize
from lookback.scratch import scratch_folder

Corruption = Callable[[np.ndarray, float, np.random.Generator, np.ndarray], np.ndarray]
WORST_CRF = 45  # of libx264 at full strength; the sound clip is written at SOUND_CRF
SOUND_CRF = 12
WORST_NOISE = 25.0  # standard deviation in grey levels
SMALLEST = 0.25  # of the side, to which `resize` goes at full strength
LONGEST_HOLD = 4  # frames that `frame_rate` shows in place of one another at full strength


@dataclass(frozen=True)
class Control:
    """A named corruption: `control` (memory is broken: a metric of memory should fall) or `nuisance` (it should not)."""

    name: str
    kind: Literal["control", "nuisance"]
    words: str
    apply: Corruption


def frozen(frames: np.ndarray, strength: float, rng: np.random.Generator, other: np.ndarray) -> np.ndarray:
    return np.repeat(frames[:1], len(frames), axis=0)


def shuffled(frames: np.ndarray, strength: float, rng: np.random.Generator, other: np.ndarray) -> np.ndarray:
    return frames[rng.permutation(len(frames))]


def reversed_time(frames: np.ndarray, strength: float, rng: np.random.Generator, other: np.ndarray) -> np.ndarray:
    return frames[::-1]


def swapped(frames: np.ndarray, strength: float, rng: np.random.Generator, other: np.ndarray) -> np.ndarray:
    """Show another clip from the middle on, so that nothing returns."""
    half = len(frames) // 2
    source = np.linspace(0, len(other) - 1, len(frames) - half).round().astype(int)
    height, width = frames.shape[1:3]
    late = resize(np.ascontiguousarray(other[source]), height, width, "area")
    return np.concatenate([frames[:half], late])


def noisy(frames: np.ndarray, strength: float, rng: np.random.Generator, other: np.ndarray) -> np.ndarray:
    noise = rng.normal(0.0, WORST_NOISE * strength, frames.shape).astype(np.float32)
    return np.clip(np.rint(frames + noise), 0, 255).astype(np.uint8)


def compressed(frames: np.ndarray, strength: float, rng: np.random.Generator, other: np.ndarray) -> np.ndarray:
    crf = round(SOUND_CRF + (WORST_CRF - SOUND_CRF) * strength)
    with scratch_folder() as folder:
        path = encode(folder / "clip.mp4", frames, 16, crf=crf)
        with open_video(path) as reader:
            return reader.read(np.arange(len(frames)))


def resized(frames: np.ndarray, strength: float, rng: np.random.Generator, other: np.ndarray) -> np.ndarray:
    height, width = frames.shape[1:3]
    share = 1 - (1 - SMALLEST) * strength
    small = resize(frames, max(8, round(height * share)), max(8, round(width * share)), "area")
    return resize(small, height, width, "bilinear")


def slower(frames: np.ndarray, strength: float, rng: np.random.Generator, other: np.ndarray) -> np.ndarray:
    """Show fewer different frames per second: each is repeated up to `LONGEST_HOLD` times."""
    hold = 1 + round((LONGEST_HOLD - 1) * strength)
    return frames[np.arange(len(frames)) // hold * hold]


CONTROLS = (
    Control("frozen", "control", "the first frame throughout", frozen),
    Control("shuffled", "control", "the frames in random order", shuffled),
    Control("reversed", "control", "the frames backwards", reversed_time),
    Control("swapped", "control", "another clip from the middle on", swapped),
    Control("noise", "nuisance", f"grey-level noise, sd {WORST_NOISE:g} at strength 1", noisy),
    Control("compression", "nuisance", f"libx264 at crf {WORST_CRF} at strength 1", compressed),
    Control("resize", "nuisance", f"down to {SMALLEST:g} of the side and back at strength 1", resized),
    Control("frame_rate", "nuisance", f"every {LONGEST_HOLD}th frame held at strength 1", slower),
)
