"""What camera poses and mask tracks say about a clip: did the camera leave and return, did the subject leave and return?

Three steps: `camera_path` describes the camera, `visibility` describes the subject, and `trigger` and `reobserved_predicates`
decide from both. Every decision carries a sentence that a person can check on the frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookback.artifacts.masks import LEAVING, OUT
from lookback.camera.poses import relative_to_first, rotation_angle_deg
from lookback.errors import NotScorable, Reason
from lookback.measures.camera_activity import CameraActivity, view_overlap

# the camera
INACTIVE_DEG = 5.0  # a camera that never turns further and shows no parallax is inactive (WRBench's static band)
STATIC_TRANSLATION = 0.05  # WRBench's static request allows this much
DEPARTED_OVERLAP = 0.4  # more than half of the first view is out of sight: about 36 deg of a 60 deg view
RETURNED_OVERLAP = 0.4  # enough is back to compare; an estimated path drifts on the way, so more cannot be asked for
REGAINED = 0.3  # the return must bring back at least this share of the first view
MOVING_SHARE = 0.1  # with parallax in more of the frames than this, the camera moved
# the subject
SMALLEST = 0.0005  # share of the image; a smaller subject is too small to see
FRAGMENT = 0.25  # share of its usual area; with less in view, neither its place nor its state can be told
WHOLE = 0.5  # share of its usual area; enough to tell its state
HIDDEN_S = 0.25  # a shorter gap is a missed detection, not a hidden interval
JUDGEABLE_SHARE = 2 / 3  # of a second's frames; at one half, an absence across two seconds could be missed in both
# decisions
SURE = 0.99  # the highest confidence: no estimate from pixels is certain
WEAK = 0.6  # decisions about facts below this confidence are not given
# Counted on labelled real clips (`bench/cameras_real.py`), with one added to each side: of the clips whose camera leaves the first
# view (True) or not, those whose subject gets out of view; of those, where the camera returns or not, those that show it again.
HIDDEN_PRIOR = {True: 0.89, False: 0.29}
RETURNED_PRIOR = {True: 0.89, False: 0.27}
MASK_LOGIT = 1.5


@dataclass(frozen=True)
class CameraPath:
    """The camera's departure and return, from its poses.

    Rotation decides: how much of the first view is still in sight. Poses from one camera have no scale, so translation only says
    that the camera moved, and only where parallax was observed: a camera that moves and hardly turns may or may not have left.
    """

    seconds: NDArray[np.float64]  # (N,)
    angle_deg: NDArray[np.float64]  # turn away from the first view
    overlap: NDArray[np.float64]  # share of the first view still in sight
    moved: bool  # parallax was observed
    confidence: float
    activity: CameraActivity | None = None  # what the picture itself shows, where the artifact holds it; it then decides

    @property
    def inactive(self) -> bool:
        if self.activity is not None:
            return self.activity.moves == "none"
        return not self.moved and float(self.angle_deg.max()) < INACTIVE_DEG

    @property
    def turnaround(self) -> int:
        """The frame that shows the least of the first view before the camera is back; among equals, the one turned farthest."""
        end = len(self.overlap) if self.back_at is None else self.back_at
        return int(np.lexsort((-self.angle_deg[:end], self.overlap[:end]))[0])

    @property
    def departed(self) -> bool:
        if self.activity is not None:
            return self.activity.departs >= 0.5
        return float(self.overlap.min()) <= DEPARTED_OVERLAP

    @property
    def unknown(self) -> bool:
        """Nobody can say whether the camera left: it moved, it turned too little to leave, and the picture was not measured."""
        return self.activity is None and self.moved and not self.departed

    @property
    def back_at(self) -> int | None:
        """The first frame that shows the first view again after the camera left it, wherever it goes afterwards."""
        if self.activity is not None:
            return self.activity.return_row
        least = np.minimum.accumulate(self.overlap)
        return _first((least <= DEPARTED_OVERLAP) & (self.overlap >= np.maximum(RETURNED_OVERLAP, least + REGAINED)))

    @property
    def returned(self) -> bool:
        return self.back_at is not None

    def describe(self) -> str:
        """One sentence about what the camera did."""
        if self.activity is not None:
            return f"{self.activity.describe()} Evidence: {self.activity.why}."
        peak = float(self.angle_deg.max())
        if self.inactive:
            return f"The camera never turns more than {peak:.1f} deg from its first view and shows no parallax: it is inactive."
        where = self.turnaround
        share = f"{100 * self.overlap[where]:.0f} % of it in sight"
        turn = f"{self.angle_deg[where]:.0f} deg at {self.seconds[where]:.1f} s, with {share}"
        if self.unknown:
            moved = "whether it leaves the first view by moving cannot be told from the path alone"
            return f"The camera moves; its farthest turn is {self.angle_deg[where]:.0f} deg, and {moved}."
        if not self.departed:
            return f"The camera does not leave the first view: its farthest turn is {turn}."
        back = self.back_at
        if back is None:
            last = f"at the end {100 * self.overlap[-1]:.0f} % of it are in sight"
            return f"The camera leaves the first view ({turn}) and does not come back: {last}."
        best = back + int(np.argmax(self.overlap[back:]))
        seen = f"{100 * self.overlap[best]:.0f} % of it in sight at {self.seconds[best]:.1f} s"
        return f"The camera leaves the first view ({turn}) and comes back from {self.seconds[back]:.1f} s on ({seen})."


def camera_path(
    c2w: NDArray[np.float64],
    intrinsics: NDArray[np.float64],
    size: tuple[int, int],
    seconds: NDArray[np.float64],
    confidence: NDArray[np.floating],
    has_translation: NDArray[np.bool_],
    activity: CameraActivity | None = None,
) -> CameraPath:
    """The camera path of a pose artifact; `size` is the (width, height) of the video that the intrinsics belong to.

    `activity` is what the picture itself shows; where it is given, it decides and not the path.
    """
    if len(c2w) < 3:
        raise NotScorable(Reason.TOO_SHORT, f"{len(c2w)} poses, at least 3 are needed to depart and return")
    relative = relative_to_first(c2w)
    angle = rotation_angle_deg(np.eye(3), relative[:, :3, :3])
    overlap = view_overlap(relative[:, :3, :3], np.asarray(intrinsics, np.float64), size)
    extent = float(np.linalg.norm(relative[:, :3, 3], axis=1).max())
    moved = bool(np.mean(has_translation) > MOVING_SHARE and extent > STATIC_TRANSLATION)
    return CameraPath(np.asarray(seconds, np.float64), angle, overlap, moved, float(np.mean(confidence)), activity)


@dataclass(frozen=True)
class Visibility:
    """A subject over time. `visible`: some of it is in view. `judgeable`: its place and state can be told."""

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
        """The longest run [start, stop) of at least HIDDEN_S in which the subject is not judgeable, after it was judgeable once.

        A subject may come back and then leave for good: a run that ends with a return comes before one that lasts to the end,
        unless it is less than half as long.
        """
        start = self.seen_first
        if start is None:
            return None
        gaps = [(a, b) for a, b in _runs(~self.judgeable) if a > start and (b - a) * self.step_s >= HIDDEN_S]
        return max(gaps, key=lambda gap: (gap[1] - gap[0]) * (2 if gap[1] < len(self.judgeable) else 1), default=None)

    @property
    def back_at(self) -> int | None:
        """The first judgeable frame after the hidden interval."""
        gap = self.hidden
        back = None if gap is None else _first(self.judgeable[gap[1] :])
        return None if gap is None or back is None else gap[1] + back

    @property
    def reappears(self) -> bool:
        """The subject comes back, and not only as a sliver at the border: it is whole in view or has half of its usual area."""
        back = self.back_at
        return back is not None and bool((self.judgeable & (~self.touching | (self.relative_area >= WHOLE)))[back:].any())

    def joined(self, other: Visibility) -> Visibility:
        """Two trackers over the same frames put together: either may see the subject. Where both do, this one's area counts."""
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
        """Whether the subject is judgeable in each whole second, that is, in at least two thirds of its frames."""
        whole = np.minimum(self.seconds.astype(int), n_seconds - 1)
        counts = [(int(self.judgeable[whole == second].sum()), int((whole == second).sum())) for second in range(n_seconds)]
        return [frames > 0 and judgeable >= JUDGEABLE_SHARE * frames for judgeable, frames in counts]

    def describe(self) -> str:
        """One sentence about when the subject can be seen."""
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
    """The timeline of a mask artifact: state code, share of the image, confidence and time of each frame."""
    if len(state) < 3:
        raise NotScorable(Reason.TOO_SHORT, f"{len(state)} mask frames, at least 3 are needed to leave and come back")
    state, area = np.asarray(state), np.nan_to_num(np.asarray(area, np.float64))
    visible = (state > OUT) & (area >= SMALLEST)
    whole = visible & (state != LEAVING)
    if not visible.any():
        raise NotScorable(Reason.NO_MASK, "the subject was found in no frame")
    usual = float(np.median(area[whole] if whole.any() else area[visible]))
    relative = np.where(visible, area / usual, 0.0)
    seconds = np.asarray(seconds, np.float64)
    step = float(np.median(np.diff(seconds)))
    sure = float(np.mean(np.asarray(confidence, np.float64)[visible])) * float(np.mean(state >= OUT))  # below OUT: not known
    return Visibility(seconds, visible, visible & (relative >= FRAGMENT), relative, state == LEAVING, sure, step)


