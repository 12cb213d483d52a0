"""MemoBench's ground truth: `Synthetic_processed/{Scene}/{Scene}_{NNN}` and `Real_Raw/{NNN}`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lookback.benchmarks.memobench.names import ClipName
from lookback.layouts.confine import FRAME_SUFFIXES, Root, entries
from lookback.layouts.reading import Findings, Item
from lookback.paths import portable

SYNTHETIC, REAL = "Synthetic_processed", "Real_Raw"


def ground_truth_root(root: Path) -> Path | None:
    """The folder that holds Synthetic_processed/ or Real_Raw/: this one or its data/."""
    return next((place for place in (root, root / "data") if (place / SYNTHETIC).is_dir() or (place / REAL).is_dir()), None)


def truth_of(root: Root, name: ClipName, findings: Findings, item: Item) -> dict[str, Any]:
    """The clip's ground truth as Clip fields; what is absent stays out, what is broken is a violation of its field."""
    found: dict[str, Any] = {}
    for field, path in _places(root.path, name).items():
        if not (path.exists() or path.is_symlink()):
            continue
        with findings.guard(field, item):
            checked = root.video(path, path, field) if field == "ground_truth" else _confirmed(root, path, field)
            found[field] = portable(checked)
    if "gt_poses" in found:
        found["gt_poses_format"] = "c2w" if name.setting == "synthetic" else "mapanything"
    if "ground_truth" in found and (first := _first_frame(root.path, name)) is not None:
        found["reference_image"] = portable(first)
    return found


def _places(root: Path, name: ClipName) -> dict[str, Path]:
    if name.setting == "synthetic":
        folder, number = root / SYNTHETIC / name.scene / name.clip_id, str(name.number)
        return {
            "ground_truth": folder / f"RGB{number}",
            "gt_depth": folder / f"Depth{number}",
            "gt_poses": folder / number / "poses.npy",
            "gt_intrinsics": folder / number / "intrinsics.npy",
        }
    folder = _real_folder(root, name)
    video = folder / f"{folder.name}.mp4"
    return {
        "ground_truth": video if video.exists() else folder / "FRAMES",
        "gt_depth": folder / "depth",
        "gt_poses": folder / "raw" / f"{folder.name}_mapanything.npz",
    }


def _real_folder(root: Path, name: ClipName) -> Path:
    padded = root / REAL / f"{name.number:03d}"
    return padded if padded.is_dir() else root / REAL / str(name.number)


def _confirmed(root: Root, path: Path, field: str) -> Path:
    if path.is_dir():
        root.confirm(path, path, field)
        return path
    return root.file(path.name, path, field, base=path.parent)


def _first_frame(root: Path, name: ClipName) -> Path | None:
    """The reference start frame: the first of the ground-truth frames, when they lie as images."""
    folder = _real_folder(root, name) / "FRAMES" if name.setting == "real" else _places(root, name)["ground_truth"]
    return next((path for path in entries(folder) if path.suffix.lower() in FRAME_SUFFIXES), None)
