"""MBench-A and MBench-T setup folders, as MBench's README lays them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from lookback.camera.poses import inverse
from lookback.layouts.writing import Delivery, Film, Request, write_image, write_json, write_jsonl, write_video

DEPTH_STEP = 2  # the pose file's depth has every second pixel, so its intrinsics are exactly half
SUBSETS = {
    "environment": "Environment / spatial memory.",
    "human": "Human entity identity memory.",
    "object": "Object entity identity memory.",
    "causal": "Causal / interaction memory.",
}


folders: tuple[str, ...] = ("mbench_a", "mbench_t")


def folder(request: Request) -> str:
    return f"mbench_{request.setting.lower()}"


def write_truth(root: Path, request: Request, truth: Film) -> None:
    """sample.json and the first frame; they are the same for every model."""
    place = root / "samples" / request.subset / request.sample_id
    write_image(place / "reference.png", truth.frames[0])
    write_json(place / "sample.json", _sample(request, truth))


def write_clip(root: Path, delivery: Delivery, film: Film) -> None:
    """The generated video and its DA3 pose file."""
    where, model = _where(delivery.request), root / "models" / delivery.model_id
    write_video(model / "outputs" / where / "video.mp4", film.frames, delivery.request.fps)
    write_da3(model / "artifacts" / where / "da3" / "results.npz", film)


def _where(request: Request) -> str:
    return f"{request.subset}/{request.sample_id}/{request.condition_id}"


def write_da3(path: Path, film: Film) -> None:
    """Depth-Anything-3's npz: depth, world-to-camera extrinsics, intrinsics at the depth's own resolution."""
    path.parent.mkdir(parents=True, exist_ok=True)
    camera = film.intrinsics.copy()
    camera[:2] /= DEPTH_STEP
    np.savez_compressed(
        path,
        depth=film.depth[:, ::DEPTH_STEP, ::DEPTH_STEP].astype(np.float16),
        extrinsics=inverse(film.c2w)[:, :3].astype(np.float32),
        intrinsics=np.repeat(camera[None], len(film.c2w), axis=0).astype(np.float32),
    )


def finish(root: Path, deliveries: Sequence[Delivery], truths: Mapping[str, tuple[int, int | None, int | None]]) -> None:
    """dataset.yaml and one samples.jsonl per model."""
    setting = deliveries[0].request.setting
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
    for model_id in sorted({delivery.model_id for delivery in deliveries}):
        rows = [_line(delivery, dataset_id) for delivery in deliveries if delivery.model_id == model_id]
        write_jsonl(root / "models" / model_id / "samples.jsonl", rows)


def _line(delivery: Delivery, dataset_id: str) -> dict[str, Any]:
    request, where = delivery.request, _where(delivery.request)
    return {
        "item_id": request.clip_id,
        "dataset_id": dataset_id,
        "subset": request.subset,
        "sample_id": request.sample_id,
        "condition_id": request.condition_id,
        "model_id": delivery.model_id,
        "media": {"videos": [{"path": f"outputs/{where}/video.mp4", "role": "generated"}]},
        "artifacts": {"da3": {"path": f"artifacts/{where}/da3/results.npz"}},
    }


def _sample(request: Request, truth: Film) -> dict[str, Any]:
    x, y, width, height = truth.subject_box or (0.0, 0.0, 0.0, 0.0)
    texts = request.texts
    metadata: dict[str, Any] = {
        "scene": request.scene,
        "caption": texts.caption,
        "object_anchor": {"center": [x, y], "width": width, "height": height},
        "object_card": {"name": texts.subject, "attributes": list(texts.attributes)},
    }
    if request.setting == "T":
        metadata["caption_segments"] = list(texts.caption_segments)
    annotations = {"action": request.condition_id.rsplit("_", 1)[0]} if request.setting == "A" else {}
    return {"sample_id": request.sample_id, "subset": request.subset, "metadata": metadata, "annotations": annotations}
