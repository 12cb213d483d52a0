"""MemoBench: ground truth, generated clips in the spellings its models use, metadata and phase sheet."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from lookback.demo.captions import prompt
from lookback.demo.clip import RenderedClip
from lookback.demo.datasets.common import Take, write_array, write_image, write_video
from lookback.demo.plan import PlannedClip, Task
from lookback.demo.scenes import load_scene

MILLIMETRES, DEEPEST = 1000.0, 65.535  # depth is 16-bit PNG in millimetres


def folder(task: Task) -> str:
    return "memobench"


def _name(task: Task) -> tuple[str, int]:
    scene, number = task.clip_id.rsplit("_", 1)
    return scene, int(number)


def write_truth(root: Path, task: Task, right: RenderedClip) -> None:
    """The faithful film with depth, poses and intrinsics."""
    scene, number = _name(task)
    fx, fy, cx, cy = right.intrinsics[[0, 1, 0, 1], [0, 1, 2, 2]]
    depth = np.rint(np.clip(right.depth, 0, DEEPEST) * MILLIMETRES).astype(np.uint16)
    if task.setting == "synthetic":
        place = root / "Synthetic_processed" / scene / task.clip_id
        for index, frame in enumerate(right.frames):
            write_image(place / f"RGB{number}" / f"NewLevelSequence{number}.{index:04d}.jpg", frame)
            write_image(place / f"Depth{number}" / f"NewLevelSequence{number}.{index:04d}.png", depth[index])
        write_array(place / str(number) / "poses.npy", right.c2w)
        write_array(place / str(number) / "intrinsics.npy", np.tile([fx, fy, cx, cy], (len(right.c2w), 1)))
        return
    place = root / "Real_Raw" / f"{number:03d}"
    write_video(place / f"{number:03d}.mp4", right.frames)
    for index, frame in enumerate(right.frames):
        write_image(place / "FRAMES" / f"frame_{index + 1:04d}.jpg", frame)
        write_image(place / "depth" / f"frame_{index + 1:04d}.png", depth[index])
    (place / "raw").mkdir(parents=True, exist_ok=True)
    cameras = np.repeat(right.intrinsics[None], len(right.c2w), axis=0)
    np.savez_compressed(place / "raw" / f"{number:03d}_mapanything.npz", cam_c2w=right.c2w, intrinsic=cameras)


def _frames(place: Path, frames: np.ndarray, suffix: str) -> None:
    for index, frame in enumerate(frames):
        write_image(place / f"{index:05d}{suffix}", frame)


# the ways in which models hand in their clips; a model always uses the same one
SPELLINGS: tuple[Callable[[Path, str, np.ndarray], None], ...] = (
    lambda base, clip, frames: write_video(base / clip / "video.mp4", frames),
    lambda base, clip, frames: write_video(base / f"{clip}.mp4", frames),
    lambda base, clip, frames: write_video(base / clip / f"{clip}.mp4", frames),
    lambda base, clip, frames: _frames(base / clip / "frames", frames, ".jpg"),
    lambda base, clip, frames: write_video(base / clip / "video.mp4", frames),
    lambda base, clip, frames: _frames(base / clip / "samples-rgb", frames, ".png"),
    lambda base, clip, frames: write_video(base / f"{clip}.mp4", frames),
)
MODELS = (
    "sim-faithful",
    "sim-state-reset-050",
    "sim-state-reset-100",
    "sim-teleport-050",
    "sim-teleport-100",
    "sim-background-hallucination-050",
    "sim-background-hallucination-100",
)


def write_clip(root: Path, take: Take) -> None:
    """The generated clip, in its model's spelling; every second model leaves out the scene folder and the word `real`."""
    task, order = take.task, MODELS.index(take.model_id) if take.model_id in MODELS else 0
    scene, number = _name(task)
    base = root / "generated" / take.model_id / task.setting.capitalize()
    terse = order % 2 == 1
    if task.setting == "synthetic":
        SPELLINGS[order](base if terse else base / scene, task.clip_id, take.clip.frames)
    else:
        SPELLINGS[order](base, f"{number:03d}" if terse else task.clip_id, take.clip.frames)


def finish(root: Path, plan: Sequence[PlannedClip]) -> None:
    """Metadata tables of both subsets."""
    tasks = {clip.task.clip_id: clip.task for clip in plan}
    synthetic, real = (
        [["scene", "video_id", "subject", "exr_path", "prompt"]],
        [["video_id", "subject", "full_image_path", "prompt"]],
    )
    for task in tasks.values():
        name, number = _name(task)
        scene = load_scene(task.scene)
        text = prompt(scene, task.event, task.camera)
        if task.setting == "synthetic":
            image = f"Synthetic_processed/{name}/{task.clip_id}/RGB{number}/NewLevelSequence{number}.0000.jpg"
            synthetic.append([name, str(number), scene.subject.name, image, text])
        else:
            real.append([str(number), scene.subject.name, f"Real_Raw/{number:03d}/FRAMES/frame_0001.jpg", text])
    for file, rows in (("synthetic_metadata.csv", synthetic), ("real_metadata.csv", real)):
        if len(rows) > 1:
            _write_csv(root / file, rows)


def phase_row(task: Task, right: RenderedClip) -> list[str]:
    """clip, frames, d_start, r_start of one ground truth."""
    return [task.clip_id, str(len(right.frames)), str(right.d_start), str(right.r_start)]


def write_phase_sheet(root: Path, rows: Sequence[list[str]]) -> None:
    """One row per clip, in order."""
    _write_csv(root / "phases.csv", [["clip", "n_frames", "d_start", "r_start"], *sorted(rows)])


def _write_csv(path: Path, rows: Sequence[Sequence[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
