"""The clips of the demo (`plan.yaml`): tasks of the benchmarks, and the simulated models that do them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from lookback.camera.intent import PRESETS, CameraIntent, parse, preset
from lookback.camera.text import parse_action
from lookback.demo.failures import model_name
from lookback.demo.spec import FAITHFUL, ClipSpec
from lookback.errors import LookbackError
from lookback.layouts.writing import Writer
from lookback.registry import BENCHMARKS
from lookback.yaml_files import parse_yaml

Model = tuple[str, float]  # failure and severity
FPS = 16.0
RIGHT: Model = (FAITHFUL, 0.0)


@dataclass(frozen=True)
class Task:
    """What every model of a benchmark is asked to do."""

    benchmark: str
    setting: str
    clip_id: str
    scene: str
    event: str
    camera: CameraIntent
    subset: str = ""
    sample_id: str = ""
    condition_id: str = ""
    third_person: bool = False
    mark_time: int = 0  # the generated video begins here

    def spec(self, model: Model, width: int, height: int, seed: int) -> ClipSpec:
        return ClipSpec(self.scene, self.camera, self.event, *model, width, height, seed=seed, third_person=self.third_person)


@dataclass(frozen=True)
class PlannedClip:
    """One clip of the demo: a task done by a simulated model."""

    task: Task
    spec: ClipSpec

    @property
    def model_id(self) -> str:
        return model_name(self.spec.failure, self.spec.severity)


@lru_cache(maxsize=1)
def full_plan() -> tuple[tuple[Task, tuple[Model, ...]], ...]:
    """All tasks with the models that do them; the faithful model does every task."""
    return tuple((_task(row), (RIGHT, *_models(row["models"]))) for row in _document()["tasks"])


def spelling(model_id: str) -> int:
    """Which of a layout's file names a model uses: its place in the plan's list, else the first."""
    listed = _document()["spellings"]
    return listed.index(model_id) if model_id in listed else 0


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    return parse_yaml((resources.files("lookback.demo") / "plan.yaml").read_text(encoding="utf-8"))


def _task(row: dict[str, Any]) -> Task:
    fields = {name: value for name, value in row.items() if name not in ("camera", "models")}
    return Task(**fields, camera=_camera(row["camera"]))


def _camera(text: str) -> CameraIntent:
    """A preset or an action spread over frames (`yaw_LR@49`, `left_then_right_2s@40`), or a script."""
    if ":" in text or "," in text:
        return parse(text)
    action, _, frames = text.rpartition("@")
    return preset(action, int(frames)) if action in PRESETS else parse_action(action, int(frames))


def _models(names: list[str]) -> Iterator[Model]:
    for name in names:
        failure, _, severity = name.partition("@")
        yield from [(failure, float(severity))] if severity else [(failure, 0.5), (failure, 1.0)]


def demo_plan(width: int = 320, height: int = 192, seed: int = 7, scale: float = 1.0) -> list[PlannedClip]:
    """The demo's clips in order, task by task. `scale` keeps that share of tasks and models, never less than one task of two models
    per dataset folder."""
    return [PlannedClip(task, task.spec(model, width, height, seed)) for task, models in _scaled(scale) for model in models]


def _scaled(scale: float) -> Iterator[tuple[Task, tuple[Model, ...]]]:
    groups: dict[str, list[tuple[Task, tuple[Model, ...]]]] = {}
    for task, models in full_plan():
        groups.setdefault(f"{task.benchmark} {task.setting if separate(task) else ''}", []).append((task, models))
    for tasks in groups.values():
        for task, models in tasks[: max(1, math.ceil(scale * len(tasks)))]:
            yield task, models[: max(2, math.ceil(scale * len(models)))]


def separate(task: Task) -> bool:
    """Whether each setting of the task's benchmark is a separate dataset."""
    return len(writer_of(task).folders) > 1


def writer_of(task: Task) -> Writer:
    """The writer of a task's layout."""
    writer = BENCHMARKS.get(task.benchmark).writer()
    if writer is None:
        raise LookbackError(f"The benchmark '{task.benchmark}' has no writer, so the demo world cannot write its clips")
    return writer
