"""Visual quality: aesthetics and no-reference image quality (MemoBench section 3.4, eq. 1 and 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lookback.benchmarks.memobench.metrics.shared import BOTH, limited, memobench_metric, percent, setting_of, share
from lookback.measures.checks import Variant, require_finite, require_variant
from lookback.measures.scores import range_percent
from lookback.scoring import Item, PixelScoring, Scored, ScoringClip, Stream, Unit

BATCH = 16  # frames that are measured at a time


def visual_quality(aesthetic: ArrayLike, quality: ArrayLike, *, variant: Variant = "paper") -> float:
    """(N(s_a; 1, 10) + N(s_q; 0, 1)) / 2 as a share in [0,1] (MemoBench eq. 2 divided by 100), without rounding.

    s_a is the mean LAION aesthetic score and s_q the mean CLIP-IQA+ of the sampled frames of all phases. Official scales aesthetics
    from 0.
    """
    require_variant(variant, BOTH)
    low, high = (setting_of("visual_quality", variant, f"aesthetic_{end}") for end in ("low", "high"))
    looks = range_percent(float(require_finite(aesthetic, "aesthetic", ndim=1).mean()), low, high)
    clarity = range_percent(float(require_finite(quality, "quality", ndim=1).mean()), 0.0, 1.0)
    return (looks + clarity) / 200.0


class QualityOfFrames:
    """The aesthetic score and CLIP-IQA+ of each frame; a few frames are kept at a time."""

    def __init__(self, context: ScoringClip):
        self.context = context
        self.head = str(context.setting("aesthetic_head"))
        self.aesthetic, self.quality = context.backend("aesthetic"), context.backend("quality")
        self.waiting: dict[int, np.ndarray] = {}
        self.found: dict[int, tuple[float, float]] = {}

    def push(self, index: int, frame: np.ndarray, truth: np.ndarray | None) -> None:
        self.waiting[index] = limited(self.context, frame)
        if len(self.waiting) == BATCH:
            self._measure()

    def finish(self) -> dict[int, tuple[float, float]]:
        if self.waiting:
            self._measure()
        return self.found

    def _measure(self) -> None:
        frames = np.stack(list(self.waiting.values()))
        looks = self.aesthetic.scores(frames, head=self.head, antialias=True)
        clarity = self.quality.measure(frames, names=("clipiqa",))["clipiqa"]
        for index, look, clear in zip(self.waiting, looks, clarity, strict=True):
            self.found[index] = (float(look), float(np.clip(clear, 0.0, 1.0)))
        self.waiting.clear()


@memobench_metric(
    "visual_quality",
    title="Visual quality",
    needs=("video",),
    roles=(),
    tools=("aesthetic", "quality"),
    equation="(N(aesthetic; 1, 10) + N(CLIP-IQA+; 0, 1)) / 2, every 4th frame",
    source="MemoBench section 3.4, eq. 1-2",
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """Every 4th frame of the clip; a sharpness stand-in cannot replace the two networks."""
    for role in ("aesthetic", "quality"):  # a missing network costs no decoding
        context.backend(role)
    frames = np.arange(0, context.need("n_frames"), int(context.number("quality_every")))
    found = yield Stream(f"visual-quality-{context.variant}", lambda: QualityOfFrames(context), frames)
    looks, clarity = (np.array([pair[part] for pair in found.values()]) for part in (0, 1))
    parts = [
        percent(context, float(looks.mean()), context.number("aesthetic_low"), context.number("aesthetic_high")),
        percent(context, float(clarity.mean()), context.number("quality_low"), context.number("quality_high")),
    ]
    units = [Unit(f"f{frame}", "frame", clear, look, frame) for frame, (look, clear) in found.items()]
    detail = f"aesthetic {looks.mean():.3f}, CLIP-IQA+ {clarity.mean():.3f}"
    return Scored([Item(share(context, sum(parts) / 2.0), detail=detail, n_units=len(units))], units)
