"""WRBench: a manifest of videos, camera files beside each, and a prompt suite in Natural-25's form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lookback.camera.intent import preset
from lookback.camera.poses import relative_to_first
from lookback.camera.sidecar import fov_deg, to_sidecar, to_trajectory
from lookback.camera.text import to_text
from lookback.demo.captions import prompt, sentence
from lookback.demo.clip import RenderedClip
from lookback.demo.datasets.common import Take, write_array, write_image, write_json, write_jsonl, write_video
from lookback.demo.plan import FAMILIES, FPS, TIERS, PlannedClip, Task, variant_id
from lookback.demo.scene import Scene
from lookback.demo.scenes import load_scene

DELTAS = {"none": "none", "spatial": "spatial", "state": "state_only", "full": "full"}
CAMERAS = ("none", "static", "yaw_LR", "yaw_RL", "pan_LR")
CONDITION_TYPES = {
    "none": "geometry-cache",
    "event_never_starts": "source-video",
    "duplicate": "source-video",
    "subject_dragged": "model-inferred",
    "wrong_direction": "prompt-only",
}


def folder(task: Task) -> str:
    return "wrbench"


def write_truth(root: Path, task: Task, right: RenderedClip) -> None:
    """The family's first frame."""
    write_image(root / "first_frames" / f"{FAMILIES[task.scene]}.png", right.frames[0])


def _video(task: Task, model_id: str) -> str:
    return f"{model_id}/videos/{task.clip_id}.mp4"


def write_clip(root: Path, take: Take) -> None:
    """The video with its sidecar, target poses and trajectory."""
    task, clip = take.task, take.clip
    video = root / _video(task, take.model_id)
    write_video(video, clip.frames)
    target = relative_to_first(clip.target_c2w)
    fov = fov_deg(clip.intrinsics, clip.spec.width)
    sidecar = to_sidecar(task.camera, video.name, FPS, clip.spec.width, clip.spec.height, fov)
    write_json(video.with_name(f"{video.name}.camera.json"), sidecar)
    write_array(video.with_name(f"{video.name}.target_c2w.npy"), target)
    write_json(video.with_name(f"{video.name}.camera_trajectory.json"), to_trajectory(task.camera, target, clip.intrinsics, FPS))


def finish(root: Path, plan: Sequence[PlannedClip]) -> None:
    """manifest.json, families.jsonl, variants.jsonl."""
    write_json(root / "manifest.json", {"setting": plan[0].task.setting, "videos": [_manifest_row(clip) for clip in plan]})
    scenes = list(dict.fromkeys(clip.task.scene for clip in plan))
    write_jsonl(root / "families.jsonl", [_family(load_scene(name)) for name in scenes])
    write_jsonl(
        root / "variants.jsonl",
        [_variant(load_scene(name), event, camera) for name in scenes for event in TIERS for camera in CAMERAS],
    )


def _manifest_row(clip: PlannedClip) -> dict[str, Any]:
    task = clip.task
    return {
        "video_id": task.clip_id,
        "model": clip.model_id,
        "path": _video(task, clip.model_id),
        "camera_type": task.condition_id,
        "variant_id": task.clip_id,
        "family_id": FAMILIES[task.scene],
        "viewpoint_condition_type": CONDITION_TYPES.get(clip.spec.failure, "geometry-cache"),
        "prompt": prompt(load_scene(task.scene), task.event, task.camera),
    }


def _family(scene: Scene) -> dict[str, Any]:
    subject = scene.subject
    guidance = {
        "shot_type": "eye-level medium shot",
        "composition": f"{subject.name} left of the centre",
        "lighting": "daylight" if scene.outdoor else "soft indoor light",
        "texture": ", ".join(subject.attributes),
        "palette": "natural colours",
    }
    nearby = [thing.name for thing in scene.things if thing.hallucinated][6:9]
    return {
        "family_id": FAMILIES[scene.name],
        "scene": scene.place,
        "first_frame_guidance": guidance,
        "primary_object": {"id": subject.name.replace(" ", "_"), "name": subject.name},
        "supporting_objects": [{"id": name.replace(" ", "_"), "name": name, "role": "anchor"} for name in nearby],
    }


def _variant(scene: Scene, event: str, camera: str) -> dict[str, Any]:
    what = scene.events[event]
    tier, _, divergence = TIERS[event].partition("_")
    motion = "" if camera == "none" else f" {to_text(preset(camera))}"
    return {
        "variant_id": variant_id(scene.name, event, camera),
        "family_id": FAMILIES[scene.name],
        "reasoning_tier": tier,
        "oov_gap": camera,
        "event_delta": DELTAS[event],
        "divergence_id": divergence or None,
        "world_state_prompt": sentence(what.text),
        "expected_state": sentence(what.expected_state),
        "ti2v_prompt": f"{sentence(what.text)}{motion}",
    }
