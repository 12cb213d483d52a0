"""Clips on which no threshold was tuned: another seed, other pairings of scene, camera and failure, mostly other severities."""

from __future__ import annotations

from lookback.camera.intent import parse, preset
from lookback.camera.text import parse_action
from lookback.demo.plan import FPS, RIGHT, Model, PlannedClip, Task
from lookback.demo.texts import variant_id

SEED = 8


def _mbench(sample: str, scene: str, action: str, frames: int = 64) -> Task:
    condition = f"{action}_{frames / FPS:g}s"
    clip = f"object:{sample}:{condition}"
    return Task("mbench", "A", clip, scene, "none", parse_action(condition, frames), "object", sample, condition)


def _memobench(clip: str, scene: str, event: str, script: str) -> Task:
    return Task("memobench", "real", clip, scene, event, parse(script), "real", clip)


def _wrbench(scene: str, event: str, camera: str) -> Task:
    name = variant_id(scene, event, camera)
    return Task("wrbench", "demo", name, scene, event, preset(camera), scene, name, camera)


def _mind(kind: str, name: str, scene: str, script: str, mark: int = 0, path: int | None = None) -> Task:
    clip = f"1st_data/{kind}/{name}" + (f"/path-{path}" if path else "")
    return Task("mind", "1st_data", clip, scene, "none", parse(script), kind, name, f"path-{path}" if path else "", False, mark)


PLAN: tuple[tuple[Task, tuple[Model, ...]], ...] = (
    (
        _mbench("kitchen_001", "kitchen", "right_then_left"),
        (("camera_drift", 0.7), ("lighting_shift", 0.6), ("identity_drift", 0.8), ("object_vanishes", 0.8), ("duplicate", 1.0)),
    ),
    (
        _mbench("gallery_001", "gallery", "left_then_wait_then_right"),
        (("geometric_melt", 0.7), ("style_shift", 0.6), ("texture_drift", 0.8), ("background_hallucination", 0.8)),
    ),
    (
        _mbench("garage_001", "garage", "left_then_right"),
        (("teleport", 0.8), ("object_vanishes", 1.0), ("camera_inactivity", 0.8), ("geometric_melt", 0.6), ("style_shift", 1.0)),
    ),
    (
        _memobench("real_001", "office", "full", "yaw:left:60@30,static@12,yaw:right:60@30"),
        (("state_reset", 1.0), ("teleport", 1.0), ("background_hallucination", 0.5)),
    ),
    (
        _memobench("real_002", "courtyard", "state", "yaw:right:60@30,static@12,yaw:left:60@30"),
        (("state_reset", 0.5), ("teleport", 0.5), ("background_hallucination", 1.0)),
    ),
    (
        _wrbench("kitchen", "full", "yaw_RL"),
        (("event_never_starts", 1.0), ("subject_dragged", 0.7), ("wrong_direction", 0.8), ("duplicate", 0.8)),
    ),
    (
        _wrbench("office", "state", "yaw_LR"),
        (("event_never_starts", 0.8), ("subject_dragged", 1.0), ("duplicate", 0.9), ("wrong_direction", 0.6)),
    ),
    (
        _mind("mem_test", "playroom_001", "playroom", "yaw:right:60@48,yaw:left:60@48", mark=48),
        (("ghosting", 0.8), ("hard_cut", 0.7)),
    ),
    (
        _mind("mirror_test", "study_001", "study", "yaw:left:60@24,yaw:right:60@24", path=1),
        (("ghosting", 0.7), ("hard_cut", 0.9)),
    ),
)


def planned(width: int = 320, height: int = 192) -> list[PlannedClip]:
    """Every held-out clip; the faithful model does every task."""
    return [PlannedClip(task, task.spec(model, width, height, SEED)) for task, models in PLAN for model in (RIGHT, *models)]
