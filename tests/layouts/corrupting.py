"""Ways to break a dataset, and what must be said about each."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from layout_data import FRAMES, read_lines, turn, video, write_csv, write_json, write_lines
from lookback.errors import Reason

LINES = "models/wan/samples.jsonl"
SAMPLE = "samples/object/object_1/sample.json"
VIDEO = "models/wan/outputs/human/human_1/left_then_right_10s/video.mp4"
POSES = "models/wan/artifacts/human/human_1/left_then_right_10s/da3/results.npz"
WR_VIDEO = "gen3c/kitchen_cat_cup_knock__T0__yaw_LR.mp4"
TRUTH = "gt_root/1st_data/test/mem_test/hall"
GENERATED = "test_root/minecraft/1st_data/mem_test/hall/video.mp4"
SYNTHETIC = "data/Synthetic_processed/Study/Study_001"


@dataclass(frozen=True)
class Case:
    layout: str
    breaks: Callable[[Path], object]
    field: str
    reason: Reason
    says: str
    concerns: str = ""  # the clip field that is lost; empty: the whole item


def line(change: Callable[[dict], object], index: int = 0) -> Callable[[Path], None]:
    """Change one line of samples.jsonl."""

    def apply(root: Path) -> None:
        rows = read_lines(root / LINES)
        change(rows[index])
        write_lines(root / LINES, rows)

    return apply


def document(name: str, change: Callable[[dict], object]) -> Callable[[Path], None]:
    """Change a JSON document."""

    def apply(root: Path) -> None:
        value = json.loads((root / name).read_text())
        change(value)
        write_json(root / name, value)

    return apply


def manifest(change: Callable[[dict], object]) -> Callable[[Path], None]:
    return document("manifest.json", lambda value: change(value["videos"][0]))


def sidecar(change: Callable[[dict], object]) -> Callable[[Path], None]:
    return document(f"{WR_VIDEO}.camera.json", change)


def text(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda root: (root / name).write_bytes(content)


def video_path(value: object) -> Callable[[Path], None]:
    return line(lambda row: row["media"]["videos"][0].update(path=value))


def da3_array(**arrays: np.ndarray) -> Callable[[Path], object]:
    return lambda root: np.savez(root / POSES, **arrays)


def link(name: str, target: str) -> Callable[[Path], None]:
    def apply(root: Path) -> None:
        (root / name).unlink()
        (root / name).symlink_to(target)

    return apply


def outside(name: str) -> Callable[[Path], None]:
    """Move a file out of the dataset and leave a link to it."""

    def apply(root: Path) -> None:
        moved = root.parent / "outside.bin"
        shutil.move(root / name, moved)
        (root / name).symlink_to(moved)

    return apply


def nan_poses(n: int = FRAMES) -> np.ndarray:
    poses = turn(n).copy()
    poses[3, 0, 3] = np.nan
    return poses


def no_rotation() -> np.ndarray:
    poses = turn().copy()
    poses[:, :3, :3] *= 2.0
    return poses


def mirrored() -> np.ndarray:
    return turn() @ np.diag([-1.0, 1.0, 1.0, 1.0])


def truncated(name: str) -> Callable[[Path], None]:
    def apply(root: Path) -> None:
        video(root / name, n=40)
        content = (root / name).read_bytes()
        (root / name).write_bytes(content[: len(content) // 2])

    return apply


def odd_mirror(root: Path) -> None:
    for path in (root / "test_root").rglob("path-1.mp4"):
        if "1st_data" in path.parts:
            video(path, n=7)


def mixed_sizes(root: Path) -> None:
    folder = root / "output/wan/Synthetic/Study/Study_001/frames"
    import cv2

    cv2.imwrite(str(folder / "00003.png"), np.zeros((10, 10, 3), np.uint8))


def sheet(*rows: list[object], header: tuple[str, ...] = ("clip", "n_frames", "d_start", "r_start")) -> Callable[[Path], object]:
    return lambda root: write_csv(root / "data/phases.csv", list(header), [list(row) for row in rows])


REST = ["Real_007", 20, 5, 15]
INVALID, MISSING, LENGTH, DECODE = Reason.INVALID_INPUT, Reason.MISSING_INPUT, Reason.LENGTH_MISMATCH, Reason.DECODE_FAILED
FIRST_VIDEO = "media.videos[0].path"
