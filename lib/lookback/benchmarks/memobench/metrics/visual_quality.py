"""Visual quality: aesthetics and no-reference image quality (MemoBench section 3.4, eq. 1 and 2)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from lookback.artifacts import Quality
from lookback.benchmarks.memobench.metrics.shared import BOTH, memobench_metric
from lookback.measures.checks import Variant, require_finite, require_variant
from lookback.measures.scores import range_percent
from lookback.scoring import Item, Scored, ScoringClip

AESTHETIC_RANGE = {"paper": (1.0, 10.0), "official": (0.0, 10.0)}
QUALITY_RANGE = (0.0, 1.0)


def visual_quality(aesthetic: ArrayLike, quality: ArrayLike, *, variant: Variant = "paper") -> float:
    """(N(s_a; 1, 10) + N(s_q; 0, 1)) / 2 as a share in [0,1] (MemoBench eq. 2 divided by 100).

    s_a is the mean LAION aesthetic score and s_q the mean CLIP-IQA+ of the sampled frames of all phases. Official scales aesthetics
    from 0.
    """
    require_variant(variant, tuple(AESTHETIC_RANGE))
    looks = range_percent(float(require_finite(aesthetic, "aesthetic", ndim=1).mean()), *AESTHETIC_RANGE[variant])
    clarity = range_percent(float(require_finite(quality, "quality", ndim=1).mean()), *QUALITY_RANGE)
    return (looks + clarity) / 200.0


@memobench_metric(
    "visual_quality",
    title="Visual quality",
    needs=("video",),
    roles=("quality",),
    equation="(N(aesthetic; 1, 10) + N(CLIP-IQA+; 0, 1)) / 2",
    source="MemoBench section 3.4, eq. 1-2",
    differences={"official": "aesthetics scaled from 0 instead of 1"},
    variants=BOTH,
)
def score(context: ScoringClip) -> Scored:
    """The stored aesthetic and quality scores of the sampled frames; a sharpness stand-in cannot replace them."""
    aesthetic, clipiqa = context.artifact(Quality).measures("aesthetic", "clipiqa")
    variant: Variant = "official" if context.variant == "official" else "paper"
    value = visual_quality(aesthetic, clipiqa, variant=variant)
    return Scored([Item(value, value, n_units=len(aesthetic))])
