"""What MemoBench's metrics share: how they are registered, the clip's phases, the sampled frames, and rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant
from lookback.measures.frames import Phase, phase_frames, phase_map
from lookback.measures.scores import range_percent
from lookback.media import shrink
from lookback.presets import Setting, presets_of
from lookback.registry import metric
from lookback.scoring import ScoringClip

PACKAGE = "lookback.benchmarks.memobench"
BOTH = ("paper", "official")
PHASE_RULES: dict[Setting, Variant] = {"half_open": "paper", "closed": "official"}


def memobench_metric(name: str, *, preset: str = "", **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register under `memobench.<name>`; scores lie in [0,1] and higher is better unless the declaration says otherwise."""
    common: dict[str, Any] = {"benchmark": "memobench", "unit": "score", "range": (0.0, 1.0), "higher_is_better": True}
    return metric(name=f"memobench.{name}", presets=presets_of(PACKAGE, preset or name), **{**common, **declaration})


def setting_of(name: str, variant: Variant, setting: str) -> Any:
    """A setting of a metric's preset, for the functions that are called without a clip."""
    return presets_of(PACKAGE, name).settings[variant][setting]


def phase_rule(context: ScoringClip) -> Variant:
    return PHASE_RULES[context.setting("phases")]


def phases(context: ScoringClip) -> dict[Phase, NDArray[np.int64]]:
    """The generated frames of V, D and R."""
    clip = context.clip
    if clip.d_start is None or clip.r_start is None or clip.gt_frames is None:
        raise NotScorable(Reason.NO_PHASES, "the phase sheet has no d_start and r_start for this clip")
    count = context.need("n_frames")
    return phase_frames(*phase_map(clip.d_start, clip.r_start, clip.gt_frames, count), count, variant=phase_rule(context))


def spread(first: int, last: int, count: int) -> NDArray[np.int64]:
    """`count` frames from `first` to `last`: first + int(i (last - first) / (count - 1)). Short spans repeat frames."""
    if count <= 1 or last <= first:
        return np.array([first], dtype=np.int64)
    return np.array([first + int(i * (last - first) / (count - 1)) for i in range(count)], dtype=np.int64)


def limited(context: ScoringClip, frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The frame at the preset's `max_side`; 0 keeps its size."""
    side = int(context.number("max_side"))
    return shrink(frame, side) if side else frame


def raw_rounded(context: ScoringClip, value: float) -> float:
    """A clip's raw number with the preset's `raw_digits`."""
    return value if context.setting("raw_digits") is None else round(value, int(context.number("raw_digits")))


def percent(context: ScoringClip, value: float, low: float = 0.0, high: float = 1.0) -> float:
    """The 0-100 value (eq. 1) of a raw number, with the preset's `percent_digits`. numpy rounds as the released tables do."""
    whole = range_percent(raw_rounded(context, value), low, high)
    return whole if context.setting("percent_digits") is None else float(np.round(whole, int(context.number("percent_digits"))))


def share(context: ScoringClip, whole: float) -> float:
    """A score of 0-100, with the preset's `score_digits`, as a number in [0,1]."""
    if context.setting("score_digits") is not None:
        whole = float(np.round(whole, int(context.number("score_digits"))))
    return whole / 100.0
