"""The description of one clip: scene, camera request, event, failure with severity, picture size. It decides every pixel."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lookback.camera.intent import CameraIntent

FAITHFUL = "none"


@dataclass(frozen=True)
class ClipSpec:
    """One clip of one simulated world model."""

    scene: str
    camera: CameraIntent
    event: str = "none"  # none, spatial, state, full
    failure: str = FAITHFUL
    severity: float = 0.0
    width: int = 320
    height: int = 192
    fov_deg: float = 60.0
    seed: int = 7
    third_person: bool = False  # a figure walks ahead of the camera (MIND's 3rd_data)

    @property
    def frames(self) -> int:
        return self.camera.frames

    def faithful(self) -> ClipSpec:
        """The same task done right: the ground truth."""
        return replace(self, failure=FAITHFUL, severity=0.0)
