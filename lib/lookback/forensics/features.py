"""The evidence of a clip as plain numbers: one row per clip, one column per feature. A feature that cannot be taken has a reason.

Curves are read against the clip's own start: `late` is the last third, `start` the first sixth. Nothing here decides anything; the
models in `calibration/` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lookback.camera.intent import compile
from lookback.camera.prompts import parse_prompt
from lookback.errors import NotScorable, Reason
from lookback.forensics.evidence import Evidence, Path
from lookback.registry import BENCHMARKS

MIN_FRAMES = 6  # of a curve
MIN_REQUEST_DEG = 10.0  # a smaller request is no turn
LEFT = 0.15  # picture widths: a view that gets less far from its start never left it
LEAST_WAY = 0.01  # units of the request: less is no motion
ASPECT = 16 / 9  # a step down moves a larger share of the picture out of view than a step across
OUT = 0  # state of a subject that is out of view
RESTING, FEWEST_RESTING = 0.01, 3  # a step of less, in picture widths, is a camera at rest; in so many pictures


@dataclass(frozen=True)
class Features:
    """The features of one clip by name, and the reason of each that is missing."""

    values: Mapping[str, float]
    missing: Mapping[str, NotScorable] = field(default_factory=dict)


@dataclass(frozen=True)
class Feature:
    """One feature: what it is, in words, and how it is taken."""

    name: str
    words: str
    take: Callable[[Evidence], float]


def features(seen: Evidence) -> Features:
    """Every feature of the clip."""
    values: dict[str, float] = {}
    missing: dict[str, NotScorable] = {}
    for feature in FEATURES:
        try:
            value = feature.take(seen)
            if not np.isfinite(value):
                raise NotScorable(Reason.UNDEFINED, f"{feature.words}: no value")
            values[feature.name] = float(value)
        except NotScorable as error:
            missing[feature.name] = error
    return Features(values, missing)


def curve(seen: Evidence, name: str) -> NDArray[np.float64]:
    """A curve of the clip, NaN where a frame has no value."""
    values = np.asarray(seen.curves.get(name, ()), float)
    if name.startswith("truth_") and not len(values):
        raise NotScorable(Reason.MISSING_INPUT, "no ground truth to compare with")
    if len(values) < MIN_FRAMES:
        raise NotScorable(Reason.TOO_SHORT, f"{len(values)} pictures were looked at, at least {MIN_FRAMES} are needed")
    if np.isfinite(values).sum() < MIN_FRAMES / 2:
        raise NotScorable(Reason.TOO_FEW_MATCHES, f"{name.replace('_', ' ')}: too little to compare in most pictures")
    return values


def start(values: NDArray[np.float64]) -> float:
    """The median over the first sixth."""
    return float(np.nanmedian(values[: max(2, len(values) // 6)]))


def late(values: NDArray[np.float64]) -> float:
    """The median over the last third."""
    return float(np.nanmedian(values[-max(2, len(values) // 3) :]))


def change(values: NDArray[np.float64]) -> float:
    """The logarithm of late / start."""
    return float(np.log(max(late(values), 1e-4) / max(start(values), 1e-4)))


def largest_change(values: NDArray[np.float64]) -> float:
    """The largest |log(value / first value)| that lasts for three pictures."""
    steps = np.abs(np.log(np.maximum(values, 1e-3) / max(float(values[0]), 1e-3)))
    lasting = np.lib.stride_tricks.sliding_window_view(steps, 3).min(axis=1)
    return float(np.nanmax(lasting))


def place(seen: Evidence) -> NDArray[np.float64]:
    """(N,3) of where the view is: pan and tilt in picture widths, and the logarithm of the zoom; the sum of all steps."""
    steps = np.column_stack([np.nan_to_num(curve(seen, name)) for name in ("pan", "tilt", "zoom")])
    return np.asarray(np.cumsum(steps, axis=0))


def reach(seen: Evidence) -> float:
    return float(np.linalg.norm(place(seen), axis=1).max())


def not_back(seen: Evidence) -> float:
    """How far the view ends from its start, as a share of the farthest place; 0 for a camera that came back or never left.

    Steps add up their errors, so what is found again of the first picture counts too.
    """
    away = np.linalg.norm(place(seen), axis=1)
    return float(np.clip(min(away[-1] / max(float(away.max()), LEFT), 1 - kept(seen, "first_match")), 0, 1))


def turn(seen: Evidence) -> float:
    if seen.path is None:
        raise NotScorable(Reason.NO_POSES, "no camera path")
    if seen.doubt:
        raise NotScorable(Reason.UNTRUSTED_PATH, seen.doubt)
    return seen.path.farthest


def turn_share(seen: Evidence) -> float:
    if seen.requested is None or seen.requested.farthest < MIN_REQUEST_DEG:
        raise NotScorable(Reason.MISSING_INPUT, "no turn of the camera was asked for, as far as is known")
    return turn(seen) / seen.requested.farthest


def promised_path(seen: Evidence) -> Path:
    """The camera path that was asked for: by the prompt, which needs no estimate, else by a trajectory or the true camera."""
    asked = parse_prompt(seen.clip.prompt, seen.clip.n_frames or MIN_FRAMES) if seen.clip.prompt and not seen.clip.camera else None
    if asked is not None:
        poses = compile(asked)
        return Path(np.arange(len(poses)), poses)
    if seen.requested is None:
        raise NotScorable(Reason.MISSING_INPUT, "nothing says which camera motion was asked for")
    return seen.requested


def asked_motion(seen: Evidence) -> float:
    """How far the camera was asked to turn or, without a turn, to move. A camera that should rest cannot be too still."""
    asked = promised_path(seen)
    way = float(np.ptp(asked.c2w[:, :3, 3], axis=0).max())
    if asked.farthest < MIN_REQUEST_DEG and way < LEAST_WAY:
        raise NotScorable(Reason.NOT_APPLICABLE, "the camera was asked to stay where it is")
    return max(asked.farthest, way)


def off_request(seen: Evidence) -> float:
    """What is missing of the camera motion: of the turn where the camera was asked to end turned away, else of the way back."""
    asked = promised_path(seen)
    ends_away = asked.farthest >= MIN_REQUEST_DEG and asked.away[-1] > asked.farthest / 2
    return 1 - min(turn(seen) / asked.farthest, 1.0) if ends_away else not_back(seen)


def kept(seen: Evidence, name: str) -> float:
    """Late over start; 1 where nothing was lost."""
    values = curve(seen, name)
    return late(values) / max(start(values[1:]), 0.05)


def least(seen: Evidence, name: str) -> float:
    """The least value that lasts for three pictures, over the start."""
    values = curve(seen, name)
    lasting = np.lib.stride_tricks.sliding_window_view(np.nan_to_num(values), 3).max(axis=1)
    return float(lasting.min()) / max(start(values[1:]), 0.05)


def lost_in_view(seen: Evidence) -> float:
    """The share of the first picture that should still be in view late, by the camera's steps, but is not found there."""
    where = place(seen)
    across, down = (np.clip(1 - np.abs(where[:, axis]) * factor, 0, 1) for axis, factor in ((0, 1.0), (1, ASPECT)))
    still = across * down * np.exp(-2 * np.abs(where[:, 2]))
    found = curve(seen, "first_match") / max(start(curve(seen, "first_match")[1:]), 0.05)
    return late(np.maximum(still - np.minimum(np.nan_to_num(found), 1.0), 0.0))


