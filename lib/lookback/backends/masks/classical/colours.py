"""Colour models: smoothed histograms in CIE Lab, and how well they explain what a mask covers."""

from __future__ import annotations

import cv2
import numpy as np
from scipy.ndimage import gaussian_filter

BINS = (12, 16, 16)
SMOOTHING = 0.6  # bins


def colour_index(image: np.ndarray) -> np.ndarray:
    """The histogram bin (h,w) of every pixel of an RGB picture."""
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB).astype(np.int32)
    bins = [lab[..., channel] * count // 256 for channel, count in enumerate(BINS)]
    return np.asarray((bins[0] * BINS[1] + bins[1]) * BINS[2] + bins[2])


def histogram(index: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Share of the weight in each bin, smoothed."""
    counts = np.bincount(index.ravel(), weight.ravel().astype(np.float64), minlength=int(np.prod(BINS))).reshape(BINS)
    smooth = gaussian_filter(counts, SMOOTHING, mode="nearest").ravel()
    return np.asarray(smooth / max(smooth.sum(), 1e-12))


class ColourModel:
    """The colours of an object against those around it, from one frame and its mask."""

    def __init__(self, image: np.ndarray, mask: np.ndarray):
        index = colour_index(image)
        fore, back = histogram(index, mask), histogram(index, ~mask)
        self.share = (fore + 1e-5) / (fore + back + 2e-5)  # the chance that a colour is the object's, at even odds

    def explains(self, image: np.ndarray, mask: np.ndarray) -> float:
        """Mean chance, over the mask, that its colours are the object's; 0 for an empty mask."""
        return float(self.share[colour_index(image[mask][None])].mean()) if mask.any() else 0.0

    def likely(self, image: np.ndarray) -> np.ndarray:
        """Where the colours, averaged over a small patch, are the object's rather than the surroundings'."""
        return np.asarray(cv2.blur(self.share[colour_index(image)].astype(np.float32), (5, 5)) > 0.5)
