"""What an aligned pair shows of the subject: is it there, is it the same, is it elsewhere, are there two."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.forensics.align import Aligned, Image, Mask, grown
from lookback.forensics.measures import BINS, MIN_PIXELS, changed_pixels, gradient, palette

MIN_SUBJECT = 60  # pixels below which a mask shows no subject
RING = 0.08  # of the width: how far around the subject its surroundings are looked at
OWN = 4.0  # a colour is the subject's own when it is this many times as frequent in it as elsewhere
MIN_OWN = 40  # pixels of own colours below which they cannot be counted
RARE = 1e-3  # share of a palette below which a colour does not count as present
MOSTLY = 0.5  # of a place: more than half
MIN_SHARE = 0.018  # of the view: a smaller subject looks like anything


def subject_terms(pair: Aligned, late: Image) -> dict[str, float]:
    """The subject's place, late against reference: colour difference, correlation of its gradients, and how strong they still are
    (1 the same, 0.5 half faded)."""
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
    """How much of the subject's own colours is left, in the whole view and at its place, and the share of its place that has the
    colours of the ring around it (before and after)."""
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
    """Shares that differ: of the view, of the subject's place, of the largest blob elsewhere; and
    how well the late subject is found a second time."""
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

    Another place is at least half the subject's size away, and most of it is `new`: what looked like the subject before, as one
    window looks like the next, is no copy of it. NaN for a subject too small, and where no place is new: a copy may be out of view.
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
    """The event against the ground truth: `reference` is the ground truth, `before` what the clip showed there before it left.

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
