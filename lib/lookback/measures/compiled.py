"""Two loops over uint8 pictures, compiled by numba (the extra `fast`): OpenCV's INTER_AREA for shrinking, and SSIM.

They are used where numba is installed (`lookback.measures.shrinking.kernels`); elsewhere OpenCV does the work. They hold no
interpreter lock. A picture is worked through a few rows at a time, so that what lies between the picture and the result stays in
the processor's own cache.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable
from functools import cache, lru_cache, partial
from threading import Lock
from typing import Any

import cv2
import numba
import numpy as np
from numba import float32, int32, njit
from numpy.typing import NDArray

from lookback.measures.images import K1, K2, MARGIN, SIGMA, WINDOW

Pixels = NDArray[np.uint8]
ROUND = np.float32(1.5 * 2**23)  # a float32 of this size has no fraction: adding it rounds, half to even
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)  # numba need not ask whether such an index is negative
TOGETHER = 4  # source rows whose columns are reduced at once
FUSED = platform.machine() in ("aarch64", "arm64")  # there OpenCV is compiled to multiply and add in one step, rounded once

_compiling = Lock()


# -- shrinking ------------------------------------------------------------------------------------------------------------------
def shrink_area(frame: Pixels, sizes: tuple[tuple[int, int], ...]) -> dict[tuple[int, int], Pixels]:
    """The frame (H, W, 3) at several sizes (width, height), as cv2.resize(INTER_AREA) makes them; no side may grow."""
    sizes = tuple(sorted(sizes))  # the heights of a width side by side
    ends = np.cumsum([3 * width * height for width, height in sizes])
    out = np.empty(ends[-1], np.uint8)
    with _compiling:
        kernel = _shrink_kernel()
    kernel(np.ascontiguousarray(frame).reshape(len(frame), -1), *_tables(frame.shape[1], len(frame), sizes), out)
    parts = zip(sizes, np.split(out, ends[:-1]), strict=True)
    return {(width, height): part.reshape(height, width, 3) for (width, height), part in parts}


def covered(source: int, target: int) -> list[list[tuple[int, float]]]:
    """For each target pixel the source pixels that it covers, with their shares of it, as OpenCV computes them."""
    scale, slack = 1.0 / (target / source), 1e-3
    found = []
    for left in (place * scale for place in range(target)):
        right, size = left + scale, min(scale, source - left)
        end = min(math.floor(right), source - 1)
        first = min(math.ceil(left), end)
        before = [(first - 1, (first - left) / size)] if first - left > slack else []
        after = [(end, min(right - end, 1.0, size) / size)] if right - end > slack else []
        found.append([*before, *((place, 1.0 / size) for place in range(first, end)), *after])
    return found


@lru_cache(maxsize=256)
def _tables(width: int, height: int, sizes: tuple[tuple[int, int], ...]) -> tuple[NDArray[Any], ...]:
    """What the kernel reads, as flat arrays.

    `widths`, and `kinds`: how many heights each has; `counts`: of how many source pixels each column of each width is made;
    `places` and `weights` of these pixels; `firsts`: the first entry of each size in the last three. There, for every source row
    of every new row: its number, where the new row begins in the result, and its weight.
    """
    widths, kinds = np.unique([new_width for new_width, _ in sizes], return_counts=True)
    columns = [shares for new_width in widths for shares in covered(width, int(new_width))]
    places, weights = zip(*(share for shares in columns for share in shares), strict=True)
    entries: list[tuple[int, int, float]] = []
    firsts, begin = [0], 0
    for new_width, new_height in sizes:
        rows = enumerate(covered(height, new_height))
        entries += [(source, begin + 3 * new_width * row, weight) for row, shares in rows for source, weight in shares]
        firsts.append(len(entries))
        begin += 3 * new_width * new_height
    sources, targets, shares_of_rows = zip(*entries, strict=True)
    whole, real = partial(np.array, dtype=np.int64), partial(np.array, dtype=np.float32)
    counts = whole([len(shares) for shares in columns])
    of_columns = whole(widths), whole(kinds), counts, 3 * np.array(places, np.uint64), real(weights)
    return *of_columns, whole(firsts), whole(sources), whole(targets), real(shares_of_rows)


@cache
def _shrink_kernel() -> Callable[..., None]:
    types = "void(u1[:,::1],i8[::1],i8[::1],i8[::1],u8[::1],f4[::1],i8[::1],i8[::1],i8[::1],f4[::1],u1[::1])"
    settings: Any = numba.config
    before, settings.SLP_VECTORIZE = settings.SLP_VECTORIZE, 1  # the four values of a pixel in one register
    try:
        return njit(types, nogil=True, cache=True, fastmath={"contract"} if FUSED else False)(_shrink)
    finally:
        settings.SLP_VECTORIZE = before


def _shrink(frame, widths, kinds, counts, places, weights, firsts, sources, targets, shares, out):
    """A few source rows at a time, for all sizes. It adds in OpenCV's order, so that it rounds in the same way."""
    wide = np.zeros((TOGETHER, frame.shape[1] + 1), np.float32)
    narrow = np.zeros((TOGETHER, 3 * widths[-1] + 1), np.float32)  # the last width is the largest
    total = np.zeros((len(firsts) - 1, 3 * widths[-1]), np.float32)
    entries = firsts[:-1].copy()
    a, b, c, d = wide[0], wide[1], wide[2], wide[3]
    for top in range(0, len(frame), TOGETHER):
        for row in range(min(TOGETHER, len(frame) - top)):
            _to_float(frame[top + row], wide[row])
        column, size, at = 0, 0, np.uint64(0)
        for number in range(len(widths)):
            length, put = 3 * widths[number], np.uint64(0)
            for _ in range(widths[number]):  # red, green, blue, and the red of the next pixel, which overwrites it
                i, w = places[at], weights[at]
                a0, a1, a2, a3 = w * a[i], w * a[i + ONE], w * a[i + TWO], w * a[i + THREE]
                b0, b1, b2, b3 = w * b[i], w * b[i + ONE], w * b[i + TWO], w * b[i + THREE]
                c0, c1, c2, c3 = w * c[i], w * c[i + ONE], w * c[i + TWO], w * c[i + THREE]
                d0, d1, d2, d3 = w * d[i], w * d[i + ONE], w * d[i + TWO], w * d[i + THREE]
                at += ONE
                for _ in range(1, counts[column]):
                    i, w = places[at], weights[at]
                    a0, a1, a2, a3 = a0 + w * a[i], a1 + w * a[i + ONE], a2 + w * a[i + TWO], a3 + w * a[i + THREE]
                    b0, b1, b2, b3 = b0 + w * b[i], b1 + w * b[i + ONE], b2 + w * b[i + TWO], b3 + w * b[i + THREE]
                    c0, c1, c2, c3 = c0 + w * c[i], c1 + w * c[i + ONE], c2 + w * c[i + TWO], c3 + w * c[i + THREE]
                    d0, d1, d2, d3 = d0 + w * d[i], d1 + w * d[i + ONE], d2 + w * d[i + TWO], d3 + w * d[i + THREE]
                    at += ONE
                column += 1
                _put(narrow[0], put, a0, a1, a2, a3)
                _put(narrow[1], put, b0, b1, b2, b3)
                _put(narrow[2], put, c0, c1, c2, c3)
                _put(narrow[3], put, d0, d1, d2, d3)
                put += THREE
            for _ in range(kinds[number]):
                entry, last, line = entries[size], firsts[size + 1], total[size, :length]
                while entry < last and sources[entry] < top + TOGETHER:
                    begins = entry == firsts[size] or targets[entry] != targets[entry - 1]
                    _add_row(narrow[sources[entry] - top], shares[entry], begins, line)
                    entry += 1
                    if entry == last or targets[entry] != targets[entry - 1]:
                        _round_row(line, out[targets[entry - 1] : targets[entry - 1] + length])
                entries[size] = entry
                size += 1


