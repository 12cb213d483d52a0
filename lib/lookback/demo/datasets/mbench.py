"""MBench-A and MBench-T setup folders, as MBench's README lays them out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from lookback.camera.poses import inverse
from lookback.demo.captions import caption, caption_segments
from lookback.demo.clip import RenderedClip
from lookback.demo.datasets.common import Take, subject_box, write_image, write_json, write_jsonl, write_video
from lookback.demo.plan import PlannedClip, Task
from lookback.demo.scenes import load_scene

DEPTH_STEP = 2  # the pose file's depth has every second pixel, so its intrinsics are exactly half
SUBSETS = {
    "environment": "Environment / spatial memory.",
    "human": "Human entity identity memory.",
    "object": "Object entity identity memory.",
    "causal": "Causal / interaction memory.",
}


def folder(task: Task) -> str:
    return f"mbench_{task.setting.lower()}"


def write_truth(root: Path, task: Task, right: RenderedClip) -> None:
    """sample.json and the first frame; they are the same for every model."""
    place = root / "samples" / task.subset / task.sample_id
    write_image(place / "reference.png", right.frames[0])
    write_json(place / "sample.json", _sample(task, right))


def write_clip(root: Path, take: Take) -> None:
    """The generated video and its DA3 pose file."""
    task = take.task
    where = f"{task.subset}/{task.sample_id}/{task.condition_id}"
    model = root / "models" / take.model_id
    write_video(model / "outputs" / where / "video.mp4", take.clip.frames)
    write_da3(model / "artifacts" / where / "da3" / "results.npz", take.clip)


def write_da3(path: Path, clip: RenderedClip) -> None:
    """Depth-Anything-3's npz: depth, world-to-camera extrinsics, intrinsics at the depth's own resolution."""
    path.parent.mkdir(parents=True, exist_ok=True)
    camera = clip.intrinsics.copy()
    camera[:2] /= DEPTH_STEP
    np.savez_compressed(
        path,
        depth=clip.depth[:, ::DEPTH_STEP, ::DEPTH_STEP].astype(np.float16),
        extrinsics=inverse(clip.c2w)[:, :3].astype(np.float32),
        intrinsics=np.repeat(camera[None], len(clip.c2w), axis=0).astype(np.float32),
    )


def finish(root: Path, plan: Sequence[PlannedClip]) -> None:
    """dataset.yaml and one samples.jsonl per model."""
    setting = plan[0].task.setting
    dataset_id = f"mbench{setting.lower()}"
    document = {
        "dataset_id": dataset_id,
        "dataset_name": f"lookback demo world, MBench-{setting} layout",
        "version": "1.0",
        "path_mode": "relative_to_dataset_root",
        "subsets": {name: {"description": text} for name, text in SUBSETS.items()},
        "condition_id": {"pattern": "{action}_{length}" if setting == "A" else "text"},
        "paths": {
            "output_video": "models/{model_id}/outputs/{subset}/{sample_id}/{condition_id}/video.mp4",
            "artifact_da3": "models/{model_id}/artifacts/{subset}/{sample_id}/{condition_id}/da3/results.npz",
        },
    }
    root.mkdir(parents=True, exist_ok=True)
    (root / "dataset.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    for model_id in sorted({clip.model_id for clip in plan}):
        rows = [_line(clip, dataset_id) for clip in plan if clip.model_id == model_id]
        write_jsonl(root / "models" / model_id / "samples.jsonl", rows)


def _line(clip: PlannedClip, dataset_id: str) -> dict[str, Any]:
    task = clip.task
    where = f"{task.subset}/{task.sample_id}/{task.condition_id}"
    return {
        "item_id": task.clip_id,
        "dataset_id": dataset_id,
        "subset": task.subset,
        "sample_id": task.sample_id,
        "condition_id": task.condition_id,
        "model_id": clip.model_id,
        "media": {"videos": [{"path": f"outputs/{where}/video.mp4", "role": "generated"}]},
        "artifacts": {"da3": {"path": f"artifacts/{where}/da3/results.npz"}},
    }


def _sample(task: Task, right: RenderedClip) -> dict[str, Any]:
    scene = load_scene(task.scene)
    x, y, width, height = subject_box(right) or (0.0, 0.0, 0.0, 0.0)
    metadata: dict[str, Any] = {
        "scene": task.scene,
        "caption": caption(scene, task.event),
        "object_anchor": {"center": [x, y], "width": width, "height": height},
        "object_card": {"name": scene.subject.name, "attributes": list(scene.subject.attributes)},
    }
    if task.setting == "T":
        metadata["caption_segments"] = caption_segments(scene, task.event, task.camera)
    annotations = {"action": task.condition_id.rsplit("_", 1)[0]} if task.setting == "A" else {}
    return {"sample_id": task.sample_id, "subset": task.subset, "metadata": metadata, "annotations": annotations}
