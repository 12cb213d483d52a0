"""What an aligned pair shows of the surroundings, as numbers: light, style, bends, a made-up world, echoes.

Every measure is a plain function of an `Aligned` pair. A measure that has nothing to look at gives NaN, and its rule stays silent.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.forensics.align import Aligned, Image, Mask, grown

BLOCK = 16
TEXTURE = 0.02  # standard deviation of grey in [0,1] above which a block has structure to compare
MIN_PIXELS = 200
BINS = 12  # per channel of the colour palettes
LOW_CORRELATION = 0.5  # a block below this shows something else
CHANGED = 0.1  # largest channel difference in [0,1] from which a pixel counts as changed
SAME_VIEW = 0.35  # correlation of the earlier picture with the reference above which an echo cannot be told apart


def grey(image: Image) -> Image:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))


def channel_gain(pair: Aligned) -> NDArray[np.float64]:
    """Per channel, the median of late / reference over the background: 1 when the light is the same."""
    before, after = (cv2.blur(image, (5, 5))[::2, ::2] for image in (pair.reference, pair.late))
    where = pair.background[::2, ::2] & (before.min(axis=2) > 0.06)
    if where.sum() < MIN_PIXELS / 4:
        return np.full(3, np.nan)
    return np.asarray(np.median(after[where] / before[where], axis=0), np.float64)


def relit(image: Image, gain: NDArray[np.float64]) -> Image:
    """The image under the reference's light."""
    usable = np.where(np.isfinite(gain) & (gain > 0.05), gain, 1.0)
    return np.asarray(np.clip(image / usable.astype(np.float32), 0, 1), np.float32)


def saturation_gain(pair: Aligned) -> float:
    """Mean saturation (1 - min / max of the channels), late / reference, over the background."""
    where = pair.background
    if where.sum() < MIN_PIXELS:
        return float("nan")
    before, after = (float(_saturation(image)[where].mean()) for image in (pair.reference, pair.late))
    return after / max(before, 1e-3)


def _saturation(image: Image) -> Image:
    top = image.max(axis=2)
    return np.asarray((top - image.min(axis=2)) / np.maximum(top, 0.05), np.float32)


def detail_gain(pair: Aligned, late: Image) -> float:
    """Energy of the finest detail (Laplacian), late / reference, over the background."""
    where = ~grown(~pair.background, 2)
    if where.sum() < MIN_PIXELS:
        return float("nan")
    before, after = (float(np.abs(cv2.Laplacian(grey(image), cv2.CV_32F))[where].mean()) for image in (pair.reference, late))
    return after / max(before, 1e-4)


def residual_flow(pair: Aligned, late: Image) -> NDArray[np.float32]:
    """(H,W,2) displacement that is left between reference and late frame (dense inverse search): zero in a rigid world."""
    estimator = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
    filled = np.where(pair.valid[..., None], late, pair.reference)
    first, second = ((grey(image) * 255).astype(np.uint8) for image in (pair.reference, filled))
    start = np.zeros((*first.shape, 2), np.float32)
    return np.asarray(estimator.calc(first, second, start), np.float32)


def rigid_part(pair: Aligned, flow: NDArray[np.float32]) -> tuple[NDArray[np.float64] | None, float]:
    """The homography that explains most of the displacement in textured background, and what it leaves: the 75th percentile of
    the rest, in shares of the width."""
    detail = cv2.GaussianBlur(np.abs(cv2.Laplacian(grey(pair.reference), cv2.CV_32F)), (0, 0), 2)
    y, x = np.nonzero(pair.background & (detail > 0.01))
    if len(y) < MIN_PIXELS:
        return None, float("nan")
    step = max(1, len(y) // 1500)
    points = np.column_stack([x, y]).astype(np.float32)[::step]
    moved = points + flow[y[::step], x[::step]]
    matrix, _ = cv2.findHomography(points, moved, cv2.RANSAC, 1.5)
    if matrix is None:
        return None, float("nan")
    rigid = cv2.perspectiveTransform(points[None], matrix)[0]
    return np.asarray(matrix, np.float64), float(np.percentile(np.linalg.norm(moved - rigid, axis=1), 75) / pair.valid.shape[1])


def block_correlation(pair: Aligned, late: Image, where: Mask) -> NDArray[np.float64]:
    """Correlation of the grey structure per textured block of `where`."""
    rows, columns = (side // BLOCK for side in where.shape)
    blocks = [_blocks(plane, rows, columns) for plane in (grey(pair.reference), grey(late), where.astype(np.float32))]
    a, b = (block - block.mean(axis=1, keepdims=True) for block in blocks[:2])
    spread_a, spread_b = a.std(axis=1), b.std(axis=1)
    usable = (blocks[2].mean(axis=1) >= 0.95) & (np.maximum(spread_a, spread_b) > TEXTURE)
    value = (a * b).mean(axis=1) / np.maximum(spread_a * spread_b, TEXTURE**2 / 4)
    return np.asarray(value[usable], np.float64)


def _blocks(plane: NDArray[np.float32], rows: int, columns: int) -> NDArray[np.float32]:
    cut = plane[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK)
    return cut.transpose(0, 2, 1, 3).reshape(rows * columns, BLOCK * BLOCK)


def palette(pixels: NDArray[np.float32]) -> NDArray[np.float64]:
    """Colour histogram of (N,3) pixels, smoothed over neighbouring bins, with sum 1."""
    index = np.minimum((pixels * BINS).astype(np.int64), BINS - 1) @ np.array([BINS * BINS, BINS, 1])
    counts = np.bincount(index, minlength=BINS**3).reshape((BINS,) * 3).astype(np.float64)
    for axis in range(3):
        counts = counts + 0.5 * (np.roll(counts, 1, axis) + np.roll(counts, -1, axis))
    return counts / max(counts.sum(), 1.0)


def palette_kept(pair: Aligned, late: Image) -> float:
    """Intersection of the background's palettes before and after: 1 the same colours, 0 none in common."""
    where = pair.background
    if where.sum() < MIN_PIXELS:
        return float("nan")
    return float(np.minimum(palette(pair.reference[where]), palette(late[where])).sum())


def changed_pixels(pair: Aligned, late: Image) -> Mask:
    """Where the late frame differs after a small blur."""
    a, b = (cv2.GaussianBlur(image, (0, 0), 1.5) for image in (pair.reference, late))
    return np.asarray((np.abs(a - b).max(axis=2) > CHANGED) & pair.valid)


def gradient(image: Image, sigma: float = 1.2) -> Image:
    """(H,W,2C) horizontal and vertical derivatives of the smoothed channels."""
    smooth = cv2.GaussianBlur(image, (0, 0), sigma)
    return np.asarray(np.dstack([cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1)]))


def echo_weight(pair: Aligned, late: Image, earlier: Image) -> float:
    """Weight of an earlier picture in the late one: b of `late = a reference + b earlier`, by least squares on grey gradients.

    NaN where the camera hardly moved in between: an echo then cannot be told from the picture itself.
    """
    where = pair.background[::2, ::2]
    if where.sum() < MIN_PIXELS:
        return float("nan")
    r, e, t = (gradient(grey(image))[::2, ::2][where].ravel().astype(np.float64) for image in (pair.reference, earlier, late))
    rr, re, ee = r @ r, r @ e, e @ e
    if min(rr, ee) < 1e-6 or abs(re) / np.sqrt(rr * ee) > SAME_VIEW:
        return float("nan")
    return float(np.linalg.solve(np.array([[rr, re], [re, ee]]), np.array([r @ t, e @ t]))[1])
