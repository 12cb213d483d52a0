"""Is the place the same when the camera sees it again? The return frame, warped into the early view, is compared with it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lookback.benchmarks.folder.metrics.shared import Seen, folder_metric, seen_again
from lookback.benchmarks.mbench.metrics.rendering_lighting import ALPHA, TAU, lighting_deviation, lighting_score
from lookback.measures.checks import unit_float
from lookback.measures.features import cosine
from lookback.measures.images import ssim_map
from lookback.measures.revisits import PlaceComparison, Revisit, compare_place
from lookback.measures.scores import clip01
from lookback.scoring import PixelScoring, Scored, ScoringClip, Unit, mean_item

Measure = Callable[[PlaceComparison, Revisit], tuple[float, float]]  # value and raw value of one pair
PAIRS = "pairs of an early frame and the frame that shows its view again, found by matching"


def comparison(seen: Seen, revisit: Revisit) -> PlaceComparison:
    """The pair of a revisit, the return warped into the early view."""
    assert revisit.pair.matrix is not None, "a revisit is a matched pair"
    return compare_place(seen.views[revisit.pair.first].picture, seen.views[revisit.pair.second].picture, revisit.pair.matrix)


def overlap_ssim(place: PlaceComparison) -> float:
    """Mean SSIM of the early view and the warped return over the pixels that both show, clipped to [0,1]."""
    return clip01(float(ssim_map(unit_float(place.first), unit_float(place.warped), data_range=1.0)[place.valid].mean()))


def overlap_crops(place: PlaceComparison) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Both pictures cut to the box around the overlap; what the return does not fill is grey in both."""
    rows, columns = np.flatnonzero(place.valid.any(axis=1)), np.flatnonzero(place.valid.any(axis=0))
    box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    first, warped = (np.where(place.valid[..., None], picture, 128).astype(np.uint8) for picture in (place.first, place.warped))
    return first[box], warped[box]


def score_pairs(context: ScoringClip, measure: Measure) -> PixelScoring:
    """One unit per revisit; the item is their mean."""
    seen: Seen = yield from seen_again(context)
    units = []
    for revisit in seen.require_revisits():
        pair, key = revisit.pair, ("folder_place", revisit.pair.first)
        if key not in context.shared:
            context.shared[key] = comparison(seen, revisit)
        value, raw = measure(context.shared[key], revisit)
        how = f"{pair.inliers} matches agree" if pair.correlation is None else f"detail correlates {pair.correlation:.2f}"
        detail = f"{how}; {pair.overlap:.0%} of the view, {revisit.overlap_away:.0%} at frame {revisit.away}"
        units.append(Unit(f"f{pair.first}_f{pair.second}", "pair", value, raw, pair.first, pair.second, detail=detail))
    return Scored([mean_item(units)], units)


@folder_metric(
    "view_again",
    title="View seen again",
    unit="share of the view",
    higher_is_better=None,
    roles=("pose",),
    equation="overlap(early view, return frame)",
    source=f"this project; {PAIRS}",
)
def score_view(context: ScoringClip) -> PixelScoring:
    """How much of an early view the return shows. The raw value is the frame in between that shows least of it."""
    return (yield from score_pairs(context, lambda place, revisit: (revisit.pair.overlap, float(revisit.away))))


@folder_metric(
    "place_kept",
    title="Place kept",
    unit="share of the overlap",
    roles=("pose",),
    equation="share of the overlap whose local structure correlates by 0.5 or more",
    source=f"this project (SSIM's structure term); {PAIRS}",
)
def score_kept(context: ScoringClip) -> PixelScoring:
    """Brightness does not count here: a darker room is the same room."""
    return (yield from score_pairs(context, lambda place, revisit: (place.kept(), place.kept())))


@folder_metric(
    "place_ssim",
    title="Place, SSIM",
    unit="SSIM",
    roles=("pose",),
    equation="mean SSIM(I_i, W_j->i(I_j)) over the overlap",
    source=f"MBench eq. 4 on the whole overlap instead of an object's mask; {PAIRS}",
)
def score_ssim(context: ScoringClip) -> PixelScoring:
    """The same picture at the same place."""

    def measure(place: PlaceComparison, revisit: Revisit) -> tuple[float, float]:
        return (value := overlap_ssim(place)), value

    return (yield from score_pairs(context, measure))


@folder_metric(
    "place_lpips",
    title="Place, LPIPS",
    unit="LPIPS",
    range=(0.0, None),
    higher_is_better=False,
    roles=("pose",),
    tools=("perceptual",),
    equation="LPIPS(I_i, W_j->i(I_j)) of the overlap, AlexNet",
    source=f"as MIND's lpips, of two times of one video; {PAIRS}",
)
def score_lpips(context: ScoringClip) -> PixelScoring:
    """The perceptual distance of both views of the place."""
    perceptual = context.backend("perceptual")

    def measure(place: PlaceComparison, revisit: Revisit) -> tuple[float, float]:
        first, warped = overlap_crops(place)
        return (value := float(perceptual.distance(first[None], warped[None], net="alex")[0])), value

    return (yield from score_pairs(context, measure))


@folder_metric(
    "place_features",
    title="Place, features",
    unit="cosine",
    roles=("pose",),
    tools=("features",),
    equation="cos(f(I_i), f(W_j->i(I_j))) of the overlap",
    source=f"as MBench eq. 5 of two pictures; {PAIRS}",
)
def score_features(context: ScoringClip) -> PixelScoring:
    """Image features of both views of the place."""
    encoder = context.backend("features")

    def measure(place: PlaceComparison, revisit: Revisit) -> tuple[float, float]:
        vectors = encoder.encode(np.stack(overlap_crops(place))).cls
        near = float(cosine(vectors[0], vectors[1]))
        return clip01(near), near

    return (yield from score_pairs(context, measure))


@folder_metric(
    "place_lighting",
    title="Place, lighting",
    unit="exp(-CIELAB/tau)",
    roles=("pose",),
    equation="exp(-D/tau), D = alpha |A_i - A_j| + (1 - alpha) |c_i - c_j| of the overlap",
    source=f"MBench eq. 9-12, paper variant, alpha {ALPHA:g}, tau {TAU:g}; {PAIRS}",
)
def score_lighting(context: ScoringClip) -> PixelScoring:
    """Brightness and colour of both views of the place. The raw value is the deviation in CIELAB units."""

    def measure(place: PlaceComparison, revisit: Revisit) -> tuple[float, float]:
        pixels = [picture[place.valid][None, None] for picture in (place.first, place.warped)]
        deviation = lighting_deviation(pixels[0], pixels[1], ALPHA)
        return lighting_score(deviation, tau=TAU), deviation

    return (yield from score_pairs(context, measure))
