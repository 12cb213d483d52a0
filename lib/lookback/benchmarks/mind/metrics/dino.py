"""DINO feature error of the predicted frames (MIND, `dino`)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.backends.features.geometry import ResizeCrop, Shaping
from lookback.benchmarks.mind.metrics.shared import (
    frame_size,
    mind_metric,
    other_size,
    predicted_frames,
    preprocess,
    scored_frames,
    video_max_time,
)
from lookback.measures.checks import Array, require_equal_size, require_finite
from lookback.measures.features import patch_directions
from lookback.scoring import Item, Paired, PixelScoring, Scored, ScoringClip, Unit


def dino_mse(patches: ArrayLike, patches_truth: ArrayLike) -> NDArray[np.float64]:
    """Per frame, the mean squared error of L2-normalised patch tokens (N,P,D), special tokens dropped."""
    predicted, expected = require_finite(patches, "patches", ndim=3), require_finite(patches_truth, "patches_truth", ndim=3)
    require_equal_size(predicted, expected, "patches and patches_truth")
    errors: NDArray[np.float64] = ((patch_directions(predicted) - patch_directions(expected)) ** 2).mean(axis=(1, 2))
    return errors


BATCH = 8  # pairs encoded at once


class FrameEncoder(Protocol):
    """The backend of the role `features`."""

    @property
    def weights(self) -> tuple[str, ...]: ...

    def tokens(self, frames: NDArray[np.float32], shaping: Shaping) -> NDArray[np.float32]: ...


class FeatureErrors:
    """Feature error of each pair of frames, encoded in small batches."""

    def __init__(self, encoder: FrameEncoder, size: tuple[int, int], shaping: Shaping):
        self.encoder, self.size, self.shaping = encoder, size, shaping
        self.waiting: list[tuple[int, NDArray[np.float32], NDArray[np.float32]]] = []
        self.found: dict[int, float] = {}

    def push(self, index: int, frame: Array, truth: Array | None) -> None:
        assert truth is not None
        self.waiting.append((index, preprocess(frame, *self.size), preprocess(truth, *self.size)))
        if len(self.waiting) == BATCH:
            self._encode()

    def finish(self) -> dict[int, float]:
        if self.waiting:
            self._encode()
        return self.found

    def _encode(self) -> None:
        indices, frames, truths = zip(*self.waiting, strict=True)
        tokens = self.encoder.tokens(np.stack([*frames, *truths]), self.shaping)
        errors = dino_mse(tokens[: len(frames)], tokens[len(frames) :])
        self.found |= dict(zip(indices, map(float, errors), strict=True))
        self.waiting = []


def shaping_of(context: ScoringClip) -> ResizeCrop:
    """How the network's processor prepares a frame: squeezed to a square, without a crop."""
    return ResizeCrop(
        resize=0,
        crop=int(context.number("side")),
        interpolation=str(context.setting("interpolation")),
        antialias=bool(context.setting("antialias")),
        rescale_twice=bool(context.setting("rescale_twice")),
    )


@mind_metric(
    "dino",
    title="DINO feature error",
    unit="mse",
    range=(0.0, None),
    higher_is_better=False,
    needs=("video", "ground_truth", "mark_time"),
    roles=(),
    tools=("features",),
    subsets=("mem_test", "action_space_test"),
    equation="mean squared error of L2-normalised patch tokens",
    source="MIND, dino",
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """The prediction's patch features against the truth's; `dino_every` takes fewer frames, and the item says so."""
    frames, truth = predicted_frames(context, video_max_time(context))
    length, every = scored_frames(context, len(frames)), int(context.number("dino_every"))
    encoder, size, shaping = context.backend("features"), frame_size(context), shaping_of(context)
    key = f"dino-{every}-{size}-{shaping}"
    every_pair = yield Paired(key, lambda: FeatureErrors(encoder, size, shaping), frames[::every], truth[::every])
    found = {frame: error for frame, error in every_pair.items() if frame < length}
    units = [Unit(f"f{frame}", "frame", error, error, frame) for frame, error in found.items()]
    mean = float(np.mean(list(found.values())))
    return Scored([Item(mean, mean, detail=_departures(encoder, context, every), n_units=len(units))], units)


def _departures(encoder: FrameEncoder, context: ScoringClip, every: int) -> str:
    """What keeps the number from being the preset's own: frames left out, another size, another network."""
    network = str(context.setting("network"))
    named = "" if network in encoder.weights else f"{encoder.weights[0]} in place of {network}"
    return "; ".join(filter(None, [f"every {every}th frame" if every > 1 else "", other_size(context), named]))
