"""A planned scene as MemoBench's files: frames, camera path, metadata row and phase row."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np

from lookback.benchmarks.memobench.dataset_files import SYNTHETIC, clip_name
from lookback.camera.requests import path_of
from lookback.conditions.plans import Scene
from lookback.errors import ContractError, ParameterError
from lookback.layouts.writing import write_array, write_csv, write_image
from lookback.media import open_video

METADATA = ("synthetic_metadata.csv", ["scene", "video_id", "subject", "exr_path", "prompt"])
PHASES = ("phases.csv", ["clip", "n_frames", "d_start", "r_start"])


def write_scene(scene: Scene, video: Path | None, out: Path) -> str:
    """Poses and intrinsics always; the frames when there is a video, which must have the frames of the plan."""
    name = clip_name(scene.name)
    if name is None or name.setting != "synthetic":
        raise ParameterError(f"'{scene.name}' is no MemoBench name; write a scene and a number, such as Kitchen_001")
    if not scene.prompt or not scene.subject:
        raise ParameterError("MemoBench needs a subject and a prompt")
    first, back = scene.hidden_span()
    place, number = out / SYNTHETIC / name.scene / name.clip_id, name.number
    if video is not None:
        _write_frames(video, place / f"RGB{number}", number, scene.frames)
    width, height = scene.size
    focal = 0.5 * width / np.tan(np.radians(scene.fov_deg) / 2)
    write_array(place / str(number) / "poses.npy", path_of(scene.intent))
    write_array(place / str(number) / "intrinsics.npy", np.tile([focal, focal, width / 2, height / 2], (scene.frames, 1)))
    picture = f"{SYNTHETIC}/{name.scene}/{name.clip_id}/RGB{number}/NewLevelSequence{number}.0000.jpg"
    _replace_row(out, METADATA, [name.scene, str(number), scene.subject, picture, scene.prompt], key=slice(0, 2))
    _replace_row(out, PHASES, [name.clip_id, str(scene.frames), str(first), str(back)], key=slice(0, 1))
    return f"{name.clip_id}: hidden from frame {first} to {back - 1} of {scene.frames}{'' if video else ', no video yet'}"


def _write_frames(video: Path, folder: Path, number: int, frames: int) -> None:
    with open_video(video) as reader:
        if reader.info.n_frames != frames:
            raise ContractError(f"{video.name} has {reader.info.n_frames} frames, the plan says {frames}")
        shutil.rmtree(folder, ignore_errors=True)
        for indices, pictures in reader.batches(8):
            for index, picture in zip(indices, pictures, strict=True):
                write_image(folder / f"NewLevelSequence{number}.{int(index):04d}.jpg", picture)


def _replace_row(out: Path, table: tuple[str, list[str]], row: list[str], key: slice) -> None:
    """Add a row to a table, in place of the row about the same clip."""
    name, columns = table
    rows: list[list[str]] = []
    if (out / name).is_file():
        with (out / name).open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))[1:]
    write_csv(out / name, [columns, *sorted([*(each for each in rows if each[key] != row[key]), row])])
