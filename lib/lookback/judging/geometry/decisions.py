"""Trigger and support decisions from a camera path and a visibility timeline, each with the sentence that justifies it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookback.errors import NotScorable, Reason
from lookback.judging.geometry.camera_path import CameraPath
from lookback.judging.geometry.visibility import HIDDEN_S, WHOLE, Visibility

SURE = 0.99  # no estimate from pixels is certain


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
    """`evidence` in [0,1] is the artifacts' own confidence; none leaves the decision at chance."""
    return Decision(bool(yes), min(SURE, 0.5 + 0.5 * float(np.clip(evidence, 0, 1))), because)


def trigger(subset: str, camera: CameraPath | None, subject: Visibility | None) -> Decision:
    """Did the video enter its subset's memory challenge (MBench appendix B.2)?

    human, causal: the subject (what goes on) is hidden for a while and reappears. object: it leaves or the view changes, and it is
    seen again. environment: the camera moves away and revisits. A causal clip without a mask track is decided by the camera.
    """
    left_and_back = subject is not None and subject.reappears
    away_and_back = camera is not None and camera.returned
    if subset in ("human", "object") and subject is None:
        raise NotScorable(Reason.NO_MASK, "the subject has no mask track, so that nobody can say whether it left")
    if subset == "environment" and camera is None:
        raise NotScorable(Reason.NO_POSES, "the clip has no camera path, so that nobody can say whether it departed")
    if subset in ("human", "causal") and subject is not None:
        return decide(left_and_back, subject.confidence, subject.describe())
    if subset == "environment" and camera is not None:
        return decide(away_and_back, camera.confidence, camera.describe())
    if subset == "object" and subject is not None:
        seen_again = camera is not None and camera.back_at is not None and bool(subject.judgeable[_after(subject, camera)].any())
        return decide(left_and_back or seen_again, subject.confidence, _both(camera, subject))
    if camera is None:
        raise NotScorable(Reason.NO_POSES, "the clip has neither a camera path nor a mask track")
    return decide(away_and_back, camera.confidence, camera.describe())


def reobserved_predicates(subject: Visibility, camera: CameraPath | None) -> dict[str, Decision]:
    """WRBench's H, U and J_a (eq. 7): hidden, returned, unidentifiable; for spatial (D5) and state (D6) evidence.

    D5 needs any identifiable part of the returned subject for a while; D6 needs it whole enough, and not cut by the border.
    """
    gap, back = subject.hidden, subject.back_at
    region = camera is not None and camera.returned
    hidden = decide(gap is not None, subject.confidence, subject.describe())
    returned = decide(gap is not None and (back is not None or region), subject.confidence, _both(camera, subject))
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
    """The mask entries from the camera's return on."""
    back = camera.back_at
    return slice(int(np.searchsorted(subject.seconds, camera.seconds[back])) if back is not None else len(subject.seconds), None)


def _both(camera: CameraPath | None, subject: Visibility | None) -> str:
    return " ".join(part.describe() for part in (camera, subject) if part is not None)
