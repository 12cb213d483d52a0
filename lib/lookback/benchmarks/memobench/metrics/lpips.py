"""LPIPS against the ground truth (MemoBench section 3.4): VGG backbone in the paper, AlexNet in the released code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from lookback.benchmarks.memobench.metrics.declare import BOTH, memobench_metric
from lookback.benchmarks.memobench.metrics.inputs import variant_of
from lookback.benchmarks.memobench.metrics.pixel_fidelity import NEEDS, score_fidelity
from lookback.measures.checks import Array, Variant, require_equal_size, require_images, require_variant
from lookback.media import shrink
from lookback.scoring import ScoringClip

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


@memobench_metric(
    "lpips",
    title="LPIPS",
    unit="distance",
    range=(0.0, None),
    higher_is_better=False,
    needs=NEEDS,
    roles=(),
    tools=("perceptual",),
    equation="LPIPS(generated, ground truth); VGG (paper), AlexNet (official)",
    source="MemoBench section 3.4",
    constants=("lpips_every", "lpips_side"),
    differences={"official": "AlexNet instead of VGG"},
    variants=BOTH,
    pixels=True,
)
def score(context: ScoringClip):
    """Frame by frame against the ground truth; `lpips_every` and `lpips_side` take fewer and smaller frames; the item says so."""
    perceptual = context.backend("perceptual")
    net = backbone(variant_of(context))
    every = int(context.constant("lpips_every", 1))
    side = int(context.constant("lpips_side", 0))
    words = [f"every {every}th frame"] * (every > 1) + [f"frames of at most {side} px"] * (side > 0)

    def measure(a: Array, b: Array) -> dict[str, float]:
        first, second = ((shrink(image, side) if side else image)[None] for image in (a, b))
        return {"lpips": float(perceptual.distance(first, second, net)[0])}

    return (yield from score_fidelity(context, "lpips", f"lpips-{net}-{side}", measure, every, "; ".join(words)))
