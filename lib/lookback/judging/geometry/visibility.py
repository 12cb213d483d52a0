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
JUDGEABLE_SHARE = 2 / 3  # of a second's frames; with half of them an absence that spans two seconds would hide in neither


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

    @property
    def reappears(self) -> bool:
        """It comes back as itself, not as a sliver at the border: whole in view, or at least half of its usual area."""
        back = self.back_at
        return back is not None and bool((self.judgeable & (~self.touching | (self.relative_area >= WHOLE)))[back:].any())

    def joined(self, other: Visibility) -> Visibility:
        """Seen by either of two trackers over the same frames; where both see it, what this one says counts."""
        if len(self.seconds) != len(other.seconds):
            raise NotScorable(Reason.LENGTH_MISMATCH, f"timelines of {len(self.seconds)} and {len(other.seconds)} frames")
        own = self.visible
        return Visibility(
            self.seconds,
            own | other.visible,
            self.judgeable | other.judgeable,
            np.where(own, self.relative_area, other.relative_area),
            np.where(own, self.touching, other.touching),
            max(self.confidence, other.confidence),
            self.step_s,
        )

    def per_second(self, n_seconds: int) -> list[bool]:
        """Judgeable in each whole second: at least two thirds of its frames are."""
        whole = np.minimum(self.seconds.astype(int), n_seconds - 1)
        counts = [(int(self.judgeable[whole == second].sum()), int((whole == second).sum())) for second in range(n_seconds)]
        return [frames > 0 and judgeable >= JUDGEABLE_SHARE * frames for judgeable, frames in counts]

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


def detections_timeline(
    frame_index: NDArray[np.integer],
    state: NDArray[np.integer],
    area: NDArray[np.floating],
    confidence: NDArray[np.floating],
    n_frames: int,
    fps: float,
) -> Visibility:
    """The timeline of detections: frames where somebody was found, the others not listed (the people artifact).

    A frame shows the nearest detection within half of HIDDEN_S or one sampling step; farther from any, the subject is out. Of
    several people in a frame the largest counts.
    """
    if len(frame_index) == 0:
        raise NotScorable(Reason.NO_MASK, "nobody was found in any frame")
    order = np.lexsort((-np.asarray(area, np.float64), frame_index))
    found, first = np.unique(np.asarray(frame_index)[order], return_index=True)
    chosen = order[first]
    step = float(np.median(np.diff(found))) if len(found) > 1 else 1.0
    reach = max(step, HIDDEN_S * fps / 2)
    frames = np.arange(n_frames)
    nearest = np.abs(frames[:, None] - found[None, :]).argmin(axis=1)
    near = np.abs(frames - found[nearest]) <= reach
    taken = chosen[nearest]
    states = np.where(near, np.asarray(state)[taken], OUT)
    areas = np.where(near, np.asarray(area, np.float64)[taken], 0.0)
    return visibility(states, areas, np.where(near, np.asarray(confidence, np.float64)[taken], 0.0), frames / fps)


def _first(flags: NDArray[np.bool_]) -> int | None:
    places = np.flatnonzero(flags)
    return int(places[0]) if len(places) else None


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Runs of True as [start, stop)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
