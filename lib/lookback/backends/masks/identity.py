"""Whether two cut-out objects are the same: EfficientNet features and colours of what lies under their masks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lookback.backends.features.crops import cut_out
from lookback.backends.features.encoders import LITE, LiteEncoder
from lookback.backends.masks.classical.colours import colour_index, histogram
from lookback.backends.runtime import loaded_once

MIN_PIXELS = 30  # of the frame; with less nothing can be said


@dataclass(frozen=True)
class Look:
    """How an object looks: a feature vector of length 1 and its colour histogram."""

    vector: np.ndarray
    colours: np.ndarray
    area: float  # share of the picture


class Identity:
    """Describes cut-out objects with EfficientNet-Lite0."""

    weights = LITE

    def __init__(self, path: Path, device: str = "cpu"):
        self.encoder = _encoder(path, device)
        self.device = device

    def look(self, frame: np.ndarray, mask: np.ndarray, area: float) -> Look | None:
        """The object under a mask (h,w) of a part of a frame of the same size; None when too little of it is seen."""
        if mask.sum() < MIN_PIXELS:
            return None
        import torch

        canvas = cut_out(frame, mask, self.encoder.normalisation.mean)
        mean, deviation = (
            np.asarray(values, np.float32) for values in (self.encoder.normalisation.mean, self.encoder.normalisation.std)
        )
        pixels = torch.from_numpy((canvas[..., :3] / np.float32(255) - mean) / deviation).permute(2, 0, 1)[None].to(self.device)
        shown = torch.nn.functional.max_pool2d(torch.from_numpy(canvas[None, ..., 3]).float(), self.encoder.patch) > 0
        with torch.inference_mode():
            vector = self.encoder(pixels, shown.to(self.device))[0][0].cpu().numpy()
        return Look(vector / max(float(np.linalg.norm(vector)), 1e-9), histogram(colour_index(frame), mask), area)


def alike(one: Look, other: Look) -> tuple[float, float]:
    """The cosine of the features and the Bhattacharyya coefficient of the colours."""
    return float(one.vector @ other.vector), float(np.sqrt(one.colours * other.colours).sum())


@loaded_once(1)
def _encoder(path: Path, device: str) -> LiteEncoder:
    return LiteEncoder(path, device, "fp32")
