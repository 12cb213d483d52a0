"""Resizing methods, each defined by one library, and the geometry of the benchmarks that uses them.

- "area": OpenCV INTER_AREA, every source pixel weighted by the share of the target pixel it covers (for shrinking).
- "bilinear": torch interpolate(mode="bilinear", align_corners=False), no antialiasing.
- "bilinear_antialias": the same with antialias=True (a triangle filter as wide as the shrinking factor, as Pillow does).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import cv2
import numpy as np

from lookback.errors import MediaError, Reason, UsageError
from lookback.extras import need

Policy = Literal["area", "bilinear", "bilinear_antialias"]
POLICIES = ("area", "bilinear", "bilinear_antialias")
# Only a few frames at a time are converted to float32, so that memory stays small for a long batch.
CHUNK_PIXELS = 1 << 22


def resize(frames: np.ndarray, height: int, width: int, policy: Policy) -> np.ndarray:
    """Resize (H, W, 3) or (N, H, W, 3). uint8 gives uint8 (rounded to nearest), floats keep their type and are not clipped."""
    if policy not in POLICIES:
        raise UsageError(f"resize policy {policy!r} is unknown; choose one of {', '.join(POLICIES)}")
    if height < 1 or width < 1:
        raise UsageError(f"cannot resize to {width}x{height}; both sides must be at least 1")
    batch = _batch(frames)
    if batch.shape[1:3] == (height, width):
        resized = batch.copy()
    else:
        resized = np.empty((len(batch), height, width, 3), batch.dtype)
        for part in _chunks(len(batch), max(height * width, batch.shape[1] * batch.shape[2])):
            if policy == "area":
                _area(batch[part], resized[part])
            else:
                _interpolate(batch[part], resized[part], antialias=policy == "bilinear_antialias")
    return resized if frames.ndim == 4 else resized[0]


def shrink(frames: np.ndarray, max_side: int) -> np.ndarray:
    """Reduce the longer side to max_side with "area" and keep the proportions. Smaller frames stay as they are."""
    height, width = frames.shape[-3:-1]
    scale = max_side / max(height, width)
    return frames if scale >= 1 else resize(frames, max(1, round(height * scale)), max(1, round(width * scale)), "area")


def _batch(frames: np.ndarray) -> np.ndarray:
    batch = frames[None] if frames.ndim == 3 else frames
    if batch.ndim != 4 or batch.shape[3] != 3 or 0 in batch.shape[1:]:
        raise MediaError(f"frames must be (H, W, 3) or (N, H, W, 3), not {frames.shape}", Reason.INVALID_INPUT)
    if batch.dtype not in (np.uint8, np.float32, np.float64):
        raise MediaError(f"frames must be uint8, float32 or float64, not {batch.dtype}", Reason.INVALID_INPUT)
    return batch


def _chunks(n: int, pixels: int) -> Iterator[slice]:
    step = max(1, CHUNK_PIXELS // pixels)
    for start in range(0, n, step):
        yield slice(start, start + step)


def _area(source: np.ndarray, target: np.ndarray) -> None:
    for image, out in zip(source, target, strict=True):
        cv2.resize(image, (target.shape[2], target.shape[1]), dst=out, interpolation=cv2.INTER_AREA)


def _interpolate(source: np.ndarray, target: np.ndarray, antialias: bool) -> None:
    """uint8 is computed in float32, because the library's uint8 code rounds differently on different machines."""
    need("torch")
    import torch  # imported here because it takes a second, and most users of this package do not need it

    floats = source.astype(np.float32) if source.dtype == np.uint8 else np.ascontiguousarray(source)
    size = (target.shape[1], target.shape[2])
    with torch.inference_mode():
        tensor = torch.from_numpy(floats).permute(0, 3, 1, 2)
        result = torch.nn.functional.interpolate(tensor, size=size, mode="bilinear", align_corners=False, antialias=antialias)
        if source.dtype == np.uint8:
            result = result.round_().clamp_(0, 255).to(torch.uint8)
    target[...] = result.permute(0, 2, 3, 1).numpy()
