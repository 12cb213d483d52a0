"""MIND: ground truth with action.json and COLMAP poses on one side, generated videos on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lookback.benchmarks.mind.actions import to_mind
from lookback.camera.poses import inverse
from lookback.layouts.writing import Delivery, Film, Request, write_json, write_video

folders: tuple[str, ...] = ("mind",)
TRUTH, GENERATED = "MIND-Data", "test_root"
POSES = 97  # the most poses in a released images.txt, from mark_time on


def folder(request: Request) -> str:
    return "mind"


def write_truth(root: Path, request: Request, truth: Film) -> None:
    """video.mp4, action.json and images.txt; mirror_test has no ground truth."""
    if request.subset == "mirror_test":
        return
    place = root / TRUTH / request.setting / "test" / request.subset / request.sample_id
    write_video(place / "video.mp4", truth.frames, request.fps)
    write_json(place / "action.json", action_document(request, truth))
    predicted = truth.c2w[request.mark_time :][:POSES]
    (place / "images.txt").write_text(colmap_images(predicted), encoding="utf-8")


def write_clip(root: Path, delivery: Delivery, film: Film) -> None:
    """What the model generated after the memory context, or one mirrored path."""
    request = delivery.request
    place = root / GENERATED / delivery.model_id / request.setting / request.subset / request.sample_id
    name = f"{request.condition_id}.mp4" if request.subset == "mirror_test" else "video.mp4"
    write_video(place / name, film.frames[request.mark_time :], request.fps)


def finish(root: Path, deliveries: Sequence[Delivery], truths: Mapping[str, tuple[int, int | None, int | None]]) -> None:
    """Nothing is left to write: MIND has no manifest."""


def colmap_images(c2w: NDArray[np.float64]) -> str:
    """COLMAP's images.txt: id, world-to-camera quaternion (w x y z) and translation, camera id, name; an empty point line."""
    w2c = inverse(c2w)
    lines = ["# IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME", "# POINTS2D[] as (X, Y, POINT3D_ID)"]
    for index, pose in enumerate(w2c):
        x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat(canonical=True)
        values = " ".join(f"{value:.12g}" for value in (w, x, y, z, *pose[:3, 3]))
        lines += [f"{index + 1} {values} 1 {index:06d}.png", ""]
    return "\n".join(lines) + "\n"


def _place(position: NDArray[np.float64]) -> dict[str, float]:
    """MIND's axes (Unreal's): x forward, y right, z up."""
    return {"x": round(float(position[2]), 6), "y": round(float(position[0]), 6), "z": round(float(-position[1]), 6)}


def _angles(c2w: NDArray[np.float64]) -> dict[str, float]:
    """Roll, pitch, yaw in degrees; pitch up and yaw right are positive."""
    yaw = np.degrees(np.arctan2(c2w[0, 2], c2w[2, 2]))
    pitch = np.degrees(np.arctan2(-c2w[1, 2], np.hypot(c2w[0, 2], c2w[2, 2])))
    return {"x": 0.0, "y": round(float(pitch), 6), "z": round(float(yaw), 6)}


def action_document(request: Request, truth: Film) -> dict[str, Any]:
    """The content of action.json: the action of every frame, and where camera and actor are."""
    rows = []
    for index, (row, pose) in enumerate(zip(to_mind(request.camera, "code"), truth.c2w, strict=True)):
        camera = {"camera_pos": _place(pose[:3, 3]), "camera_rpy": _angles(pose)}
        if truth.actor is not None:
            foot, heading = truth.actor[index]
            actor = {"actor_pos": _place(foot), "actor_rpy": {"x": 0.0, "y": 0.0, "z": round(heading, 6)}}
            rows.append({**row, **actor, **camera})
        else:
            rows.append({**row, "actor_pos": camera["camera_pos"], "actor_rpy": camera["camera_rpy"]})
    return {
        "mark_time": request.mark_time,
        "total_time": len(truth.frames),
        "caption": request.texts.prompt,
        "data": rows,
    }
