"""Motion smoothness: photometric error after warping by the optical flow (MemoBench section 3.4, eq. 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason
from lookback.metrics.shared.checks import Variant, require_finite, require_images, require_variant, unit_float
from lookback.metrics.shared.normalise import exp_decay
from lookback.metrics.shared.warp import flow_warp

TAU = 0.15


def warp_errors(frames: ArrayLike, flows: ArrayLike, *, variant: Variant = "paper") -> NDArray[np.float64]:
    """Mean L1 error of each consecutive pair in [0,1], given the forward flow from frame i to i+1 in pixels (x, y).

    Paper: |I_{i+1}(x + f(x)) - I_i(x)|, which is 0 for exact flow. Official samples frame i instead, I_i(x + f(x)) against
    I_{i+1}(x), which moves the picture the wrong way: an exact 5 px pan is charged for 10 px.
    """
    require_variant(variant, ("paper", "official"))
    images = require_images(frames, at_least=2)
    flow = require_finite(flows, "flows", ndim=4).astype(np.float32)
    if flow.shape != (len(images) - 1, *images.shape[1:3], 2):
        raise NotScorable(Reason.SIZE_MISMATCH, f"flows: {flow.shape} for frames of {images.shape}, one (H,W,2) per pair is needed")
    errors = []
    for index, step in enumerate(flow):
        first, second = unit_float(images[index]), unit_float(images[index + 1])
        source, target = (first, second) if variant == "official" else (second, first)
        errors.append(float(np.abs(flow_warp(source, step) - target).mean(dtype=np.float64)))
    return np.array(errors)


def smoothness(errors: ArrayLike, *, tau: float = TAU) -> float:
    """exp(-mean error / tau) (MemoBench eq. 3)."""
    return exp_decay(float(require_finite(errors, "errors", ndim=1).mean()), tau)


def motion_smoothness(frames: ArrayLike, flows: ArrayLike, *, tau: float = TAU, variant: Variant = "paper") -> float:
    """exp(-e / 0.15), e the mean L1 error between a frame and its flow-warped neighbour (MemoBench eq. 3), in [0,1].

    `frames` (N,H,W,3) are consecutive sampled frames of one phase (V or R), `flows` (N-1,H,W,2) the forward flows between them.
    """
    return smoothness(warp_errors(frames, flows, variant=variant), tau=tau)