@njit(nogil=True, forceinline=True)
def _to_float(row, out):
    for place in range(row.size):
        out[place] = float32(row[place])


@njit(nogil=True, forceinline=True)
def _put(out, at, red, green, blue, spare):
    out[at], out[at + ONE], out[at + TWO], out[at + THREE] = red, green, blue, spare


@njit(nogil=True, forceinline=True)
def _add_row(row, weight, begins, total):
    if begins:
        for place in range(total.size):
            total[place] = weight * row[place]
    else:
        for place in range(total.size):
            total[place] += weight * row[place]


@njit(nogil=True, forceinline=True)
def _round_row(row, out):
    for place in range(out.size):
        out[place] = np.uint8(int32((row[place] + ROUND) - ROUND))


# -- SSIM -----------------------------------------------------------------------------------------------------------------------
STRIP, WIDE = 32, 640  # rows and columns of the map at a time
MAPS = 4 * WIDE  # s, d, s^2 and d^2 of a row, side by side
W0, W1, W2, W3, W4, W5 = cv2.getGaussianKernel(WINDOW, SIGMA, cv2.CV_32F)[: MARGIN + 1, 0]  # from the edge to the middle
MIDDLE = np.float32(256)  # taken from s: squares of smaller numbers lose less to rounding, and the variance stays the same
C1, C2 = np.float32(2.0 * (K1 * 255.0) ** 2), np.float32(2.0 * (K2 * 255.0) ** 2)


