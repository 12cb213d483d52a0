"""dlib's face descriptor (ResNet, 128 numbers), moved so that cosines compare people.

dlib compares by L2 distance: about 0.45 for the same person, about 0.82 for two people, 0.6 as the border. All descriptors share a
large common part, so their raw cosines lie near 1. With c the mean descriptor of many people and r the typical length of x - c,

    cos(x - c, y - c) = 1 - |x - y|^2 / (2 r^2)    for |x - c| = |y - c| = r, r about 0.55:

about 0.67 at 0.45 (same), 0.40 at 0.6, below 0 at 0.82 (different). `CENTRE` is c.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lookback.backends.faces.dlib_centre import CENTRE

# dlib's own detector draws its square this much wider than SCRFD's box, lower by this share of the height (medians of 40 faces).
RECTANGLE_WIDTH, RECTANGLE_SHIFT = 1.09, 0.034
MATCH_THRESHOLD = 0.40  # the cosine at dlib's border of 0.6


class DlibEmbedding:
    """Aligns a face by five landmarks and describes it."""

    def __init__(self, landmarks: Path, network: Path):
        import dlib

        self.dlib: Any = dlib
        self.predictor: Any = dlib.shape_predictor(str(landmarks))
        self.network: Any = dlib.face_recognition_model_v1(str(network))

    def describe(self, frame: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """dlib's descriptors (K,128) of the faces in boxes (K,4) of a frame uint8 (H,W,3)."""
        frame = np.ascontiguousarray(frame)
        found = [self.network.compute_face_descriptor(frame, self.predictor(frame, self._rectangle(box))) for box in boxes]
        return np.array(found, np.float64).reshape(-1, 128)

    def embed(self, frame: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """The centred descriptors."""
        return self.describe(frame, boxes) - CENTRE

    def _rectangle(self, box: np.ndarray) -> Any:
        half = RECTANGLE_WIDTH * (box[2] - box[0]) / 2
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2 + RECTANGLE_SHIFT * (box[3] - box[1])
        return self.dlib.rectangle(round(x - half), round(y - half), round(x + half), round(y + half))
