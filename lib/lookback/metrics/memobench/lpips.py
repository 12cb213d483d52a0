"""LPIPS against the ground truth (MemoBench section 3.4): VGG backbone in the paper, AlexNet in the released code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from lookback.metrics.shared.checks import Array, Variant, require_equal_size, require_images, require_variant

BACKBONES: dict[str, str] = {"paper": "vgg", "official": "alex"}


def backbone(variant: Variant = "paper") -> str:
    """The network the variant's distances come from."""
    require_variant(variant, tuple(BACKBONES))
    return BACKBONES[variant]


def lpips_mean(a: ArrayLike, b: ArrayLike, distance: Callable[[Array, Array], ArrayLike]) -> float:
    """Mean perceptual distance of two videos (N,H,W,3) of one size; `distance(a, b)` returns one number per frame."""
    first, second = require_images(a, "a"), require_images(b, "b")
    require_equal_size(first, second, "a and b")
    return float(np.mean(np.asarray(distance(first, second), dtype=np.float64)))