def grey_ssim(a: Pixels, b: Pixels) -> tuple[float, float]:
    """The mean SSIM of two grey pictures of one size, at least 11 px a side: of the whole map, borders reflected, and of the map
    without the border pixels whose window leaves the picture. The formula is that of `lookback.measures.images.PairComparison`."""
    with _compiling:
        kernel = _ssim_kernel()
    whole, inside = kernel(np.ascontiguousarray(a), np.ascontiguousarray(b))
    height, width = a.shape
    return whole / (height * width), inside / ((height - 2 * MARGIN) * (width - 2 * MARGIN))


@cache
def _ssim_kernel() -> Callable[[Pixels, Pixels], tuple[float, float]]:
    return njit("UniTuple(f8,2)(u1[:,::1],u1[:,::1])", nogil=True, cache=True)(_ssim_sums)


def _ssim_sums(a, b):
    height, width = a.shape
    s, d = np.empty(WIDE + 2 * MARGIN, np.float32), np.empty(WIDE + 2 * MARGIN, np.float32)
    blurred = np.empty((STRIP + 2 * MARGIN) * MAPS, np.float32)  # along the rows; then `out` along the columns as well
    out = np.empty((16, WIDE), np.float32)
    whole, inside = 0.0, 0.0
    for left in range(0, width, WIDE):
        count = min(WIDE, width - left)
        first, end = max(left - MARGIN, 0), min(left + count + MARGIN, width)
        before, last = first - (left - MARGIN), end - 1 - (left - MARGIN)
        for top in range(0, height, STRIP):
            rows = min(STRIP, height - top)
            for place in range(2 * MARGIN * MAPS if top else 0):  # an assignment of slices would take seconds to compile
                blurred[place] = blurred[STRIP * MAPS + place]
            for row in range(2 * MARGIN if top else 0, rows + 2 * MARGIN):
                y = abs(top + row - MARGIN)
                y = min(y, 2 * (height - 1) - y)
                _sum_and_difference(a[y, first:end], b[y, first:end], s[before:], d[before:])
                for place in range(before):
                    s[place], d[place] = s[2 * before - place], d[2 * before - place]
                for place in range(last + 1, count + 2 * MARGIN):
                    s[place], d[place] = s[2 * last - place], d[2 * last - place]
                line = blurred[row * MAPS :]
                _blur_along_row(s, count, line, line[2 * WIDE :])
                _blur_along_row(d, count, line[WIDE:], line[3 * WIDE :])
            for row in range(0, rows, 4):
                for kind in range(4):
                    _blur_four_rows(
                        blurred[row * MAPS + kind * WIDE :], count, out[kind], out[kind + 4], out[kind + 8], out[kind + 12]
                    )
                for each in range(min(4, rows - row)):
                    line = out[4 * each]
                    total = _ssim_of_row(line, out[4 * each + 1], out[4 * each + 2], out[4 * each + 3], count)
                    whole += total
                    if MARGIN <= top + row + each < height - MARGIN:
                        inside += total
                        for place in range(MARGIN - left):
                            inside -= line[place]
                        for place in range(max(0, width - MARGIN - left), count):
                            inside -= line[place]
    return whole, inside


