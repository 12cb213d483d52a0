"""DINO feature error of the predicted frames (MIND, `dino`)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.artifacts import Features
from lookback.benchmarks.mind.metrics.shared import (
    mind_metric,
    predicted_frames,
    preprocess,
    scored_length,
    variant_of,
    video_max_time,
)
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, require_equal_size, require_finite
from lookback.scoring import Item, Paired, PixelScoring, Scored, ScoringClip, Unit

SHORTEST = 1e-12  # torch's `eps`: shorter tokens are divided by this


def dino_mse(patches: ArrayLike, patches_truth: ArrayLike) -> NDArray[np.float64]:
    """Per frame, the mean squared error of L2-normalised patch tokens (N,P,D), special tokens dropped.

    Normalised as in the released code (torch's `normalize`): a token of length zero, as a network with ReLU gives for a black
    patch, stays zero, and the clip still gets a score.
    """
    predicted, expected = require_finite(patches, "patches", ndim=3), require_finite(patches_truth, "patches_truth", ndim=3)
    require_equal_size(predicted, expected, "patches and patches_truth")
    errors: NDArray[np.float64] = ((_normalised(predicted) - _normalised(expected)) ** 2).mean(axis=(1, 2))
    return errors


def _normalised(tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths: NDArray[np.float64] = np.linalg.norm(tokens, axis=-1, keepdims=True)
    return tokens / np.maximum(lengths, SHORTEST)


BATCH = 8  # pairs encoded at once


class FrameEncoder(Protocol):
    """The backend of the role `features`."""

    def encode(self, frames: NDArray[np.uint8]) -> Features: ...


class FeatureErrors:
    """Feature error of each pair of frames, encoded in small batches."""

    def __init__(self, encoder: FrameEncoder):
        self.encoder = encoder
        self.waiting: list[tuple[int, NDArray[np.uint8], NDArray[np.uint8]]] = []
        self.found: dict[int, float] = {}

    def push(self, index: int, frame: Array, truth: Array | None) -> None:
        assert truth is not None
        self.waiting.append((index, _picture(frame), _picture(truth)))
        if len(self.waiting) == BATCH:
            self._encode()

    def finish(self) -> dict[int, float]:
        if self.waiting:
            self._encode()
        return self.found

    def _encode(self) -> None:
        indices, frames, truths = zip(*self.waiting, strict=True)
        made = self.encoder.encode(np.stack([*frames, *truths]))
        patches = made.picture_patches().astype(np.float64)
        errors = dino_mse(patches[: len(frames)], patches[len(frames) :])
        self.found |= dict(zip(indices, map(float, errors), strict=True))
        self.waiting = []


def _picture(frame: Array) -> NDArray[np.uint8]:
    picture: NDArray[np.uint8] = np.rint(preprocess(frame) * 255.0).astype(np.uint8)
    return picture


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
    constants=("dino_every", "video_max_time"),
    differences={"official": "the loop drops its last batch of 100 frames"},
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """The prediction's patch features against the truth's; `dino_every` takes fewer frames, and the item says so."""
    frames, truth = predicted_frames(context, video_max_time(context))
    length, every = scored_length(len(frames), variant=variant_of(context)), int(context.constant("dino_every", 1))
    if length == 0:
        raise NotScorable(Reason.TOO_SHORT, f"{len(frames)} frames leave none to score ({context.variant})")
    encoder = context.backend("features")
    every_pair = yield Paired(f"dino-{every}", lambda: FeatureErrors(encoder), frames[::every], truth[::every])
    found = {frame: error for frame, error in every_pair.items() if frame < length}  # both variants share the pairs
    units = [Unit(f"f{frame}", "frame", error, error, frame) for frame, error in found.items()]
    mean = float(np.mean(list(found.values())))
    return Scored([Item(mean, mean, detail=f"every {every}th frame" if every > 1 else "", n_units=len(units))], units)
