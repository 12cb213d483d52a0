"""Hard cuts: frames where a new shot starts.

Two measures between neighbouring frames, on a 96x54 copy:

- colour: half the L1 distance of the HSV histograms (0: the same colours, 1: no common colour). A pan changes it slowly.
- structure: the correlation of the fine detail (image minus its blur) over the overlap, after shifting by the displacement of
  the phase correlation. It stays high for camera motion of up to a third of the width per frame, and when the light changes.

A cut has a low structure value, and a colour change that is larger than in the two frames before and after. Faster motion lowers
the structure of every frame, and so no frame stands out. Dissolves and single-frame flashes are not hard cuts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import cv2
import numpy as np

from lookback.media.reader import VideoReader

WIDTH, HEIGHT = 96, 54
HISTOGRAM_BINS = (12, 6, 6)
DETAIL_SIGMA = 3.0
# Joined photographs and clips of different scenes have a colour change above 0.27 and a structure below 0.25.
MIN_COLOUR = 0.25
MAX_STRUCTURE = 0.35
# The colour change must exceed each neighbour's by this factor; the second is for neighbours with low structure (fast motion).
RATIO, RATIO_IN_MOTION = 1.3, 2.0
REACH = 2
# Standard deviation of the detail, in grey levels, below which a frame is blank.
BLANK = 0.05
MIN_OVERLAP = 0.25


def shot_cuts(frames: VideoReader | Iterable[np.ndarray]) -> np.ndarray:
    """Indices of the frames that start a new shot (never 0), from a reader or from RGB uint8 frames.

    Structure takes longer than colour, so it is measured only where the colour changes enough for a cut, and at the neighbours.
    Only a few small frames are kept in memory.
    """
    colour: list[float] = []
    structure: list[float] = []  # NaN: not measured
    greys: deque[np.ndarray] = deque(maxlen=REACH + 2)
    before: np.ndarray | None = None
    needed_until = -1
    for frame in _images(frames):
        histogram, grey = _features(frame)
        greys.append(grey)
        if before is not None:
            colour.append(0.5 * float(np.abs(histogram - before).sum()))
            structure.append(np.nan)
            here, first = len(colour) - 1, len(colour) - 1
            if colour[here] >= MIN_COLOUR:
                needed_until, first = here + REACH, max(0, here - REACH)
            for pair in range(first, here + 1) if here <= needed_until else ():
                if np.isnan(structure[pair]):
                    structure[pair] = _structure(_detail(greys[pair - here - 2]), _detail(greys[pair - here - 1]))
        before = histogram
    return _stand_out(np.array(colour), np.array(structure)) + 1


def _images(frames: VideoReader | Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    if isinstance(frames, VideoReader):
        yield from (frame for _, frame in frames)
    else:
        yield from frames


def _features(frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The colour histogram, and a small grey copy."""
    small = cv2.resize(frame, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
    hsv = cv2.cvtColor(small, cv2.COLOR_RGB2HSV)
    histogram = cv2.calcHist([hsv], [0, 1, 2], None, list(HISTOGRAM_BINS), [0, 180, 0, 256, 0, 256]).ravel()
    return histogram / histogram.sum(), cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)


def _detail(grey: np.ndarray) -> np.ndarray:
    fine = grey.astype(np.float32)
    return fine - cv2.GaussianBlur(fine, (0, 0), DETAIL_SIGMA)


def _structure(before: np.ndarray, after: np.ndarray) -> float:
    blank = before.std() < BLANK, after.std() < BLANK
    if any(blank):
        return float(all(blank))
    window = cv2.createHanningWindow((WIDTH, HEIGHT), cv2.CV_32F)
    # phaseCorrelate multiplies its inputs by the window in place.
    (shift_x, shift_y), _ = cv2.phaseCorrelate(before.copy(), after.copy(), window)
    dx, dy = round(shift_x), round(shift_y)
    a = before[max(0, -dy) : HEIGHT - max(0, dy), max(0, -dx) : WIDTH - max(0, dx)]
    b = after[max(0, dy) : HEIGHT - max(0, -dy), max(0, dx) : WIDTH - max(0, -dx)]
    if a.size < MIN_OVERLAP * before.size:
        return 0.0
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / norm if norm > 0 else 0.0


def _stand_out(colour: np.ndarray, structure: np.ndarray) -> np.ndarray:
    broken = structure < MAX_STRUCTURE
    cuts = []
    for t in np.flatnonzero(broken & (colour >= MIN_COLOUR)).tolist():
        near = [j for j in range(max(0, t - REACH), min(len(colour), t + REACH + 1)) if j != t]
        if all(colour[t] >= (RATIO_IN_MOTION if broken[j] else RATIO) * colour[j] for j in near):
            cuts.append(t)
    return np.array(cuts, np.int64)
