"""A late frame brought into its reference's view, and the regions of both: what overlaps, the subject, the background."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]
DILATE = 0.03  # of the width: a mask's border belongs to neither region


@dataclass(frozen=True)
class Aligned:
    """Reference and late frame in the reference's view, float RGB in [0,1]."""

    reference: Image
    late: Image
    valid: Mask  # filled by the late frame
    subject: Mask  # where the subject was
    subject_late: Mask  # where it is now, in the reference's view

    @cached_property
    def background(self) -> Mask:
        """What neither subject covers, with a margin."""
        reach = max(3, round(DILATE * self.valid.shape[1]))
        both = grown(self.subject | self.subject_late, reach)
        return self.valid & ~both


def grown(mask: Mask, pixels: int) -> Mask:
    """The mask and everything within `pixels` of it."""
    if not mask.any():
        return mask.copy()
    return np.asarray(cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 3) <= pixels)


def rotation_homography(intrinsics: NDArray[np.float64], turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """K R K^-1: where a pixel of the late frame lies in the reference's view when only the camera turned."""
    return intrinsics @ turn @ np.linalg.inv(intrinsics)


def as_float(image: NDArray[Any]) -> Image:
    """8-bit to [0,1]."""
    return np.asarray(image, np.float32) / np.float32(255)


def align(
    reference: NDArray[np.uint8],
    late: NDArray[np.uint8],
    subject: Mask,
    subject_late: Mask,
    matrix: NDArray[np.float64],
) -> Aligned:
    """Warp the late frame and its mask into the reference's view by the homography `matrix` (late to reference)."""
    size = (reference.shape[1], reference.shape[0])
    warped = cv2.warpPerspective(late, matrix, size, flags=cv2.INTER_LINEAR)
    inside = cv2.warpPerspective(np.ones(late.shape[:2], np.uint8), matrix, size, flags=cv2.INTER_NEAREST)
    there = cv2.warpPerspective(subject_late.astype(np.uint8), matrix, size, flags=cv2.INTER_NEAREST)
    inside = np.asarray(cv2.erode(inside, np.ones((5, 5), np.uint8), borderType=cv2.BORDER_CONSTANT, borderValue=0))
    return Aligned(as_float(reference), as_float(warped), inside.astype(bool), subject, there.astype(bool))
