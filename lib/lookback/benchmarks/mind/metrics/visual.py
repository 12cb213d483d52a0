"""Visual quality per frame (MIND, `visual`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.benchmarks.mind.metrics.shared import (
    frame_size,
    mind_metric,
    predicted_frames,
    preprocess,
    scored_frames,
    video_max_time,
)
from lookback.errors import NotScorable
from lookback.measures.checks import Array, require_finite
from lookback.scoring import Item, PixelScoring, Scored, ScoringClip, Stream, Unit

IMAGING_SCALE = 100.0
AESTHETIC_SCALE = 10.0
BATCH = 4  # frames scored at once
Judge = Callable[[NDArray[np.float32]], NDArray[np.float32]]  # frames (n,H,W,3) in [0,1] -> scores (n,)


def visual(musiq: ArrayLike, aesthetic: ArrayLike) -> dict[str, NDArray[np.float64] | float]:
    """imaging = MUSIQ-SPAQ / 100 and aesthetic = LAION score / 10, per frame, with their means."""
    imaging = require_finite(musiq, "musiq", ndim=1) / IMAGING_SCALE
    looks = require_finite(aesthetic, "aesthetic", ndim=1) / AESTHETIC_SCALE
    return {"imaging": imaging, "avg_imaging": float(imaging.mean()), "aesthetic": looks, "avg_aesthetic": float(looks.mean())}


class FrameScores:
    """The scores of each frame, in small batches."""

    def __init__(self, judges: dict[str, Judge], size: tuple[int, int]):
        self.judges, self.size = judges, size
        self.waiting: list[NDArray[np.float32]] = []
        self.frames: list[int] = []
        self.found: dict[str, list[float]] = {name: [] for name in judges}

    def push(self, index: int, frame: Array, truth: Array | None) -> None:
        self.frames.append(index)
        self.waiting.append(preprocess(frame, *self.size))
        if len(self.waiting) == BATCH:
            self._score()

    def finish(self) -> tuple[list[int], dict[str, list[float]]]:
        if self.waiting:
            self._score()
        return self.frames, self.found

    def _score(self) -> None:
        pictures = np.stack(self.waiting)
        for name, judge in self.judges.items():
            self.found[name] += [float(score) for score in judge(pictures)]
        self.waiting = []


@mind_metric(
    "visual",
    title="Visual quality (imaging, aesthetic)",
    unit="score",
    range=(0.0, 1.0),
    higher_is_better=True,
    needs=("video",),
    roles=(),
    tools=("quality", "aesthetic"),
    subsets=("mem_test", "action_space_test"),
    equation="MUSIQ-SPAQ / 100; LAION aesthetic (linear head) / 10",
    source="MIND, visual",
    pixels=True,
    phases=("imaging", "aesthetic"),
)
def score(context: ScoringClip) -> PixelScoring:
    """MUSIQ and the aesthetic score of every frame; where one model is missing, the other is still measured."""
    count, every = _count(context), int(context.number("visual_every"))
    judges, missing = _judges(context)
    items = [Item(phase=name, reason=reason.reason, detail=reason.detail) for name, reason in missing.items()]
    if not judges:
        return Scored(items)
    size = frame_size(context)
    key = f"visual-{every}-{count}-{size}-{sorted(judges)}"
    frames, found = yield Stream(key, lambda: FrameScores(judges, size), np.arange(0, count, every))
    units: list[Unit] = []
    for name, values in found.items():
        mean = float(np.mean(values))
        detail = f"{len(values)} of {context.need('n_frames')} frames"
        items.append(Item(mean, mean, name, detail=detail, n_units=len(values)))
        units += [
            Unit(f"{name}_f{frame}", "frame", value, value, frame, phase=name) for frame, value in zip(frames, values, strict=True)
        ]
    return Scored(items, units)


def _count(context: ScoringClip) -> int:
    """How many frames are scored, from the first on."""
    limit = video_max_time(context)
    if context.setting("frames") == "with_ground_truth":
        count = len(predicted_frames(context, limit)[0])
    else:
        count = min(context.need("n_frames"), limit or context.need("n_frames"))
    return scored_frames(context, count)


def _judges(context: ScoringClip) -> tuple[dict[str, Judge], dict[str, NotScorable]]:
    """The two models as functions of frames, and the reason of each that cannot be had."""
    makers = {"imaging": _imaging, "aesthetic": _aesthetic}
    judges: dict[str, Judge] = {}
    missing: dict[str, NotScorable] = {}
    for name, make in makers.items():
        try:
            judges[name] = make(context)
        except NotScorable as reason:
            missing[name] = reason
    return judges, missing


def _imaging(context: ScoringClip) -> Judge:
    backend, name, scale = context.backend("quality"), str(context.setting("imaging")), context.number("imaging_scale")
    backend.require(name)
    return lambda frames: backend.measure(frames, (name,))[name] / scale


def _aesthetic(context: ScoringClip) -> Judge:
    backend, scale = context.backend("aesthetic"), context.number("aesthetic_scale")
    head, antialias = str(context.setting("head")), bool(context.setting("antialias"))
    return lambda frames: backend.scores(frames, head=head, antialias=antialias) / scale
