"""Motion smoothness: photometric error after warping by the optical flow (MemoBench section 3.4, eq. 3)."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.benchmarks.memobench.metrics.shared import BOTH, memobench_metric, phase_of, phases, variant_of
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_finite, require_images, require_variant, unit_float
from lookback.measures.geometry import flow_warp
from lookback.measures.scores import exp_decay
from lookback.scoring import Item, PixelScoring, Scored, ScoringClip, Stream, Unit

TAU = 0.15


def warp_errors(frames: ArrayLike, flows: ArrayLike, *, variant: Variant = "paper") -> NDArray[np.float64]:
    """Mean L1 error of each consecutive pair in [0,1], given the forward flow from frame i to i+1 in pixels (x, y).

    Paper: |I_{i+1}(x + f(x)) - I_i(x)|, which is 0 for exact flow. Official samples frame i instead, I_i(x + f(x)) against
    I_{i+1}(x), which moves the picture the wrong way: an exact 5 px pan counts as an error of 10 px.
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


MAX_SIDE = 512  # frames are scaled down to this side for the flow (ours)


class ConsecutiveErrors:
    """The warp error of every frame to the next, within V and within R; only one frame is kept."""

    def __init__(self, flow: Callable[[np.ndarray, np.ndarray], np.ndarray], groups: dict[int, str], variant: Variant):
        self.flow, self.groups, self.variant = flow, groups, variant
        self.before: tuple[int, np.ndarray] | None = None
        self.found: dict[int, tuple[str, float]] = {}

    def push(self, index: int, frame: np.ndarray, truth: np.ndarray | None) -> None:
        scale = min(1.0, MAX_SIDE / max(frame.shape[:2]))
        if scale < 1.0:
            size = (round(frame.shape[1] * scale), round(frame.shape[0] * scale))
            frame = cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
        if self.before is not None and self.before[0] == index - 1 and self.groups.get(index) == self.groups.get(index - 1):
            flow = self.flow(self.before[1], frame)
            error = warp_errors(np.stack([self.before[1], frame]), flow[None], variant=self.variant)[0]
            self.found[index] = (self.groups[index], float(error))
        self.before = (index, frame)

    def finish(self) -> dict[int, tuple[str, float]]:
        return self.found


@memobench_metric(
    "motion_smoothness",
    title="Motion smoothness",
    needs=("video", "d_start", "r_start"),
    roles=(),
    tools=("flow",),
    equation="exp(-e / 0.15), e the mean L1 error after warping by the flow, in V and R",
    source="MemoBench section 3.4, eq. 3",
    constants=("smoothness_tau",),
    differences={"official": "the released code warps the wrong way: exact flow is charged twice the motion"},
    variants=BOTH,
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """Each frame against its flow-warped neighbour; D is left out, as the paper does."""
    frames, tau = phases(context), context.constant("smoothness_tau", TAU)
    groups = {int(frame): phase for phase in ("V", "R") for frame in frames[phase]}
    flow, variant = context.backend("flow").flow, variant_of(context)
    found = yield Stream(f"smoothness-{variant}", lambda: ConsecutiveErrors(flow, groups, variant), np.array(sorted(groups)))
    units = [
        Unit(f"f{frame}", "frame", exp_decay(error, tau), error, frame, frame - 1, phase_of(frame, frames))
        for frame, (_, error) in found.items()
    ]
    if not units:
        raise NotScorable(Reason.TOO_SHORT, "V and R hold no two consecutive frames")
    errors = np.array([unit.raw for unit in units])
    return Scored([Item(smoothness(errors, tau=tau), float(errors.mean()), n_units=len(units))], units)
