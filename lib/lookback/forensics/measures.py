"""What is measured on an aligned frame pair.

Surroundings: light, style, bends, a new world, echoes. Subject: is it there, is it the same, is it elsewhere, are there two.
Every measure is a plain function of an `Aligned` pair. It is NaN or left out if there are too few pixels; its rule then finds
nothing.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.forensics.pairs import Aligned, Image, Mask, grown

BLOCK = 16
TEXTURE = 0.02  # standard deviation of grey in [0,1] above which a block has structure to compare
MIN_PIXELS = 200
BINS = 12  # per channel of the colour palettes
LOW_CORRELATION = 0.5  # a block with a lower correlation shows something else
CHANGED = 0.1  # largest channel difference in [0,1] from which a pixel counts as changed
SAME_VIEW = 0.35  # above this correlation of earlier picture and reference, an echo cannot be recognised
STANDS_STILL = 0.9  # above this correlation of earlier and late picture, the clip stands still: its past is its present
MIN_SUBJECT = 60  # a mask with fewer pixels shows no subject
RING = 0.08  # of the width: size of the ring around the subject
OWN = 4.0  # a colour is the subject's own if it is this many times as frequent in it as elsewhere
MIN_OWN = 40  # with fewer pixels of its own colours, nothing is counted
RARE = 1e-3  # a colour with a smaller share of the palette does not count as present
MOSTLY = 0.5  # of a place: more than half
MIN_SHARE = 0.018  # of the view: a smaller subject matches many places


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
    """(H,W,2) displacement that remains between reference and late frame (dense inverse search); zero in a rigid world."""
    estimator = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
    filled = np.where(pair.valid[..., None], late, pair.reference)
    first, second = ((grey(image) * 255).astype(np.uint8) for image in (pair.reference, filled))
    start = np.zeros((*first.shape, 2), np.float32)
    return np.asarray(estimator.calc(first, second, start), np.float32)


def rigid_part(pair: Aligned, flow: NDArray[np.float32]) -> tuple[NDArray[np.float64] | None, float]:
    """The homography that explains most of the displacement in textured background, and the displacement that remains.

    The second number is the 75th percentile of the rest, as a share of the width.
    """
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
    """Overlap of the background's colour palettes before and after: 1 for the same colours, 0 for none in common."""
    where = pair.background
    if where.sum() < MIN_PIXELS:
        return float("nan")
    return float(np.minimum(palette(pair.reference[where]), palette(late[where])).sum())


def changed_pixels(pair: Aligned, late: Image) -> Mask:
    """Pixels in which the late frame differs from the reference, after a small blur."""
    a, b = (cv2.GaussianBlur(image, (0, 0), 1.5) for image in (pair.reference, late))
    return np.asarray((np.abs(a - b).max(axis=2) > CHANGED) & pair.valid)


def gradient(image: Image, sigma: float = 1.2) -> Image:
    """(H,W,2C) horizontal and vertical derivatives of the smoothed channels."""
    smooth = cv2.GaussianBlur(image, (0, 0), sigma)
    return np.asarray(np.dstack([cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1)]))


def echo_weight(pair: Aligned, late: Image, earlier: Image) -> float:
    """Weight of an earlier picture in the late one: b of `late = a reference + b earlier`, by least squares on grey gradients.

    NaN if the camera hardly moved in between: an echo then looks like the picture itself. This is so if the earlier picture is like
    the reference, and also if it is like the late one: a clip that stands still is explained by its own past.
    """
    where = pair.background[::2, ::2]
    if where.sum() < MIN_PIXELS:
        return float("nan")
    r, e, t = (gradient(grey(image))[::2, ::2][where].ravel().astype(np.float64) for image in (pair.reference, earlier, late))
    rr, re, ee, tt = r @ r, r @ e, e @ e, t @ t
    if min(rr, ee, tt) < 1e-6 or abs(re) / np.sqrt(rr * ee) > SAME_VIEW or (e @ t) / np.sqrt(ee * tt) > STANDS_STILL:
        return float("nan")
    return float(np.linalg.solve(np.array([[rr, re], [re, ee]]), np.array([r @ t, e @ t]))[1])


def subject_terms(pair: Aligned, late: Image) -> dict[str, float]:
    """The subject's place in the late frame and in the reference: colour difference, correlation of the gradients, and the
    strength of the late gradients (1 unchanged, 0.5 half faded)."""
    where = pair.subject & pair.valid
    if where.sum() < MIN_SUBJECT or where.sum() < 0.5 * pair.subject.sum():
        return {}
    a, b = (gradient(image)[where] for image in (pair.reference, late))
    power = float((a * a).sum())
    return {
        "subject_colour": float(np.abs(pair.reference[where] - late[where]).max(axis=1).mean()),
        "subject_structure": float((a * b).sum() / max(np.sqrt(power * float((b * b).sum())), 1e-9)),
        "subject_strength": float((a * b).sum()) / max(power, 1e-6),
    }


