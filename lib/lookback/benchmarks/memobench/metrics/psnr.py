"""PSNR against the ground truth (MemoBench section 3.4)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from lookback.benchmarks.memobench.metrics.declare import BOTH, memobench_metric
from lookback.benchmarks.memobench.metrics.fidelity import frame_psnr, mean_over_frames
from lookback.benchmarks.memobench.metrics.pixel_fidelity import NEEDS, pixel_measures, score_fidelity
from lookback.measures.checks import Variant
from lookback.scoring import ScoringClip


def psnr(a: ArrayLike, b: ArrayLike, *, variant: Variant = "paper") -> float:
    """Peak signal-to-noise ratio in dB of RGB frames (H,W,3), or its mean over the frames of two videos (N,H,W,3).

    10 log10(peak^2 / mse); identical frames give 99 dB, as in the released code, so that a mean stays finite. `official` resizes
    `b` to the size of `a`, at most 640 px a side; otherwise the sizes must be equal.
    """
    return mean_over_frames(frame_psnr, a, b, variant)


@memobench_metric(
    "psnr",
    title="PSNR",
    unit="dB",
    range=(0.0, 99.0),
    needs=NEEDS,
    roles=(),
    equation="10 log10(255^2 / mse), identical frames 99 dB",
    source="MemoBench section 3.4",
    differences={"official": "frames limited to 640 px; phase ends count twice"},
    variants=BOTH,
    pixels=True,
)
def score(context: ScoringClip):
    """Frame by frame against the ground truth."""
    return (yield from score_fidelity(context, "psnr", "pixels", pixel_measures))
