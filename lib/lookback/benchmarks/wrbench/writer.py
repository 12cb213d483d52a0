"""WRBench: a manifest of videos, camera files beside each, and a prompt suite in Natural-25's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lookback.benchmarks.wrbench.sidecar import fov_deg, to_sidecar, to_trajectory
from lookback.camera.poses import relative_to_first
from lookback.layouts.writing import Delivery, Film, Request, write_array, write_image, write_json, write_jsonl, write_video

folders: tuple[str, ...] = ("wrbench",)


def folder(request: Request) -> str:
    return "wrbench"


def write_truth(root: Path, request: Request, truth: Film) -> None:
    """The family's first frame."""
    write_image(root / "first_frames" / f"{request.further['family']['family_id']}.png", truth.frames[0])


def _video(delivery: Delivery) -> str:
    return f"{delivery.model_id}/videos/{delivery.request.clip_id}.mp4"


def write_clip(root: Path, delivery: Delivery, film: Film) -> None:
    """The video with its sidecar, target poses and trajectory."""
    request, video = delivery.request, root / _video(delivery)
    write_video(video, film.frames, request.fps)
    target = relative_to_first(film.target_c2w)
    height, width = film.frames.shape[1:3]
    sidecar = to_sidecar(request.camera, video.name, request.fps, width, height, fov_deg(film.intrinsics, width))
    write_json(video.with_name(f"{video.name}.camera.json"), sidecar)
    write_array(video.with_name(f"{video.name}.target_c2w.npy"), target)
    trajectory = to_trajectory(request.camera, target, film.intrinsics, request.fps)
    write_json(video.with_name(f"{video.name}.camera_trajectory.json"), trajectory)


def finish(root: Path, deliveries: Sequence[Delivery], truths: Mapping[str, tuple[int, int | None, int | None]]) -> None:
    """manifest.json, families.jsonl, variants.jsonl."""
    rows = [_manifest_row(delivery) for delivery in deliveries]
    write_json(root / "manifest.json", {"setting": deliveries[0].request.setting, "videos": rows})
    scenes = {delivery.request.scene: delivery.request.further for delivery in deliveries}
    write_jsonl(root / "families.jsonl", [further["family"] for further in scenes.values()])
    write_jsonl(root / "variants.jsonl", [variant for further in scenes.values() for variant in further["variants"]])


def _manifest_row(delivery: Delivery) -> dict[str, Any]:
    request = delivery.request
    return {
        "video_id": request.clip_id,
        "model": delivery.model_id,
        "path": _video(delivery),
        "camera_type": request.condition_id,
        "variant_id": request.clip_id,
        "family_id": request.further["family"]["family_id"],
        "viewpoint_condition_type": delivery.condition_type,
        "prompt": request.texts.prompt,
    }