def palette_terms(pair: Aligned, late: Image) -> dict[str, float]:
    """How much of the subject's own colours remains in the whole view and at its place, and which share of its place has the
    colours of the ring around it, before and after."""
    where = pair.subject & pair.valid
    ring = grown(pair.subject, round(RING * pair.valid.shape[1])) & ~grown(pair.subject, 2) & pair.valid
    if where.sum() < MIN_SUBJECT or ring.sum() < MIN_PIXELS:
        return {}
    inner = np.asarray(cv2.erode(where.astype(np.uint8), np.ones((5, 5), np.uint8))).astype(bool)
    inner = inner if inner.sum() >= MIN_SUBJECT else where
    inside = palette(pair.reference[inner])
    own = (inside > OWN * palette(pair.reference[pair.valid & ~grown(pair.subject, 4)])) & (inside > RARE)
    nearby = palette(pair.reference[ring]) > RARE
    first, second = (tuple(np.moveaxis(_bins(image), 2, 0)) for image in (pair.reference, late))
    before, after = (float((own[bins] & pair.valid).sum()) for bins in (first, second))
    here_before, here_after = (float((own[bins] & where).sum()) for bins in (first, second))
    enough = before >= MIN_OWN
    return {
        "own_colour": after / before if enough else float("nan"),
        "own_colour_here": here_after / max(here_before, 1.0) if enough else float("nan"),
        "like_surroundings": float(nearby[second][inner].mean()),
        "like_surroundings_before": float(nearby[first][inner].mean()),
    }


def _bins(image: Image) -> NDArray[np.int64]:
    return np.minimum((image * BINS).astype(np.int64), BINS - 1)


def change_terms(pair: Aligned, late: Image) -> dict[str, float]:
    """The changed share of the view and of the subject's place, the size of the largest changed blob elsewhere, and how well
    the late subject matches a second place."""
    changed = changed_pixels(pair, late)
    elsewhere = ~grown(pair.subject, 4)
    new = changed & elsewhere
    unmoved = elsewhere & ~changed  # beyond the subject's old place this is background, also where the late mask covers it
    count, _, stats, _ = cv2.connectedComponentsWithStats(new.astype(np.uint8))
    largest = float(stats[1:, cv2.CC_STAT_AREA].max()) if count > 1 else 0.0
    place = pair.subject & pair.valid
    copy = second_copy(late, pair.subject_late & pair.valid & ~unmoved, new)
    return {
        "changed": float(changed.sum()) / max(float(pair.valid.sum()), 1.0),
        "changed_subject": float((changed & place).sum()) / max(float(place.sum()), 1.0),
        "blob": largest / changed.size,
    } | ({"second_copy": copy} if np.isfinite(copy) else {})


def second_copy(image: Image, mask: Mask, new: Mask) -> float:
    """Best correlation of the masked subject with another place of the same image, at half size.

    Another place is at least half the subject's size away, and most of it is `new`. A place that looked like the subject before,
    as one window looks like the next, is not a copy. NaN if the subject is too small, or if no place is new (a copy may be out of
    view).
    """
    small = cv2.resize(image, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    where = cv2.resize(mask.astype(np.uint8), (small.shape[1], small.shape[0]), interpolation=cv2.INTER_NEAREST).astype(bool)
    if where.mean() < MIN_SHARE:
        return float("nan")
    y, x = np.nonzero(where)
    top, bottom, left, right = y.min(), y.max() + 1, x.min(), x.max() + 1
    height, width = bottom - top, right - left
    if height >= small.shape[0] or width >= small.shape[1]:
        return float("nan")
    weight = np.repeat(where[top:bottom, left:right, None].astype(np.float32), 3, axis=2)
    scores = cv2.matchTemplate(small, small[top:bottom, left:right].copy(), cv2.TM_CCOEFF_NORMED, mask=weight)
    scores = np.where(np.isfinite(scores) & (np.abs(scores) <= 1.001), scores, -1.0)
    dy, dx = max(2, height // 2), max(2, width // 2)
    scores[max(0, top - dy) : top + dy + 1, max(0, left - dx) : left + dx + 1] = -1.0
    fresh = cv2.resize(new.astype(np.float32), (small.shape[1], small.shape[0]), interpolation=cv2.INTER_AREA)
    share = cv2.matchTemplate(fresh, weight[..., 0], cv2.TM_CCORR) / weight[..., 0].sum()
    scores[share < MOSTLY] = -1.0
    best = float(scores.max())
    return best if best > -1.0 else float("nan")


def truth_terms(pair: Aligned, late: Image, before: Image, seen_before: Mask) -> dict[str, float]:
    """The event compared with the ground truth: `reference` is the ground truth, `before` the clip's own earlier picture.

    V is where the ground truth differs from before (the event), U where the clip differs from the ground truth. `event_share` is
    V's share of the view, `event_progress` the projection <late - before, truth - before> / |truth - before|^2 over V (1 the event
    happened, 0 the past is back), `outside_event` the share of U that lies beyond V, `off_truth` U's share of the view.
    """
    valid = pair.valid & seen_before
    expected = changed_pixels(Aligned(pair.reference, before, valid, pair.subject, pair.subject_late), before)
    off = changed_pixels(pair, late) & valid
    terms = {"event_share": float(expected.sum()) / max(float(valid.sum()), 1.0)}
    terms["off_truth"] = float(off.sum()) / max(float(valid.sum()), 1.0)
    if off.sum() >= MIN_SUBJECT:
        terms["outside_event"] = float((off & ~grown(expected, 3)).sum()) / float(off.sum())
    if expected.sum() >= MIN_SUBJECT:
        step = (pair.reference - before)[expected].ravel()
        terms["event_progress"] = float(((late - before)[expected].ravel() @ step) / max(float(step @ step), 1e-6))
    return terms
