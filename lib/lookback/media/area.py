"""Area resizing of uint8 frames by matrix products: OpenCV's INTER_AREA for shrinking, several times as fast.

A target pixel is the mean of the source pixels that it covers, each weighted by the covered share. That is one product with a
narrow band of weights for the columns and one for the rows. OpenCV adds the same products in another order: where the exact mean
lies half way between two integers, the result may differ by 1. That concerns at most 4 of 10,000 values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import cv2
import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from lookback.media.derived import derived

Floats = NDArray[np.float32]
MOST_COLUMNS, MOST_ROWS = 5, 6  # target pixels in one band: more would multiply with more zeros
MOST_DIFFERENT = 160  # weights of target pixels in a period
PRODUCT = 250_000  # multiplications in one product: a larger one is packed first, and spread over threads that others need


@dataclass(frozen=True)
class Band:
    """The weights (n, k) with which n target pixels from `target` on are made of k source pixels from `source` on."""

    target: int
    source: int
    weights: Floats


@dataclass(frozen=True)
class Bands:
    """The bands of one period. After `target_step` target pixels and `source_step` source pixels the weights repeat."""

    bands: tuple[Band, ...]
    periods: int
    target_step: int
    source_step: int


@lru_cache(maxsize=256)
def bands_of(source: int, target: int, most: int) -> Bands:
    """The weights that shrink `source` pixels to `target`, at most `most` target pixels in each band."""
    periods = math.gcd(source, target)
    target_step, source_step = target // periods, source // periods
    parts = math.ceil(target_step / most)
    edges = [target_step * part // parts for part in range(parts + 1)]
    bands = tuple(_band(first, end, source_step, target_step) for first, end in pairwise(edges))
    return Bands(bands, periods, target_step, source_step)


def _band(first: int, end: int, source_step: int, target_step: int) -> Band:
    """Target pixel t covers the source from t source_step / target_step on, by that scale; in integers nothing is rounded."""
    left, right = first * source_step // target_step, -(-end * source_step // target_step)
    target, source = np.arange(first, end)[:, None], np.arange(left, right)[None]
    begin = np.maximum(target * source_step, source * target_step)
    stop = np.minimum((target + 1) * source_step, (source + 1) * target_step)
    return Band(first, left, (np.maximum(stop - begin, 0) / source_step).astype(np.float32))


@lru_cache(maxsize=256)
def _column_weights(source: int, target: int) -> tuple[Floats, ...]:
    """For each band the weights (3k, 3n) of interleaved red, green and blue values."""
    bands = bands_of(source, target, MOST_COLUMNS).bands
    return tuple(np.ascontiguousarray(np.kron(band.weights.T, np.eye(3, dtype=np.float32))) for band in bands)


def resize_area(frame: np.ndarray, width: int, height: int, share_columns: bool = False) -> np.ndarray:
    """The frame (H, W, 3) at another size. With `share_columns`, sizes of one width share the reduced columns of a SharedFrame."""
    if frame.shape[:2] == (height, width):
        return frame
    if frame.dtype != np.uint8 or not _repeats(frame.shape[0], height) or not _repeats(frame.shape[1], width):
        return np.asarray(cv2.resize(np.asarray(frame), (width, height), interpolation=cv2.INTER_AREA))
    if share_columns:
        narrow = derived(frame, ("columns", width), lambda whole: fewer_columns(whole.reshape(len(whole), -1), width))
        small = fewer_rows(narrow, height)
    else:
        small = fewer_columns(fewer_rows(np.asarray(frame).reshape(len(frame), -1), height), width)
    return np.asarray(cv2.convertScaleAbs(small)).reshape(height, width, 3)


def _repeats(source: int, target: int) -> bool:
    """Whether a side shrinks with few different weights. Where they never repeat, OpenCV is as fast."""
    return target <= source and target // math.gcd(source, target) <= MOST_DIFFERENT


def fewer_columns(values: np.ndarray, width: int) -> Floats:
    """Shrink interleaved RGB rows (H, 3W) to (H, 3 width)."""
    height, source = len(values), values.shape[1] // 3
    bands, weights = bands_of(source, width, MOST_COLUMNS), _column_weights(source, width)
    result = np.empty((height, 3 * width), np.float32)
    step = max(1, PRODUCT // (bands.periods * weights[0].size)) if len(weights) == 1 else height
    for top in range(0, height, step):
        part, out = values[top : top + step], result[top : top + step]
        floats = part.astype(np.float32, copy=False)
        if len(weights) == 1:  # the periods lie side by side: one product
            np.matmul(floats.reshape(-1, len(weights[0])), weights[0], out=out.reshape(-1, weights[0].shape[1]))
            continue
        for band, weight in zip(bands.bands, weights, strict=True):
            inputs = _windows(floats[:, 3 * band.source :], bands.periods, 3 * bands.source_step, weight.shape[0])
            outputs = _windows(out[:, 3 * band.target :], bands.periods, 3 * bands.target_step, weight.shape[1])
            np.matmul(inputs, weight, out=outputs)
    return result


def fewer_rows(values: np.ndarray, height: int) -> Floats:
    """Shrink rows (H, N) to (height, N)."""
    bands = bands_of(len(values), height, MOST_ROWS)
    result = np.empty((height, values.shape[1]), np.float32)
    for period in range(bands.periods):
        for band in bands.bands:
            count, needed = band.weights.shape
            source, target = period * bands.source_step + band.source, period * bands.target_step + band.target
            floats = values[source : source + needed].astype(np.float32, copy=False)
            step = max(64, PRODUCT // band.weights.size)
            for left in range(0, values.shape[1], step):
                columns = slice(left, left + step)
                np.matmul(band.weights, floats[:, columns], out=result[target : target + count, columns])
    return result


def _windows(rows: Floats, count: int, step: int, length: int) -> Floats:
    """(H, count, length): in every row `count` pieces of `length` values, each `step` after the last. Nothing is copied."""
    across, along = rows.strides
    return as_strided(rows, (len(rows), count, length), (across, step * along, along))
