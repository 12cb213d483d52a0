"""Which clips the demo consists of: tasks in the five benchmarks' layouts, and the simulated models that do them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lookback.camera.intent import CameraIntent, parse, preset
from lookback.camera.text import parse_action
from lookback.demo.failures import model_name
from lookback.demo.spec import FAITHFUL, ClipSpec

Model = tuple[str, float]  # failure and severity
FPS = 16.0
RIGHT: Model = (FAITHFUL, 0.0)


@dataclass(frozen=True)
class Task:
    """What every model of a benchmark is asked to do."""

    benchmark: str  # mbench, memobench, wrbench, mind
    setting: str
    clip_id: str
    scene: str
    event: str
    camera: CameraIntent
    subset: str = ""
    sample_id: str = ""
    condition_id: str = ""
    third_person: bool = False
    mark_time: int = 0  # MIND: the generated video begins here

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


def both(*failures: str) -> list[Model]:
    """Each failure at severities one half and one."""
    return [(failure, severity) for failure in failures for severity in (0.5, 1.0)]


def _mbench_a(subset: str, sample: str, scene: str, event: str, action: str, frames: int = 64) -> Task:
    condition = f"{action}_{frames / FPS:g}s"
    camera = parse_action(condition, frames)
    return Task("mbench", "A", f"{subset}:{sample}:{condition}", scene, event, camera, subset, sample, condition)


def _mbench_t(subset: str, sample: str, scene: str, event: str, turn: str, back: str) -> Task:
    camera = replace(parse(f"static@10,yaw:{turn}:60@10,static@10,yaw:{back}:60@10,static@10"), name="text")
    return Task("mbench", "T", f"{subset}:{sample}:text", scene, event, camera, subset, sample, "text")


def _memobench(setting: str, clip: str, scene: str, event: str, script: str) -> Task:
    return Task("memobench", setting, clip, scene, event, parse(script), setting, clip)


FAMILIES = {"office": "office_officer_counter_sit", "kitchen": "kitchen_cup_table_tip"}
TIERS = {"none": "T0", "spatial": "T1", "state": "T2_div_a", "full": "T2_div_b"}


def variant_id(scene: str, event: str, camera: str) -> str:
    return f"{FAMILIES[scene]}__{TIERS[event]}__{camera}"


def _wrbench(scene: str, event: str, camera: str) -> Task:
    name = variant_id(scene, event, camera)
    return Task("wrbench", "demo", name, scene, event, preset(camera), scene, name, camera)


def _mind(perspective: str, kind: str, name: str, scene: str, script: str, mark: int = 0, path: int | None = None) -> Task:
    clip = f"{perspective}/{kind}/{name}" + (f"/path-{path}" if path else "")
    condition = f"path-{path}" if path else ""
    third = perspective == "3rd_data"
    return Task("mind", perspective, clip, scene, "none", parse(script), kind, name, condition, third, mark)


@lru_cache(maxsize=1)
def full_plan() -> tuple[tuple[Task, tuple[Model, ...]], ...]:
    """All tasks with the models that do them; the faithful model does every task."""
    drift, light, pattern, melt = (both(name) for name in ("camera_drift", "lighting_shift", "texture_drift", "geometric_melt"))
    vanish, identity, style, still = (
        both(name) for name in ("object_vanishes", "identity_drift", "style_shift", "camera_inactivity")
    )
    reset, teleport, dream = (both(name) for name in ("state_reset", "teleport", "background_hallucination"))
    never, dragged, wrong, twin = (both(name) for name in ("event_never_starts", "subject_dragged", "wrong_direction", "duplicate"))
    ghost, cut = both("ghosting"), both("hard_cut")
    worst = [dragged[1], wrong[1], twin[1]]
    out_and_back = "yaw:right:60@48,yaw:left:60@48"
    table: list[tuple[Task, Sequence[Model]]] = [
        (_mbench_a("human", "study_001", "study", "none", "left_then_right"), [*drift, *light, *pattern, *melt]),
        (
            _mbench_a("object", "playroom_001", "playroom", "none", "right_then_wait_then_left"),
            [drift[1], light[1], *pattern, *melt],
        ),
        (
            _mbench_a("environment", "courtyard_001", "courtyard", "none", "forward_then_backward"),
            [*drift, *light, pattern[1], melt[1]],
        ),
        (
            _mbench_a("causal", "dining_001", "dining", "state", "left_then_wait_then_right"),
            [drift[1], light[1], pattern[1], melt[1]],
        ),
        (_mbench_t("human", "office_001", "office", "none", "left", "right"), [*vanish, *identity, *style, *still]),
        (_mbench_t("object", "garage_001", "garage", "none", "right", "left"), [*vanish, *identity, style[1], still[1]]),
        (_mbench_t("environment", "plaza_001", "plaza", "none", "left", "right"), [*style, *still, vanish[1]]),
        (_mbench_t("causal", "kitchen_001", "kitchen", "state", "right", "left"), [vanish[1], identity[1], style[1], still[1]]),
        (
            _memobench(
                "synthetic",
                "Courtyard_001",
                "courtyard",
                "spatial",
                "dolly:forward:5.5+pan:right:0.6@28,yaw:right:180@28,dolly:forward:0.2@16",
            ),
            [reset[1], *teleport, dream[1]],
        ),
        (
            _memobench("synthetic", "Playroom_001", "playroom", "full", "yaw:left:60@30,static@12,yaw:right:60@30"),
            [reset[1], teleport[1], dream[1]],
        ),
        (_memobench("real", "real_001", "bar", "state", "yaw:right:60@30,static@12,yaw:left:60@30"), [*reset, *teleport, *dream]),
        (_memobench("real", "real_002", "dining", "state", "pitch:up:50@30,static@12,pitch:down:50@30"), [reset[1], teleport[1]]),
        (_wrbench("office", "full", "yaw_RL"), [*never, *dragged, *wrong, *twin]),
        (_wrbench("office", "none", "yaw_LR"), worst),
        (_wrbench("kitchen", "state", "yaw_LR"), [never[1], *worst]),
        (_wrbench("kitchen", "spatial", "yaw_RL"), [never[1], *worst]),
        (_wrbench("kitchen", "state", "static"), [never[1]]),
        (_wrbench("office", "spatial", "pan_LR"), []),
        (_mind("1st_data", "mem_test", "gallery_001", "gallery", out_and_back, mark=48), [*ghost, *cut]),
        (_mind("3rd_data", "mem_test", "plaza_001", "plaza", out_and_back, mark=48), [ghost[1], cut[1]]),
        (
            _mind(
                "1st_data",
                "action_space_test",
                "garage_001",
                "garage",
                "dolly:forward:0.9@32,pitch:up:20@32,yaw:right:40@32",
                mark=48,
            ),
            [ghost[1]],
        ),
        (
            _mind("1st_data", "mirror_test", "courtyard_001", "courtyard", "yaw:left:60@24,yaw:right:60@24", path=1),
            [ghost[1], cut[1]],
        ),
        (
            _mind("1st_data", "mirror_test", "courtyard_001", "courtyard", "dolly:forward:1.4@24,dolly:back:1.4@24", path=2),
            [ghost[1], cut[1]],
        ),
    ]
    return tuple((task, (RIGHT, *models)) for task, models in table)


def demo_plan(width: int = 320, height: int = 192, seed: int = 7, scale: float = 1.0) -> list[PlannedClip]:
    """The demo's clips in order, task by task. `scale` keeps that share of tasks and models, never less than one task of two models
    per benchmark setting."""
    return [PlannedClip(task, task.spec(model, width, height, seed)) for task, models in _scaled(scale) for model in models]


def _scaled(scale: float) -> Iterator[tuple[Task, tuple[Model, ...]]]:
    groups: dict[tuple[str, str], list[tuple[Task, tuple[Model, ...]]]] = {}
    for task, models in full_plan():
        key = (task.benchmark, task.setting if task.benchmark == "mbench" else "")
        groups.setdefault(key, []).append((task, models))
    for tasks in groups.values():
        for task, models in tasks[: max(1, math.ceil(scale * len(tasks)))]:
            yield task, models[: max(2, math.ceil(scale * len(models)))]
