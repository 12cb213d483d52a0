"""SSIM against the ground truth (MemoBench section 3.4)."""

from __future__ import annotations

from functools import partial

from numpy.typing import ArrayLike

from lookback.benchmarks.memobench.metrics.declare import BOTH, memobench_metric
from lookback.benchmarks.memobench.metrics.fidelity import frame_ssim, mean_over_frames
from lookback.benchmarks.memobench.metrics.inputs import variant_of
from lookback.benchmarks.memobench.metrics.pixel_fidelity import NEEDS, pixel_measures, score_fidelity
from lookback.measures.checks import Variant
from lookback.scoring import ScoringClip


def ssim(a: ArrayLike, b: ArrayLike, *, variant: Variant = "paper") -> float:
    """Structural similarity of the luma of RGB frames (H,W,3), or its mean over the frames of two videos (N,H,W,3).

    Wang et al. 2004: Gaussian window 11x11, sigma 1.5. `official` resizes `b` to the size of `a`, at most 640 px a side, and
    reflects the border; otherwise the sizes must be equal and border pixels stay out of the mean.
    """
    return mean_over_frames(partial(frame_ssim, variant=variant), a, b, variant)


@memobench_metric(
    "ssim",
    title="SSIM",
    range=(-1.0, 1.0),
    needs=NEEDS,
    roles=(),
    equation="mean SSIM of the luma, Gaussian 11x11, sigma 1.5",
    source="MemoBench section 3.4",
    differences={"official": "frames limited to 640 px, borders reflected; phase ends count twice"},
    variants=BOTH,
    pixels=True,
)
def score(context: ScoringClip):
    """Frame by frame against the ground truth."""
    return (yield from score_fidelity(context, f"ssim {variant_of(context)}", "pixels", pixel_measures))
