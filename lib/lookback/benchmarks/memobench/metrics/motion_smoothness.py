"""Motion smoothness: photometric error after warping by the optical flow (MemoBench section 3.4, eq. 3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.benchmarks.memobench.metrics.shared import limited, memobench_metric, percent, phases
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_finite, require_images, require_variant, unit_float
from lookback.measures.frames import Phase
from lookback.measures.geometry import flow_warp
from lookback.measures.scores import exp_decay
from lookback.presets import Setting
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


WARPS: dict[Setting, Variant] = {"next_to_this": "paper", "this_by_forward_flow": "official"}
PARTS: tuple[Phase, ...] = ("V", "R")  # D is left out, as the paper does


class ConsecutiveErrors:
    """The warp error of every sampled frame to the next one of the same phase; only one frame is kept."""

    def __init__(self, context: ScoringClip, phase_of: dict[int, Phase]):
        self.context, self.phase_of = context, phase_of
        self.flow, self.inputs = context.backend("flow").flow, str(context.setting("flow_inputs"))
        self.warp = WARPS[context.setting("warp")]
        self.before: tuple[int, np.ndarray] | None = None
        self.found: dict[int, tuple[int, float]] = {}  # frame -> the sampled frame before it, the error between them

    def push(self, index: int, frame: np.ndarray, truth: np.ndarray | None) -> None:
        frame = limited(self.context, frame)
        if self.before is not None and self.phase_of[self.before[0]] == self.phase_of[index]:
            flow = self.flow(self.before[1], frame, inputs=self.inputs)
            error = warp_errors(np.stack([self.before[1], frame]), flow[None], variant=self.warp)[0]
            self.found[index] = (self.before[0], float(error))
        self.before = (index, frame)

    def finish(self) -> dict[int, tuple[int, float]]:
        return self.found


@memobench_metric(
    "motion_smoothness",
    title="Motion smoothness",
    needs=("video", "d_start", "r_start"),
    roles=(),
    tools=("flow",),
    equation="exp(-e / 0.15), e the mean L1 error between sampled frames after warping by the flow, in V and R",
    source="MemoBench section 3.4, eq. 3",
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """Each sampled frame against its flow-warped neighbour."""
    frames, every = phases(context), int(context.number("flow_every"))
    samples = {phase: frames[phase][::every] for phase in PARTS}
    phase_of: dict[int, Phase] = {int(frame): phase for phase, own in samples.items() for frame in own}
    context.backend("flow")  # a missing backend costs no decoding
    found = yield Stream(f"smoothness-{context.variant}", lambda: ConsecutiveErrors(context, phase_of), np.array(sorted(phase_of)))
    tau = context.number("smoothness_tau")
    units = [
        Unit(f"f{frame}", "frame", exp_decay(error, tau), error, frame, before, phase_of[frame])
        for frame, (before, error) in found.items()
    ]
    errors = {phase: np.array([unit.raw for unit in units if unit.phase == phase]) for phase in PARTS}
    value = percent(context, _joined(context, errors, frames, samples, tau)) / 100.0
    raw = float(np.concatenate(list(errors.values())).mean()) if units else None
    return Scored([Item(value, raw, n_units=len(units))], units)


def _joined(
    context: ScoringClip,
    errors: Mapping[Phase, NDArray[np.float64]],
    frames: Mapping[Phase, NDArray[np.int64]],
    samples: Mapping[Phase, NDArray[np.int64]],
    tau: float,
) -> float:
    """One score of all pairs, or the mean of the phases' scores. A phase of few samples is left out, or counts as 0."""
    long_enough = [phase for phase in PARTS if len(frames[phase]) > context.number("fewest_steps")]
    enough = [phase for phase in long_enough if len(samples[phase]) >= context.number("fewest_samples")]
    counted = long_enough if context.setting("short_phase") == "zero" else enough
    if not counted:
        raise NotScorable(Reason.TOO_SHORT, "V and R hold no two sampled frames")
    if context.setting("pool") == "pairs":
        return smoothness(np.concatenate([errors[phase] for phase in counted]), tau=tau)
    return float(np.mean([smoothness(errors[phase], tau=tau) if phase in enough else 0.0 for phase in counted]))
