"""Frames made smaller by OpenCV's INTER_AREA: compiled where numba is installed, and once for all clips that share a frame."""

from __future__ import annotations

from functools import cache
from types import ModuleType

import cv2
import numpy as np

from lookback.extras import installed
from lookback.measures.checks import Array
from lookback.media import SharedFrame, derived


@cache
def kernels() -> ModuleType | None:
    """`lookback.measures.compiled`, imported where it is first needed; None without numba (the extra `fast`)."""
    if not installed("numba"):
        return None
    from lookback.measures import compiled

    return compiled


def resize_area(frame: Array, width: int, height: int) -> Array:
    """The frame (H,W,3) at another size, by OpenCV's INTER_AREA."""
    size = width, height
    return frame if frame.shape[:2] == (height, width) else resize_areas(frame, (size,))[size]


def shared_area(frame: Array, width: int, height: int) -> Array:
    """`resize_area` of a frame that several clips may share: a SharedFrame is brought to each size once.

    One compiled pass makes all sizes that this frame, or one of the same video before it, was asked for.
    """
    if not isinstance(frame, SharedFrame):
        return resize_area(frame, width, height)
    size, sizes = (width, height), frame.habits.sizes
    if kernels():
        sizes.add(size)
        made = derived(frame, "area", lambda whole: resize_areas(whole, tuple(sizes)), usual=True)
        if size in made:
            return made[size]
    return derived(frame, ("area", size), lambda whole: resize_area(whole, width, height))


def resize_areas(frame: Array, sizes: tuple[tuple[int, int], ...]) -> dict[tuple[int, int], Array]:
    """The frame (H,W,3) at several sizes (width, height): compiled where that gives OpenCV's values, else by OpenCV itself."""
    frame, compiled = np.asarray(frame), kernels()
    quick = tuple(size for size in sizes if compiled and _rounds_alike(frame, *size))
    found = compiled.shrink_area(frame, quick) if compiled and quick else {}
    slow = (size for size in sizes if size not in found)
    return found | {size: np.asarray(cv2.resize(frame, size, interpolation=cv2.INTER_AREA)) for size in slow}


def _rounds_alike(frame: Array, width: int, height: int) -> bool:
    """Whether the compiled loop rounds as OpenCV does. Where both factors are whole, OpenCV adds integers and halves differ."""
    tall, wide = frame.shape[:2]
    even_blocks = tall % height == 0 and wide % width == 0 and (tall // height) * (wide // width) % 2 == 0
    return frame.dtype == np.uint8 and height <= tall and width <= wide and not even_blocks