def detections_timeline(
    frame_index: NDArray[np.integer],
    state: NDArray[np.integer],
    area: NDArray[np.floating],
    confidence: NDArray[np.floating],
    n_frames: int,
    fps: float,
) -> Visibility:
    """The timeline of the people artifact, which lists only the frames where somebody was found.

    A frame takes the nearest detection within half of HIDDEN_S or one sampling step; with none so near, the subject is out. The
    largest of several people in a frame counts.
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


@dataclass(frozen=True)
class Decision:
    """Yes or no, how sure, and why."""

    yes: bool
    confidence: float
    because: str

    @property
    def p_yes(self) -> float:
        return self.confidence if self.yes else 1 - self.confidence


def decide(yes: bool, evidence: float, because: str) -> Decision:
    """A decision from `evidence`, the confidence of the artifacts in [0,1]; with 0 the decision is a coin toss (0.5)."""
    return Decision(bool(yes), min(SURE, 0.5 + 0.5 * float(np.clip(evidence, 0, 1))), because)


def camera_decision(camera: CameraPath, fact: str) -> Decision:
    """Whether the camera is "inactive", has "departed" or "returned": by the picture where it was measured, else by the path."""
    if camera.activity is None:
        known = fact == "inactive" or not camera.unknown
        return decide(getattr(camera, fact), camera.confidence if known else 0.0, camera.describe())
    seen = camera.activity
    return _likely({"inactive": 1 - seen.p_moves, "departed": seen.departs, "returned": seen.returns}[fact], camera.describe())


def subject_decision(yes: bool, prior: float | None, subject: Visibility, because: str) -> Decision:
    """A decision about the subject from its track and from what the camera makes likely (`prior`; None: the track alone decides).

    The log-odds add up. A track alone errs often on generated clips: it loses a subject that changes, and finds it in something
    else. So it moves the odds by MASK_LOGIT at most.
    """
    if prior is None:
        return decide(yes, subject.confidence, because)
    logit = np.log(prior / (1 - prior)) + (1 if yes else -1) * MASK_LOGIT * float(np.clip(subject.confidence, 0, 1))
    return _likely(float(1 / (1 + np.exp(-logit))), because)


def hidden_prior(camera: CameraPath | None) -> float | None:
    """How likely a subject of the first view gets out of view, by the camera alone."""
    return None if camera is None or camera.activity is None else HIDDEN_PRIOR[camera.departed]


def returned_prior(camera: CameraPath | None) -> float | None:
    """How likely a subject that was out of view is seen again, by the camera alone."""
    return None if camera is None or camera.activity is None else RETURNED_PRIOR[camera.returned]


def _likely(probability: float, because: str) -> Decision:
    return Decision(probability >= 0.5, min(SURE, max(probability, 1 - probability)), because)


def trigger(subset: str, camera: CameraPath | None, subject: Visibility | None) -> Decision:
    """Did the video enter its subset's memory challenge (MBench appendix B.2)?

    human, causal: the subject (or the process) is hidden for a while and reappears. object: it leaves or the view changes, and it
    is seen again. environment: the camera moves away and comes back. The camera decides a causal clip that has no mask track.
    """
    left_and_back = subject is not None and subject.reappears
    if subset in ("human", "object") and subject is None:
        raise NotScorable(Reason.NO_MASK, "the subject has no mask track, so that nobody can say whether it left")
    if subset == "environment" and camera is None:
        raise NotScorable(Reason.NO_POSES, "the clip has no camera path, so that nobody can say whether it departed")
    if subset in ("human", "causal") and subject is not None:
        return decide(left_and_back, subject.confidence, subject.describe())
    if subset != "object" and camera is not None and camera.unknown:
        raise NotScorable(
            Reason.UNDEFINED, f"{camera.describe()} Have the path estimated (pose=classical): it measures the picture"
        )
    if subset == "environment" and camera is not None:
        return camera_decision(camera, "returned")
    if subset == "object" and subject is not None:
        seen_again = camera is not None and camera.back_at is not None and bool(subject.judgeable[_after(subject, camera)].any())
        return decide(left_and_back or seen_again, subject.confidence, _both(camera, subject))
    if camera is None:
        raise NotScorable(Reason.NO_POSES, "the clip has neither a camera path nor a mask track")
    return camera_decision(camera, "returned")


def reobserved_predicates(subject: Visibility, camera: CameraPath | None) -> dict[str, Decision]:
    """WRBench's H, U and J_a (eq. 7): hidden, returned and unidentifiable, for spatial (D5) and state (D6) evidence.

    D5 needs an identifiable part of the returned subject for HIDDEN_S. D6 needs at least half of it, not cut by the border.
    """
    gap, back = subject.hidden, subject.back_at
    region = camera is not None and camera.returned
    hidden = subject_decision(gap is not None, hidden_prior(camera), subject, subject.describe())
    returned = subject_decision(
        gap is not None and (back is not None or region), returned_prior(camera), subject, _both(camera, subject)
    )
    after = slice(gap[1] if gap is not None else 0, None)
    long_enough = max(1, round(HIDDEN_S / subject.step_s))
    spatial = back is not None and int(subject.judgeable[after].sum()) >= long_enough
    clear = subject.judgeable & (subject.relative_area >= WHOLE) & ~subject.touching
    state = back is not None and int(clear[after].sum()) >= long_enough
    lost = {"D5": not spatial, "D6": not state}
    found = {}
    for dimension, unclear in lost.items():
        seen = "too little of the subject is back to tell" if unclear else "enough of the subject is back to tell"
        what = "where it is" if dimension == "D5" else "its state"
        found[f"{dimension}_hidden"] = hidden
        found[f"{dimension}_returned"] = returned
        found[f"{dimension}_unidentifiable"] = decide(unclear, subject.confidence, f"{subject.describe()} After it, {seen} {what}.")
    return found


def _after(subject: Visibility, camera: CameraPath) -> slice:
    """The mask frames from the camera's return on."""
    back = camera.back_at
    return slice(int(np.searchsorted(subject.seconds, camera.seconds[back])) if back is not None else len(subject.seconds), None)


def _both(camera: CameraPath | None, subject: Visibility | None) -> str:
    return " ".join(part.describe() for part in (camera, subject) if part is not None)
