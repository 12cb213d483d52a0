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
    return frame if frame.shape[:2] == (height, width) else resize_areas(frame, width, (height,))[height]


def shared_area(frame: Array, width: int, height: int) -> Array:
    """`resize_area` of a frame that several clips may share: a SharedFrame is brought to each size once.

    One compiled pass makes all heights of a width that this frame, or one of the same video before it, was asked for.
    """
    if not isinstance(frame, SharedFrame):
        return resize_area(frame, width, height)
    if kernels():
        frame.sizes.add((width, height))
        heights = tuple(sorted(tall for wide, tall in tuple(frame.sizes) if wide == width))
        made = derived(frame, ("area", width), lambda whole: resize_areas(whole, width, heights))
        if height in made:
            return made[height]
    return derived(frame, ("area", width, height), lambda whole: resize_area(whole, width, height))


def resize_areas(frame: Array, width: int, heights: tuple[int, ...]) -> dict[int, Array]:
    """The frame (H,W,3) at one width and several heights: compiled where that gives OpenCV's values, else by OpenCV itself."""
    frame, compiled = np.asarray(frame), kernels()
    quick = tuple(height for height in heights if compiled and _rounds_alike(frame, width, height))
    found = dict(zip(quick, compiled.shrink_area(frame, width, quick), strict=True)) if compiled and quick else {}
    slow = {height for height in heights if height not in found}
    return found | {height: np.asarray(cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)) for height in slow}


def _rounds_alike(frame: Array, width: int, height: int) -> bool:
    """Whether the compiled loop rounds as OpenCV does. Where both factors are whole, OpenCV adds integers and halves differ."""
    tall, wide = frame.shape[:2]
    even_blocks = tall % height == 0 and wide % width == 0 and (tall // height) * (wide // width) % 2 == 0
    return frame.dtype == np.uint8 and height <= tall and width <= wide and not even_blocks
