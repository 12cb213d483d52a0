"""Object identity consistency: the most similar patches of the reappear frames to frame 0 (MemoBench section 3.4, eq. 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from lookback.backends.features.geometry import Pad, ResizeCrop, Shaping
from lookback.benchmarks.memobench.metrics.shared import limited, memobench_metric, percent, phases, share, spread
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite
from lookback.measures.features import patch_directions
from lookback.scoring import Frames, Item, PixelScoring, Scored, ScoringClip, Unit

SAMPLES = 9  # frames of R, the paper's
TOP_FRACTION = 0.4
ALPHA = 0.7


def top_patch_similarities(patches: ArrayLike, patches_0: ArrayLike, *, top_fraction: float = TOP_FRACTION) -> NDArray[np.float64]:
    """Cosines, clipped to [0,1], of each frame's k most similar patches (T,k): patches (T,P,D) against frame 0's (P,D)."""
    frames, anchor = require_finite(patches, "patches", ndim=3), require_finite(patches_0, "patches_0", ndim=2)
    if frames.shape[1:] != anchor.shape:
        raise NotScorable(Reason.SIZE_MISMATCH, f"patches {frames.shape[1:]} against patches_0 {anchor.shape}")
    if not 0.0 < top_fraction <= 1.0:
        raise NotScorable(Reason.INVALID_INPUT, f"top_fraction must lie in (0,1], not {top_fraction}")
    similarity = np.clip((patch_directions(frames) * patch_directions(anchor)).sum(axis=-1), 0.0, 1.0)
    kept = max(1, int(similarity.shape[1] * top_fraction))
    return np.sort(similarity, axis=1)[:, -kept:]


def object_identity(patches: ArrayLike, patches_0: ArrayLike, *, top_fraction: float = TOP_FRACTION, alpha: float = ALPHA) -> float:
    """alpha * mean_t mean(top) + (1 - alpha) * min_t min(top) over the top 40 % most similar patches (MemoBench eq. 4), in [0,1].

    `patches` (T,P,D) are patch tokens of the sampled R frames, `patches_0` (P,D) those of the generated first frame.
    """
    top = top_patch_similarities(patches, patches_0, top_fraction=top_fraction)
    return float(alpha * top.mean() + (1.0 - alpha) * top.min())


@memobench_metric(
    "object_identity",
    title="Object identity consistency",
    needs=("video", "d_start", "r_start"),
    roles=(),
    tools=("features",),
    equation="0.7 mean + 0.3 min of the top 40 % patch cosines of nine R frames to frame 0",
    source="MemoBench section 3.4, eq. 4",
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """Patch features of nine R frames against those of frame 0."""
    reappear, encoder = phases(context)["R"], context.backend("features")
    samples = int(context.number("identity_samples"))
    chosen = spread(int(reappear[0]), int(reappear[-1]), samples)
    images = yield Frames(np.unique([0, *chosen]))
    shaping = _shaping(context)
    shown = np.stack([_scaled(limited(context, images[int(frame)]), shaping) for frame in (0, *chosen)])
    patches = encoder.encode(shown, shaping).picture_patches().astype(np.float64)
    top = top_patch_similarities(patches[1:], patches[0], top_fraction=context.number("top_fraction"))
    units = [
        Unit(f"s{number}_f{int(frame)}", "frame", float(row.mean()), float(row.min()), int(frame), phase="R")
        for number, (frame, row) in enumerate(zip(chosen, top, strict=True))
    ]
    alpha = context.number("alpha")
    value = share(context, alpha * percent(context, float(top.mean())) + (1.0 - alpha) * percent(context, float(top.min())))
    fewer = "" if samples == SAMPLES else f"at most {samples} frames of R"
    return Scored([Item(value, float(top.mean()), detail=fewer, n_units=len(units))], units)


def _shaping(context: ScoringClip) -> Shaping:
    """How a frame becomes the network's input: the whole frame, or the centre square of the shrunk frame."""
    side = int(context.number("resize"))
    return ResizeCrop(side, int(context.number("crop"))) if context.setting("shaping") == "centre_crop" else Pad(side, square=False)


def _scaled(frame: NDArray[np.uint8], shaping: Shaping) -> NDArray[np.uint8]:
    """The frame before the centre crop, scaled by Pillow as the released program does it: whole values after each direction."""
    if isinstance(shaping, Pad):
        return frame
    height, width = shaping.size(*frame.shape[:2])
    return np.asarray(Image.fromarray(frame).resize((width, height), Image.Resampling.BICUBIC))
