"""Object geometry: SSIM inside the object's mask of a fold pair, the return frame warped to the forward view (MBench eq. 4)."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike

from lookback.artifacts import Depth, Masks
from lookback.benchmarks.mbench.metrics.shared import PairedFrames, matches, mbench_metric, paired_frames
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_equal_size, require_images, require_mask, unit_float
from lookback.measures.geometry import depth_warp, homography_warp
from lookback.measures.images import ssim_map
from lookback.measures.scores import clip01
from lookback.scoring import Frames, PixelScoring, Scored, ScoringClip, Unit, mean_item


def masked_ssim_warp(image_i: ArrayLike, image_j_warped: ArrayLike, mask_i: ArrayLike, *, valid: ArrayLike | None = None) -> float:
    """SSIM(I_i * M_i, W_{j->i}(I_j) * M_i), averaged over the pixels of M_i and clipped to [0,1] (MBench eq. 4).

    Images (H,W,3), mask (H,W). `valid` marks the pixels that the warp could fill; the others are removed from the mask. The mean is
    over the mask only: outside it both pictures are black, which would raise every score towards 1.
    """
    first = require_images(image_i, "image_i", ndim=3)
    second = require_images(image_j_warped, "image_j_warped", ndim=3)
    require_equal_size(first, second, "image_i and image_j_warped")
    mask = require_mask(mask_i, "mask_i")
    if mask.shape != first.shape[:2]:
        raise NotScorable(Reason.SIZE_MISMATCH, f"mask_i: {mask.shape} on an image of {first.shape[:2]}")
    if valid is not None:
        mask = mask & require_mask(valid, "valid")
    if not mask.any():
        raise NotScorable(Reason.NO_MASK, "the mask is empty in the forward frame, or the warp fills none of it")
    window = mask[:, :, None].astype(np.float32)
    similarity = ssim_map(unit_float(first) * window, unit_float(second) * window, data_range=1.0)
    return clip01(float(similarity[mask].mean(dtype=np.float64)))


@mbench_metric(
    "entity.object_geometry_consistency",
    title="Object geometry",
    unit="SSIM",
    needs=("video", "object_anchor|object_name"),
    paired=True,
    roles=("pose", "masks", "depth"),
    subsets=("object",),
    equation="SSIM(I_i * M_i, warp_j->i(I_j) * M_i)",
    source="MBench section 4.2.1, eq. 4",
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """SSIM inside the mask over the fold pairs; a 3-D warp where there is depth, else a homography, and the unit says so."""
    pairs, masks = paired_frames(context), context.artifact(Masks)
    try:
        depth: Depth | None = context.artifact(Depth)
    except NotScorable:
        depth = None
    if depth is not None and not depth.metric:
        depth = None  # relative depth cannot warp
    images = yield Frames(np.unique(pairs.frames))
    units = []
    for row_i, row_j, first, second in pairs:
        name = pairs.unit_id(first, second)
        try:
            mask = frame_mask(masks, first, images[first].shape[:2])
            warped, valid, how = _warp(context, pairs, depth, images, (row_i, row_j), (first, second))
            value = masked_ssim_warp(images[first], warped, mask, valid=valid)
            units.append(Unit(name, "pair", value, value, first, second, detail="; ".join(filter(None, [how, pairs.note]))))
        except NotScorable as reason:
            units.append(Unit(name, "pair", None, None, first, second, reason=reason.reason, detail=reason.detail))
    return Scored([mean_item(units)], units)


def _warp(
    context: ScoringClip,
    pairs: PairedFrames,
    depth: Depth | None,
    images: dict[int, np.ndarray],
    rows: tuple[int, int],
    frames: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray, str]:
    """Frame j in the view of frame i."""
    image_i, image_j = images[frames[0]], images[frames[1]]
    if depth is not None:
        found = _depth_at(depth, frames[0], image_i.shape[:2])
        if found is not None:
            K, c2w = pairs.path.intrinsics, pairs.path.c2w
            warped, valid = depth_warp(image_j, found, K[rows[0]], K[rows[1]], c2w[rows[0]], c2w[rows[1]])
            return warped, valid, "warped by depth"
    points_i, points_j = matches(context, images, *frames)
    warped, valid = homography_warp(image_j, points_i, points_j, image_i.shape[:2])
    return warped, valid, "no depth: warped by a homography"


def _depth_at(depth: Depth, frame: int, size: tuple[int, int]) -> np.ndarray | None:
    """The depth map of exactly this frame at the picture's size, or None when it was not sampled."""
    found = depth.at(frame)
    return None if found is None else cv2.resize(found.astype(np.float32), size[::-1], interpolation=cv2.INTER_LINEAR)


def frame_mask(masks: Masks, frame: int, size: tuple[int, int]) -> np.ndarray:
    """The object's mask (height, width) in one frame; NO_MASK when it is out of view there."""
    rows = masks.rows_at(frame)
    if not len(rows):
        raise NotScorable(Reason.NO_MASK, f"frame {frame} has no mask row")
    if not masks.mask(int(rows[0])).any():
        raise NotScorable(Reason.NO_MASK, f"the object is not in view in frame {frame}")
    return masks.resized(int(rows[0]), size)
