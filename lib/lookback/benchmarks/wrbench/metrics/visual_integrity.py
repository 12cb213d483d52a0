"""Visual integrity: are the frames intact enough to be judged (WRBench dimension iii, eq. 3 and 11-13)?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.backends.features.geometry import Pad, ResizeCrop, Shaping
from lookback.benchmarks.wrbench.metrics.shared import Settings, settings_of, wrbench_metric
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite, require_mask
from lookback.measures.features import patch_directions, unit_vectors
from lookback.measures.scores import clip01
from lookback.media import sample_fps
from lookback.scoring import Frames, Item, PixelScoring, Scored, ScoringClip, Unit

SIDE = 448  # the paper's, of a padded frame


def visual_integrity(cls: ArrayLike, patches: ArrayLike, valid: ArrayLike | None = None) -> float:
    """min(s_global, s_local) (WRBench eq. 3), in [0,1].

    s_global = clip(cos(CLS_first, CLS_last)) (eq. 11); s_local = P20 over adjacent frames of P20 of the bidirectional best-match
    patch cosines (eq. 12-13). `cls` (T,D), `patches` (T,P,D); `valid` (P,) or (T,P) is false for patches of padding only.
    """
    return integrity_parts(cls, patches, valid)["score"]


def integrity_parts(
    cls: ArrayLike, patches: ArrayLike, valid: ArrayLike | None = None, percentile: float | None = None
) -> dict[str, float]:
    """The score, its two terms, and the valid-patch-mean global term that the paper reports as a diagnostic."""
    return _parts_and_pairs(cls, patches, valid, percentile)[0]


def _parts_and_pairs(
    cls: ArrayLike, patches: ArrayLike, valid: ArrayLike | None, percentile: float | None
) -> tuple[dict[str, float], NDArray[np.float64]]:
    """The parts of the score, and the score of every adjacent pair behind the local term."""
    percentile = settings_of("visual_integrity", "paper").number("integrity_percentile") if percentile is None else percentile
    tokens = require_finite(cls, "cls", ndim=2)
    if len(tokens) < 2:
        raise NotScorable(Reason.TOO_SHORT, f"{len(tokens)} sampled frames, at least 2 are needed")
    frames, kept = _normalised_patches(patches, valid, len(tokens))
    unit = unit_vectors(tokens, "cls")
    s_global = clip01(float(unit[0] @ unit[-1]))
    pairs = _adjacent_scores(frames, kept, percentile)
    s_local = float(np.percentile(pairs, percentile))
    ends = unit_vectors(np.stack([frames[index][kept[index]].mean(axis=0) for index in (0, -1)]), "mean patch")
    parts = {
        "score": min(s_global, s_local),
        "s_global": s_global,
        "s_local": s_local,
        "s_global_patch_mean": clip01(float(ends[0] @ ends[1])),
    }
    return parts, pairs


def _adjacent_scores(patches: NDArray[np.float64], valid: NDArray[np.bool_], percentile: float) -> NDArray[np.float64]:
    """P20 of the best-match set of each adjacent pair (WRBench eq. 12): unit patches (T,P,D), valid (T,P) -> (T-1,)."""
    scores = []
    for index in range(len(patches) - 1):
        similarity = np.clip(patches[index][valid[index]] @ patches[index + 1][valid[index + 1]].T, 0.0, 1.0)
        best = np.concatenate([similarity.max(axis=1), similarity.max(axis=0)])
        scores.append(np.percentile(best, percentile))
    return np.array(scores)


def _normalised_patches(
    patches: ArrayLike, valid: ArrayLike | None, n_frames: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    array = require_finite(patches, "patches", ndim=3)
    if len(array) != n_frames:
        raise NotScorable(Reason.LENGTH_MISMATCH, f"cls and patches: {n_frames} against {len(array)} frames")
    flags = np.ones(array.shape[:2], dtype=bool) if valid is None else require_mask(valid, "valid")
    if flags.shape not in {array.shape[:2], array.shape[1:2]}:
        raise NotScorable(Reason.SIZE_MISMATCH, f"valid: {flags.shape} for patches of {array.shape[:2]}")
    flags = np.broadcast_to(flags, array.shape[:2])
    if not flags.any(axis=1).all():
        raise NotScorable(Reason.INVALID_INPUT, "valid: a frame has padding only")
    return np.where(flags[..., None], patch_directions(array), 0.0), flags


def integrity_frames(n_frames: int, fps: float | None, context: Settings) -> NDArray[np.int64]:
    """Which frames are looked at: every fps / integrity_fps-th, with the first and the last, within the limits of the variant."""
    fewest = int(min(context.number("integrity_min_frames"), n_frames))
    most = int(min(context.number("integrity_max_frames"), n_frames))
    if fps is None and context.setting("without_fps") == "even":
        return np.linspace(0, n_frames - 1, most, dtype=np.int64)
    sampled = sample_fps(n_frames, fps, context.number("integrity_fps"))
    if len(sampled) < fewest:
        sampled = np.unique(np.concatenate([sampled, np.linspace(0, n_frames - 1, fewest, dtype=np.int64)]))
    return sampled if len(sampled) <= most else sampled[np.linspace(0, len(sampled) - 1, most, dtype=np.int64)]


def _view(context: ScoringClip) -> Shaping:
    """How frames are brought to the encoder: the whole view padded to the patch grid, or a resized centre crop."""
    if context.setting("view") == "padded":
        return Pad(int(context.number("integrity_side")), bool(context.setting("square")))
    resize, crop = int(context.number("integrity_resize")), int(context.number("integrity_crop"))
    interpolation, antialias = str(context.setting("interpolation")), bool(context.setting("antialias"))
    return ResizeCrop(resize, crop, interpolation, antialias, margin=str(context.setting("margin")))


def _other_side(context: ScoringClip) -> str:
    """What the item says where the run pads frames to another side than the paper's; empty otherwise."""
    side = int(context.number("integrity_side")) if context.setting("view") == "padded" else SIDE
    return "" if side == SIDE else f"frames of {side} px"


@wrbench_metric(
    "visual_integrity",
    title="Visual integrity",
    needs=("video",),
    roles=(),
    tools=("features",),
    pixels=True,
    equation="min(cos(CLS_first, CLS_last), P20 over adjacent frames of P20 of best-match patch cosines)",
    source="WRBench dimension (iii), eq. 3 and 11-13",
)
def score(context: ScoringClip) -> PixelScoring:
    """Both terms and the valid-patch-mean diagnostic are in the item's detail; each adjacent pair is a unit."""
    frames = integrity_frames(context.need("n_frames"), context.clip.fps, context)
    images = yield Frames(frames)
    found = context.backend("features").encode(np.stack([images[int(frame)] for frame in frames]), _view(context))
    valid = found.valid if context.setting("mask") else None
    parts, pairs = _parts_and_pairs(found.cls, found.patches, valid, context.number("integrity_percentile"))
    units = [
        Unit(f"f{int(a)}_f{int(b)}", "pair", float(value), float(value), int(b), int(a))
        for value, a, b in zip(pairs, frames[:-1], frames[1:], strict=True)
    ]
    told = [f"{name} {parts[name]:.4f}" for name in ("s_global", "s_local", "s_global_patch_mean")]
    detail = ", ".join(filter(None, [*told, _other_side(context)]))
    return Scored([Item(parts["score"], parts["score"], detail=detail, n_units=len(units))], units)
