"""Motion, light and cuts of the whole clip, without phases: smooth motion, steady brightness, no hard cut."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.benchmarks.folder.metrics.shared import folder_metric, sampled_frames
from lookback.benchmarks.memobench.metrics.motion_smoothness import TAU, smoothness, warp_errors
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Array, require_finite
from lookback.measures.images import mean_lab
from lookback.measures.revisits import SIDE
from lookback.measures.scores import exp_decay
from lookback.media.cuts import HEIGHT, WIDTH, shot_cuts
from lookback.scoring import Item, PixelScoring, Scored, ScoringClip, Stream, Unit

FLICKER_TAU = 1.0  # CIELAB lightness; a jump of one unit in every frame is visible as flicker and scores 1/e


def lightness_jumps(lightness: ArrayLike) -> NDArray[np.float64]:
    """|L_(t-1) - 2 L_t + L_(t+1)| / 2 of the mean lightness (N,): 0 for steady light and for light that changes evenly."""
    values = require_finite(lightness, "lightness", ndim=1, at_least=3)
    return np.abs(np.diff(values, 2)) / 2.0


class Thumbnails:
    """A small copy of every frame."""

    def __init__(self) -> None:
        self.pictures: list[NDArray[np.uint8]] = []

    def push(self, index: int, frame: Array, truth: Array | None) -> None:
        self.pictures.append(np.asarray(cv2.resize(frame, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA), np.uint8))

    def finish(self) -> list[NDArray[np.uint8]]:
        return self.pictures


THUMBNAILS = Stream("folder-thumbnails", Thumbnails)


@folder_metric(
    "cuts",
    title="Hard cuts",
    unit="cuts",
    range=(0.0, None),
    higher_is_better=False,
    equation="number of frames that start a new shot",
    source="lookback.media.cuts",
)
def score_cuts(context: ScoringClip) -> PixelScoring:
    """Each cut is a unit. A generated clip of one shot has none."""
    pictures = yield THUMBNAILS
    cuts = [int(frame) for frame in shot_cuts(pictures)]
    units = [Unit(f"f{cut}", "frame", 1.0, 1.0, cut) for cut in cuts]
    return Scored([Item(float(len(cuts)), float(len(cuts)), n_units=len(cuts))], units)


@folder_metric(
    "steady_light",
    title="Steady light",
    unit="exp(-L/tau)",
    equation="exp(-mean_t |L_(t-1) - 2 L_t + L_(t+1)| / 2), L the mean CIELAB lightness",
    source="this project",
)
def score_steady(context: ScoringClip) -> PixelScoring:
    """Flicker of the whole picture. Frames at a cut do not count; the raw value is the mean jump in CIELAB units."""
    pictures = yield THUMBNAILS
    lightness = [float(mean_lab(picture[None])[0]) for picture in pictures]
    near_cut = {cut + step for cut in shot_cuts(pictures) for step in (-1, 0)}
    jumps = {t + 1: float(jump) for t, jump in enumerate(lightness_jumps(lightness)) if t + 1 not in near_cut}
    if not jumps:
        raise NotScorable(Reason.CUT, "a hard cut at every frame")
    mean = float(np.mean(list(jumps.values())))
    units = [Unit(f"f{frame}", "frame", exp_decay(jump, FLICKER_TAU), jump, frame) for frame, jump in jumps.items()]
    return Scored([Item(exp_decay(mean, FLICKER_TAU), mean, n_units=len(units))], units)


class NeighbourErrors:
    """The warp error of each chosen frame to the next one."""

    def __init__(self, context: ScoringClip, starts: Sequence[int]):
        self.flow, self.starts = context.backend("flow").flow, set(starts)
        self.before: tuple[int, NDArray[np.uint8]] | None = None
        self.found: dict[int, float] = {}

    def push(self, index: int, frame: Array, truth: Array | None) -> None:
        scale = min(1.0, SIDE / max(frame.shape[:2]))
        small = frame if scale == 1.0 else cv2.resize(frame, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        if self.before is not None and self.before[0] == index - 1 and self.before[0] in self.starts:
            pair = np.stack([self.before[1], small])
            self.found[self.before[0]] = float(warp_errors(pair, self.flow(pair[0], pair[1])[None])[0])
        self.before = (index, np.asarray(small, np.uint8))

    def finish(self) -> dict[int, float]:
        return self.found


@folder_metric(
    "motion_smoothness",
    title="Motion smoothness",
    unit="exp(-error/tau)",
    tools=("flow",),
    equation="exp(-e / 0.15), e the mean L1 error between neighbouring frames after warping by the flow",
    source="MemoBench eq. 3, paper variant, on neighbouring frames spread over the whole clip instead of its phases",
)
def score_smoothness(context: ScoringClip) -> PixelScoring:
    """Sampled frames against their flow-warped next frame."""
    starts = [int(frame) for frame in sampled_frames(context.need("n_frames"))[:-1]]
    wanted = np.unique([frame + step for frame in starts for step in (0, 1)])
    context.backend("flow")  # a missing backend costs no decoding
    found = yield Stream("folder-smoothness", lambda: NeighbourErrors(context, starts), wanted)
    errors = np.array(list(found.values()))
    units = [Unit(f"f{frame}", "frame", exp_decay(error, TAU), error, frame, frame + 1) for frame, error in found.items()]
    return Scored([Item(smoothness(errors), float(errors.mean()), n_units=len(units))], units)
