"""The subject's visibility timeline, from a mask track: in view, leaving, out of view, returned; and what of it can be judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookback.errors import NotScorable, Reason

OUT, IN_VIEW, LEAVING, RETURNED = 0, 1, 2, 3  # the mask artifact's state codes
SMALLEST = 0.0005  # share of the image below which nothing can be told of a subject
FRAGMENT = 0.25  # of its usual area: less is a fragment whose place or state cannot be told
WHOLE = 0.5  # of its usual area: enough to tell its state
HIDDEN_S = 0.25  # a shorter gap is a missed detection, not a hidden interval


@dataclass(frozen=True)
class Visibility:
    """A subject over time. `visible` says that some of it is in view, `judgeable` that its place and state can be told."""

    seconds: NDArray[np.float64]  # (N,)
    visible: NDArray[np.bool_]
    judgeable: NDArray[np.bool_]
    relative_area: NDArray[np.float64]  # area / usual area, 0 when out
    touching: NDArray[np.bool_]  # cut by the image border
    confidence: float
    step_s: float  # seconds between two entries

    @property
    def seen_first(self) -> int | None:
        return _first(self.judgeable)

    @property
    def hidden(self) -> tuple[int, int] | None:
        """The longest nontrivial run [start, stop) without judgeable evidence, after it was judgeable once."""
        start = self.seen_first
        if start is None:
            return None
        gaps = [(a, b) for a, b in _runs(~self.judgeable) if a > start and (b - a) * self.step_s >= HIDDEN_S]
        return max(gaps, key=lambda gap: gap[1] - gap[0], default=None)

    @property
    def back_at(self) -> int | None:
        """The first judgeable entry after the hidden interval."""
        gap = self.hidden
        back = None if gap is None else _first(self.judgeable[gap[1] :])
        return None if gap is None or back is None else gap[1] + back

    def per_second(self, n_seconds: int) -> list[bool]:
        """Judgeable in each whole second: at least half of its frames are."""
        whole = np.minimum(self.seconds.astype(int), n_seconds - 1)
        counts = [(int(self.judgeable[whole == second].sum()), int((whole == second).sum())) for second in range(n_seconds)]
        return [2 * judgeable >= frames > 0 for judgeable, frames in counts]

    def describe(self) -> str:
        """What can be seen of the subject, in a sentence."""
        start = self.seen_first
        if start is None:
            return "The subject can be judged in no frame."
        gap = self.hidden
        if gap is None:
            return f"The subject stays judgeable from {self.seconds[start]:.1f} s on: it is never hidden for {HIDDEN_S} s or more."
        away = f"judgeable at {self.seconds[start]:.1f} s, hidden from {self.seconds[gap[0]]:.1f} s"
        if self.back_at is None:
            return f"The subject is {away} to the end."
        share = 100 * self.relative_area[self.back_at :].max()
        return f"The subject is {away} to {self.seconds[self.back_at]:.1f} s, then back with {share:.0f} % of its usual area."


def visibility(
    state: NDArray[np.integer], area: NDArray[np.floating], confidence: NDArray[np.floating], seconds: NDArray[np.float64]
) -> Visibility:
    """The timeline of a mask artifact (state codes, share of the image, confidence, time of each entry)."""
    if len(state) < 3:
        raise NotScorable(Reason.TOO_SHORT, f"{len(state)} mask frames, at least 3 are needed to leave and come back")
    state, area = np.asarray(state), np.nan_to_num(np.asarray(area, np.float64))
    visible = (state != OUT) & (area >= SMALLEST)
    whole = visible & (state != LEAVING)
    if not visible.any():
        raise NotScorable(Reason.NO_MASK, "the subject was found in no frame")
    usual = float(np.median(area[whole] if whole.any() else area[visible]))
    relative = np.where(visible, area / usual, 0.0)
    seconds = np.asarray(seconds, np.float64)
    step = float(np.median(np.diff(seconds)))
    sure = float(np.mean(np.asarray(confidence, np.float64)[visible]))
    return Visibility(seconds, visible, visible & (relative >= FRAGMENT), relative, state == LEAVING, sure, step)


def _first(flags: NDArray[np.bool_]) -> int | None:
    places = np.flatnonzero(flags)
    return int(places[0]) if len(places) else None


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Runs of True as [start, stop)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