@njit(nogil=True, forceinline=True)
def _sum_and_difference(a, b, s, d):
    for x in range(a.size):  # in float32, as numba adds small whole numbers in 64 bits: half as many at a time
        p, q = float32(a[x]), float32(b[x])
        s[x], d[x] = p + q - MIDDLE, p - q


@njit(nogil=True, forceinline=True, fastmath=True)
def _blur_along_row(r, count, means, squares):
    for x in range(count):
        a, b, c, d, e, f = r[x], r[x + 1], r[x + 2], r[x + 3], r[x + 4], r[x + 5]
        g, h, i, j, k = r[x + 6], r[x + 7], r[x + 8], r[x + 9], r[x + 10]
        means[x] = W0 * (a + k) + W1 * (b + j) + W2 * (c + i) + W3 * (d + h) + W4 * (e + g) + W5 * f
        a, b, c, d, e, f, g, h, i, j, k = a * a, b * b, c * c, d * d, e * e, f * f, g * g, h * h, i * i, j * j, k * k
        squares[x] = W0 * (a + k) + W1 * (b + j) + W2 * (c + i) + W3 * (d + h) + W4 * (e + g) + W5 * f


@njit(nogil=True, forceinline=True, fastmath=True)
def _blur_four_rows(r, count, one, two, three, four):
    for x in range(count):
        a, b, c, d, e, f = r[x], r[x + MAPS], r[x + 2 * MAPS], r[x + 3 * MAPS], r[x + 4 * MAPS], r[x + 5 * MAPS]
        g, h, i, j, k = r[x + 6 * MAPS], r[x + 7 * MAPS], r[x + 8 * MAPS], r[x + 9 * MAPS], r[x + 10 * MAPS]
        m, n, o = r[x + 11 * MAPS], r[x + 12 * MAPS], r[x + 13 * MAPS]
        one[x] = W0 * (a + k) + W1 * (b + j) + W2 * (c + i) + W3 * (d + h) + W4 * (e + g) + W5 * f
        two[x] = W0 * (b + m) + W1 * (c + k) + W2 * (d + j) + W3 * (e + i) + W4 * (f + h) + W5 * g
        three[x] = W0 * (c + n) + W1 * (d + m) + W2 * (e + k) + W3 * (f + j) + W4 * (g + i) + W5 * h
        four[x] = W0 * (d + o) + W1 * (e + n) + W2 * (f + m) + W3 * (g + k) + W4 * (h + j) + W5 * i


@njit(nogil=True, forceinline=True, fastmath=True, error_model="numpy")
def _ssim_of_row(s, d, ss, dd, count):
    total = float32(0.0)
    for x in range(count):
        mean_s, mean_d = (s[x] + MIDDLE) * (s[x] + MIDDLE), d[x] * d[x]
        var_s, var_d = ss[x] - s[x] * s[x], dd[x] - mean_d
        upper, lower = (mean_s - mean_d + C1) * (var_s - var_d + C2), (mean_s + mean_d + C1) * (var_s + var_d + C2)
        s[x] = upper / lower
        total += s[x]
    return total