def regained(seen: Evidence) -> float:
    """How much more of the first view is found late than at the least."""
    return kept(seen, "first_match") - least(seen, "first_match")


def mean_of(name: str) -> Callable[[Evidence], float]:
    return lambda seen: float(np.nanmean(curve(seen, name)))


def peak(seen: Evidence, name: str, share: float) -> float:
    return float(np.nanpercentile(curve(seen, name), share))


def event_asked(seen: Evidence) -> float:
    """1 where the task asks for an event. Where it asks for none, nothing can fail to start."""
    asked = seen.event_asked or seen.clip.event_action or BENCHMARKS.get(seen.clip.benchmark).every_task_has_event
    if not asked:
        raise NotScorable(Reason.NOT_APPLICABLE, "no event was asked for, as far as is known")
    return 1.0


def resting_motion(seen: Evidence) -> float:
    """The share of the picture that moves on its own while the camera rests on its first view: there parallax moves nothing."""
    near = np.linalg.norm(place(seen), axis=1) < LEFT
    resting = near & (curve(seen, "step") < RESTING)
    if resting.sum() < FEWEST_RESTING:
        raise NotScorable(Reason.TOO_FEW_VALUES, "the camera hardly rests on its first view")
    return float(np.nanmean(curve(seen, "own_motion")[resting]))


