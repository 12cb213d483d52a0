"""MemoBench: ground truth, generated clips in the spellings its models use, metadata and phase sheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from lookback.layouts.writing import Delivery, Film, Request, write_array, write_csv, write_image, write_video

folders: tuple[str, ...] = ("memobench",)
MILLIMETRES, DEEPEST = 1000.0, 65.535  # depth is 16-bit PNG in millimetres


def folder(request: Request) -> str:
    return "memobench"


def _name(request: Request) -> tuple[str, int]:
    scene, number = request.clip_id.rsplit("_", 1)
    return scene, int(number)


def write_truth(root: Path, request: Request, truth: Film) -> None:
    """The faithful film with depth, poses and intrinsics."""
    scene, number = _name(request)
    fx, fy, cx, cy = truth.intrinsics[[0, 1, 0, 1], [0, 1, 2, 2]]
    depth = np.rint(np.clip(truth.depth, 0, DEEPEST) * MILLIMETRES).astype(np.uint16)
    if request.setting == "synthetic":
        place = root / "Synthetic_processed" / scene / request.clip_id
        for index, frame in enumerate(truth.frames):
            write_image(place / f"RGB{number}" / f"NewLevelSequence{number}.{index:04d}.jpg", frame)
            write_image(place / f"Depth{number}" / f"NewLevelSequence{number}.{index:04d}.png", depth[index])
        write_array(place / str(number) / "poses.npy", truth.c2w)
        write_array(place / str(number) / "intrinsics.npy", np.tile([fx, fy, cx, cy], (len(truth.c2w), 1)))
        return
    place = root / "Real_Raw" / f"{number:03d}"
    write_video(place / f"{number:03d}.mp4", truth.frames, request.fps)
    for index, frame in enumerate(truth.frames):
        write_image(place / "FRAMES" / f"frame_{index + 1:04d}.jpg", frame)
        write_image(place / "depth" / f"frame_{index + 1:04d}.png", depth[index])
    (place / "raw").mkdir(parents=True, exist_ok=True)
    cameras = np.repeat(truth.intrinsics[None], len(truth.c2w), axis=0)
    np.savez_compressed(place / "raw" / f"{number:03d}_mapanything.npz", cam_c2w=truth.c2w, intrinsic=cameras)


def _frames(place: Path, frames: np.ndarray, suffix: str) -> None:
    for index, frame in enumerate(frames):
        write_image(place / f"{index:05d}{suffix}", frame)


# the ways in which models hand in their clips
SPELLINGS: tuple[Callable[[Path, str, np.ndarray, float], None], ...] = (
    lambda base, clip, frames, fps: write_video(base / clip / "video.mp4", frames, fps),
    lambda base, clip, frames, fps: write_video(base / f"{clip}.mp4", frames, fps),
    lambda base, clip, frames, fps: write_video(base / clip / f"{clip}.mp4", frames, fps),
    lambda base, clip, frames, fps: _frames(base / clip / "frames", frames, ".jpg"),
    lambda base, clip, frames, fps: write_video(base / clip / "video.mp4", frames, fps),
    lambda base, clip, frames, fps: _frames(base / clip / "samples-rgb", frames, ".png"),
    lambda base, clip, frames, fps: write_video(base / f"{clip}.mp4", frames, fps),
)


def write_clip(root: Path, delivery: Delivery, film: Film) -> None:
    """The generated clip, in its model's spelling; every second one leaves out the scene folder and the word `real`."""
    request, order = delivery.request, delivery.spelling % len(SPELLINGS)
    terse = order % 2 == 1
    scene, number = _name(request)
    base = root / "generated" / delivery.model_id / request.setting.capitalize()
    if request.setting == "synthetic":
        SPELLINGS[order](base if terse else base / scene, request.clip_id, film.frames, request.fps)
    else:
        SPELLINGS[order](base, f"{number:03d}" if terse else request.clip_id, film.frames, request.fps)


def finish(root: Path, deliveries: Sequence[Delivery], truths: Mapping[str, tuple[int, int | None, int | None]]) -> None:
    """Metadata tables of both subsets, and the phase sheet with a row per clip."""
    requests = {delivery.request.clip_id: delivery.request for delivery in deliveries}
    synthetic, real = (
        [["scene", "video_id", "subject", "exr_path", "prompt"]],
        [["video_id", "subject", "full_image_path", "prompt"]],
    )
    for request in requests.values():
        name, number = _name(request)
        subject, text = request.texts.subject, request.texts.prompt
        if request.setting == "synthetic":
            image = f"Synthetic_processed/{name}/{request.clip_id}/RGB{number}/NewLevelSequence{number}.0000.jpg"
            synthetic.append([name, str(number), subject, image, text])
        else:
            real.append([str(number), subject, f"Real_Raw/{number:03d}/FRAMES/frame_0001.jpg", text])
    for file, rows in (("synthetic_metadata.csv", synthetic), ("real_metadata.csv", real)):
        if len(rows) > 1:
            write_csv(root / file, rows)
    phases = sorted([clip, *map(str, truth)] for clip, truth in truths.items())
    write_csv(root / "phases.csv", [["clip", "n_frames", "d_start", "r_start"], *phases])
