"""Colour models: smoothed histograms in CIE Lab, and how well they explain the pixels under a mask."""

from __future__ import annotations

import cv2
import numpy as np
from scipy.ndimage import gaussian_filter

BINS = (12, 16, 16)
SMOOTHING = 0.6  # bins
LIKELY = 0.6
SMALLER, LARGER = 0.2, 3.0  # limits of a region's area, as a factor of the object's
COMPACT = 0.4  # share of its box that a region must fill


def colour_index(image: np.ndarray) -> np.ndarray:
    """The histogram bin (h,w) of every pixel of an RGB picture."""
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB).astype(np.int32)
    bins = [lab[..., channel] * count // 256 for channel, count in enumerate(BINS)]
    return np.asarray((bins[0] * BINS[1] + bins[1]) * BINS[2] + bins[2])


def histogram(index: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The share of the weight in each bin, smoothed."""
    counts = np.bincount(index.ravel(), weight.ravel().astype(np.float64), minlength=int(np.prod(BINS))).reshape(BINS)
    smooth = gaussian_filter(counts, SMOOTHING, mode="nearest").ravel()
    return np.asarray(smooth / max(smooth.sum(), 1e-12))


def _share(fore: np.ndarray, back: np.ndarray) -> np.ndarray:
    """The chance that a colour belongs to the object, with equal prior chances."""
    return np.asarray((fore + 1e-5) / (fore + back + 2e-5))


class ColourModel:
    """The colours of an object and of its surroundings, from one frame and its mask."""

    def __init__(self, image: np.ndarray, mask: np.ndarray):
        index = colour_index(image)
        self.fore, self.back = histogram(index, mask), histogram(index, ~mask)
        self.share = _share(self.fore, self.back)
        self.area = int(mask.sum())

    def explains(self, image: np.ndarray, mask: np.ndarray) -> float:
        """The mean chance that the colours under a mask belong to the object; 0 for an empty mask."""
        return float(self.share[colour_index(image[mask][None])].mean()) if mask.any() else 0.0

    def regions(self, image: np.ndarray, elsewhere: np.ndarray) -> tuple[np.ndarray, float]:
        """The region with the colours most like the object's, and their Bhattacharyya coefficient; (empty, 0) when there is none.

        `elsewhere` is the histogram of frames without the object. Colours that are common there are no evidence for it.
        """
        index = colour_index(image)
        share = _share(self.fore, np.maximum(self.back, elsewhere))[index].astype(np.float32)
        likely = (cv2.blur(share, (5, 5)) > LIKELY).astype(np.uint8)
        likely = cv2.morphologyEx(likely, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
        count, labels, stats, _ = cv2.connectedComponentsWithStats(likely)
        best, coefficient = np.zeros(likely.shape, bool), 0.0
        for part in range(1, count):
            area, frame = stats[part, cv2.CC_STAT_AREA], stats[part, cv2.CC_STAT_WIDTH] * stats[part, cv2.CC_STAT_HEIGHT]
            if SMALLER <= area / self.area <= LARGER and area >= COMPACT * frame:
                region = labels == part
                alike = float(np.sqrt(histogram(index, region) * self.fore).sum())
                if alike > coefficient:
                    best, coefficient = region, alike
        return best, coefficient

    def likely(self, image: np.ndarray) -> np.ndarray:
        """Where the colours, averaged over a small patch, fit the object better than the surroundings."""
        return np.asarray(cv2.blur(self.share[colour_index(image)].astype(np.float32), (5, 5)) > 0.5)
