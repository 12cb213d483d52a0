"""Failures of the camera: it stays, drifts, turns the wrong way, or jumps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lookback.camera.intent import CameraIntent, Segment, compile
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.demo.failures.base import Failure, failure

DRIFT_YAW, DRIFT_PITCH, DRIFT_ROLL, DRIFT_MOVE = 26.0, 7.0, 5.0, 0.15  # at the last frame, severity 1
CUT_YAW, CUT_MOVE = 38.0, 0.45
CUT_AT = 0.45  # share of the time after the return (or after the middle) at which the cut falls


def scaled_intent(intent: CameraIntent, factor: float) -> CameraIntent:
    """Every motion times `factor`; a negative factor turns the directions round."""
    segments = []
    for segment in intent.segments:
        motions = [replace(m if factor > 0 else m.reversed(), amount=m.amount * abs(factor)) for m in segment.motions]
        segments.append(Segment(tuple(m for m in motions if m.amount > 0), segment.frames))
    return CameraIntent(tuple(segments), intent.name)


@failure
class CameraInactivity(Failure):
    """The requested motion is only carried out to 1 - severity; at 1 the camera never moves."""

    name, title = "camera_inactivity", "camera inactivity"
    needs = frozenset({"motion"})

    def camera(self, c2w: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.context.start @ compile(scaled_intent(self.context.intent, 1 - self.severity))


@failure
class WrongDirection(Failure):
    """The requested motion is multiplied by 1 - 2 sqrt(severity): mirrored at 1, half mirrored at one half."""

    name, title = "wrong_direction", "wrong camera direction"
    needs = frozenset({"motion"})

    def camera(self, c2w: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.context.start @ compile(scaled_intent(self.context.intent, 1 - 2 * np.sqrt(self.severity)))


@failure
class CameraDrift(Failure):
    """The camera slowly turns, tilts and rolls away from the target, so that the return does not arrive."""

    name, title = "camera_drift", "camera drift"

    def camera(self, c2w: NDArray[np.float64]) -> NDArray[np.float64]:
        time = self.severity * np.linspace(0, 1, len(c2w))
        sign = self.context.sign
        position = np.stack([sign * DRIFT_MOVE * time, -DRIFT_MOVE * time, 0 * time], axis=1)
        return c2w @ from_yaw_pitch_roll(sign * DRIFT_YAW * time, DRIFT_PITCH * time, sign * DRIFT_ROLL * time, position)


@failure
class HardCut(Failure):
    """After the return the shot jumps to another viewpoint."""

    name, title = "hard_cut", "hard cut"

    def camera(self, c2w: NDArray[np.float64]) -> NDArray[np.float64]:
        absence = self.context.absence()
        back = absence[1] if absence is not None and absence[1] < len(c2w) else len(c2w) // 2
        cut = back + int(CUT_AT * (len(c2w) - back))
        sign = self.context.sign
        jump = from_yaw_pitch_roll(sign * CUT_YAW * self.severity, 0, 0, (-sign * CUT_MOVE * self.severity, 0, 0))
        out = c2w.copy()
        out[cut:] = out[cut:] @ jump
        return out