def subject_out_late(seen: Evidence) -> float:
    """The share of the last third in which the subject is out of view; frames in which that is not known do not count."""
    if seen.state is None or not len(seen.state):
        raise NotScorable(Reason.NO_MASK, "the subject was never found")
    end = seen.state[-max(1, len(seen.state) // 3) :]
    known = end[end >= OUT]
    if len(known) < len(end) / 2:
        raise NotScorable(Reason.NO_MASK, "late in the clip it is mostly not known whether the subject is in view")
    return float((known == OUT).mean())


def pair_measure(name: str) -> Callable[[Evidence], float]:
    """The median of a measure over the frame pairs that show the same place twice."""

    def take(seen: Evidence) -> float:
        value = seen.typical(name)
        if not np.isfinite(value):
            raise NotScorable(Reason.NO_RETURN, f"no pair of frames shows the same place ({name.replace('_', ' ')})")
        return value

    return take


FEATURES: tuple[Feature, ...] = (
    Feature("travel", "camera motion added up, in picture widths", lambda seen: float(np.nansum(curve(seen, "step")))),
    Feature("reach", "how far the view gets from its start, in picture widths", reach),
    Feature("not_back", "how far the view ends from its start, as a share of its reach", not_back),
    Feature("turn", "largest turn of the camera path, in degrees", turn),
    Feature("turn_share", "largest turn over the requested turn", turn_share),
    Feature("asked_motion", "the camera motion that was asked for, in degrees or units", asked_motion),
    Feature("off_request", "missing share of the turn or of the way back that was asked for", off_request),
    Feature("first_kept", "points of the first picture found late, over the start", lambda seen: kept(seen, "first_match")),
    Feature("first_least", "points of the first picture at the least, over the start", lambda seen: least(seen, "first_match")),
    Feature("lost_in_view", "share of the first picture that should be in view late but is not found", lost_in_view),
    Feature("regained", "points of the first picture that come back", regained),
    Feature("rigid", "share of tracks that follow the camera, mean", mean_of("rigid")),
    Feature("rigid_least", "share of tracks that follow the camera, 10th percentile", lambda seen: peak(seen, "rigid", 10)),
    Feature("rigid_best", "share of tracks that follow the camera, 75th percentile", lambda seen: peak(seen, "rigid", 75)),
    Feature("event_asked", "an event was asked for", event_asked),
    Feature("resting_motion", "share of the picture that moves on its own while the camera rests", resting_motion),
    Feature("own_motion", "share of the picture that moves on its own, mean", mean_of("own_motion")),
    Feature("own_motion_peak", "share of moving picture, 90th percentile", lambda seen: peak(seen, "own_motion", 90)),
    Feature("unexplained", "share of the picture that no motion explains, mean", mean_of("unexplained")),
    Feature("unexplained_peak", "unexplained share of the picture, 90th percentile", lambda seen: peak(seen, "unexplained", 90)),
    Feature("detail_change", "log of fine detail, late over start", lambda seen: change(curve(seen, "detail"))),
    Feature("detail_largest", "largest lasting change of fine detail", lambda seen: largest_change(curve(seen, "detail"))),
    Feature("saturation_change", "log of saturation, late over start", lambda seen: change(curve(seen, "saturation"))),
    Feature("light_largest", "largest lasting change of brightness", lambda seen: largest_change(curve(seen, "light"))),
    Feature("noise_change", "log of single-pixel detail, late over start", lambda seen: change(curve(seen, "block_noise"))),
    Feature("palette_kept", "colours in common with the first picture, late over start", lambda seen: kept(seen, "palette")),
    Feature("truth_match", "points of the true picture found at the same moment, late", lambda seen: kept(seen, "truth_match")),
    Feature("truth_palette", "colours in common with the true picture, late", lambda seen: kept(seen, "truth_palette")),
    Feature("subject_out_late", "share of the last third without the subject", subject_out_late),
    Feature("place_changed", "changed share of a place seen again", pair_measure("changed")),
    Feature("place_new_blocks", "blocks of a place seen again that show something else", pair_measure("low_blocks")),
    Feature("place_bend", "displacement of a place seen again that no homography explains", pair_measure("bend")),
)  # fmt: skip
WORDS = {feature.name: feature.words for feature in FEATURES}
NAMES = tuple(WORDS)


def in_words(names: Iterable[str], values: Mapping[str, float]) -> str:
    """What these features measured: "share of the last third without the subject: 0.92"."""
    return "; ".join(f"{WORDS[name]}: {values[name]:.2g}" for name in names)


def row(seen: Evidence, names: Sequence[str] = NAMES) -> dict[str, float]:
    """The features as one row; NaN where one is missing."""
    found = features(seen).values
    return {name: found.get(name, float("nan")) for name in names}
