"""MIND's common picture: 720x1280, scaled to cover it and cut at the centre."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.measures.checks import Array

HEIGHT, WIDTH = 720, 1280


def preprocess(frame: Array, height: int = HEIGHT, width: int = WIDTH) -> NDArray[np.float32]:
    """An RGB frame (H,W,3) as float32 in [0,1] at height x width: scaled to cover it (bilinear, no antialias), centre-cropped."""
    source_height, source_width = frame.shape[:2]
    scale = max(height / source_height, width / source_width)
    scaled = (max(width, round(source_width * scale)), max(height, round(source_height * scale)))
    picture: Array = frame.astype(np.float32)
    if scaled != (source_width, source_height):
        picture = cv2.resize(picture, scaled, interpolation=cv2.INTER_LINEAR)
    top, left = (scaled[1] - height) // 2, (scaled[0] - width) // 2
    picture = np.ascontiguousarray(picture[top : top + height, left : left + width])
    if frame.dtype == np.uint8:
        picture *= np.float32(1.0 / 255.0)
    return picture
