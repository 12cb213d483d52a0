"""A plan for a user's own scenes: where the camera goes and when the subject is hidden, written as the files that readers take.

benchmark: memobench
scenes:
  - name: Kitchen_001
    subject: a red cup
    prompt: The camera sees a red cup on the table, turns left and comes back.
    camera: yaw:left:60@40,static@20,yaw:right:60@41
    subject_yaw_deg: 5        # where the subject stands, right of the first view's centre
    video: kitchen.mp4        # the ground truth, if there is one
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lookback.camera.intent import CameraIntent
from lookback.camera.poses import turned_yaw_deg
from lookback.camera.requests import path_of
from lookback.conditions.interface import first_problem
from lookback.conditions.records import intent_of
from lookback.errors import ContractError, ParameterError, UsageError
from lookback.files import make_folder
from lookback.layouts.confine import existing_file
from lookback.layouts.reading import Breach
from lookback.names import one_line
from lookback.registry import BENCHMARKS
from lookback.yaml_files import parse_yaml


class Scene(BaseModel):
    """One scene of a plan. Fields that a benchmark does not use keep their defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    camera: str = ""  # a preset, an action, or a script in the camera grammar
    frames: int = Field(default=81, ge=5)
    fps: float = Field(default=16.0, gt=0)
    prompt: str = ""
    subject: str = ""
    subject_yaw_deg: float = 0.0
    subject_width_deg: float = Field(default=10.0, gt=0)
    hidden: tuple[int, int] | None = None  # first frame without the subject, first frame with it again; worked out when left out
    fov_deg: float = Field(default=60.0, gt=0, lt=180)
    size: tuple[int, int] = (1280, 720)
    video: str = ""  # the ground truth, relative to the plan
    mark_time: int = Field(default=0, ge=0)  # where the prediction begins
    group: str = ""  # the benchmark's folder for this kind of test
    perspective: str = ""  # first or third person, as the benchmark names it
    paths: list[str] = []  # several cameras from one place

    @property
    def intent(self) -> CameraIntent:
        if not self.camera:
            raise ParameterError(f"the scene '{self.name}' has no camera; give a preset or a script such as yaw:left:60@40")
        return intent_of(self.camera, self.frames)

    def hidden_span(self) -> tuple[int, int]:
        """(d_start, r_start): given, or from the turn of the camera and the place of the subject."""
        if self.hidden is not None:
            first, back = self.hidden
        else:
            first, back = self._turned_away()
        if not 0 < first < back < self.frames:
            raise ParameterError(f"the scene '{self.name}': 0 < {first} < {back} < {self.frames} frames does not hold for `hidden`")
        return first, back

    def _turned_away(self) -> tuple[int, int]:
        away = np.abs((turned_yaw_deg(path_of(self.intent)) - self.subject_yaw_deg + 180) % 360 - 180)
        gone = away > self.fov_deg / 2 + self.subject_width_deg / 2
        if gone[0] or not gone.any():
            where = "never leaves the view" if not gone.any() else "is not in the first view"
            raise ParameterError(
                f"the scene '{self.name}': the subject {where} (the camera turns {away.max():.0f} degrees from it)"
            )
        first = int(np.argmax(gone))
        back = np.flatnonzero(~gone[first:])
        if not len(back):
            raise ParameterError(f"the scene '{self.name}': the subject does not come back into view; let the camera return")
        return first, first + int(back[0])


class Plan(BaseModel):
    """The scenes of one benchmark."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    benchmark: str
    scenes: Annotated[list[Scene], Field(min_length=1)]


def read_plan(path: Path) -> Plan:
    if not path.is_file():
        raise UsageError(f"{path}: there is no such plan")
    try:
        return Plan.model_validate(parse_yaml(path.read_text(encoding="utf-8", errors="replace")) or {})
    except (ValidationError, ValueError) as error:
        raise ParameterError(f"{path}: {first_problem(error)}") from None


def write_plan(plan: Plan, folder: Path, out: Path) -> tuple[list[str], list[str]]:
    """Write every scene; (a line per scene that was written, a line per scene that cannot be). `folder` holds the videos."""
    written, refused = [], []
    benchmark = BENCHMARKS.get(plan.benchmark)
    make_folder(out)
    for scene in plan.scenes:
        try:
            video = existing_file(folder / scene.video, scene.name, "video", scene.video) if scene.video else None
            written.append(one_line(benchmark.write_scene(scene, video, out)))
        except (ParameterError, Breach, ContractError) as error:
            refused.append(one_line(f"{scene.name}: {error}"))
    return written, refused
