"""MemoBench's files: clip names, the metadata tables and phase sheets, and where the ground truth of a clip is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lookback.errors import Reason, UsageError
from lookback.layouts.confine import FRAME_SUFFIXES, Root, entries
from lookback.layouts.documents import read_rows
from lookback.layouts.reading import Breach, ClipRef, Findings
from lookback.paths import portable, resolve

_REAL = re.compile(r"^(?:real_)?(\d{1,6})$", re.IGNORECASE)
_SYNTHETIC = re.compile(
    r"^(.+)_(\d{1,6})$", re.DOTALL
)  # DOTALL: a name with a line break must match here, so that it can be rejected later


class ClipName(NamedTuple):
    """A parsed name; `clip_id` is the same for every spelling."""

    setting: str  # synthetic or real
    clip_id: str
    scene: str  # empty for real clips
    number: int


def plain_name(text: str) -> str:
    """A name without capitals and separators. The benchmark's own files spell scenes differently: Zen_Garden, ZenGarden."""
    return re.sub(r"[\W_]+", "", text.lower())


def clip_name(text: str) -> ClipName | None:
    """The clip a file or folder name means, or None."""
    if match := _REAL.match(text):
        return ClipName("real", f"real_{int(match[1]):03d}", "", int(match[1]))
    if match := _SYNTHETIC.match(text):
        return ClipName("synthetic", f"{match[1]}_{int(match[2]):03d}", match[1], int(match[2]))
    return None


METADATA = {"synthetic": "synthetic_metadata.csv", "real": "real_metadata.csv"}
METADATA_PLACES = ("", "sam3_metadata", "data", "data/sam3_metadata")
# The phase sheets of the dataset release, and those that a user may put beside the data.
SHEETS = ("Synthetic_processed/Synthetic_ExitReenter.xlsx", "Real_Raw/Real_ExitReenter.xlsx", "phases.csv", "phases.xlsx")
CLIP_COLUMNS = ("clip", "clip_id", "video_folder", "name", "id", "video_id")
D_COLUMNS = ("d_start", "exits", "exit")
R_COLUMNS = ("r_start", "re-enter", "reenter", "re_enter")
FRAME_COLUMNS = ("n_frames", "gt_frames", "frames")
# which real clips count: the release's sheet, as it is and as it can be read here
SELECTIONS = tuple(f"{place}Real_Selected{suffix}" for place in ("", "data/") for suffix in (".xlsx", ".csv", ".xls"))


@dataclass(frozen=True)
class Phases:
    """One row of a phase sheet."""

    d_start: int
    r_start: int
    gt_frames: int | None = None


def read_metadata(places: list[Path], findings: Findings) -> dict[str, dict[str, str]]:
    """Plain name of the clip -> subject and prompt, from the first place that has each table."""
    found: dict[str, dict[str, str]] = {}
    for setting, file in METADATA.items():
        candidates = [place / inner / file for place in places for inner in METADATA_PLACES]
        path = next((candidate for candidate in candidates if candidate.is_file()), None)
        if path is None:
            continue
        with findings.guard("prompt"):
            rows = read_rows(path)
            if rows and "prompt" not in rows[0][1]:
                raise Breach(path, "prompt", "has no column prompt", "name the column of the prompts so", Reason.MISSING_INPUT)
            for where, row in rows:
                with findings.guard("prompt"):
                    clip = _metadata_clip(setting, row, where)
                    if clip in found:
                        raise Breach(where, "video_id", f"'{clip}' occurs a second time", "keep one row per clip")
                    found[clip] = {
                        "object_name": row.get("subject", ""),
                        "prompt": row.get("prompt", ""),
                    }
    return found


def _metadata_clip(setting: str, row: dict[str, str], where: str) -> str:
    number = row.get("video_id", "")
    name = clip_name(f"{row.get('scene', '')}_{number}" if setting == "synthetic" else number)
    if name is None or name.setting != setting or (setting == "synthetic" and not row.get("scene")):
        raise Breach(where, "video_id", f"is '{number}', which names no {setting} clip", "write scene and number as in the dataset")
    return plain_name(name.clip_id)


def find_sheets(given: str | None, places: list[Path]) -> list[Path]:
    """The phase sheets: the given file or folder, or those beside the data. An empty list is not an error here."""
    if given is not None:
        path = resolve(given)
        if path.is_dir():
            files = [file for file in entries(path) if file.suffix.lower() in (".csv", ".xlsx")]
        else:
            files = [path] if path.is_file() and path.suffix.lower() in (".csv", ".xlsx") else []
        if not files:
            raise UsageError(f"The phase sheet {path} does not exist or is no CSV or XLSX file; correct phases (--phases)")
        return files
    found = [
        place / name for place in places for name in (*SHEETS, *(f"data/{sheet}" for sheet in SHEETS)) if (place / name).is_file()
    ]
    return list(dict.fromkeys(found))


def read_phases(sheets: list[Path], findings: Findings) -> tuple[dict[str, Phases], set[str]]:
    """Plain name of the clip -> phases, and the clips whose rows say skip = yes. Every bad row is a violation."""
    found: dict[str, Phases] = {}
    skipped: set[str] = set()
    for sheet in sheets:
        with findings.guard("d_start"):
            rows = read_rows(sheet)
            columns = {name for _, row in rows for name in row}
            d_column, r_column = _column(sheet, columns, D_COLUMNS), _column(sheet, columns, R_COLUMNS)
            clip_column = _column(sheet, columns, CLIP_COLUMNS)
            for where, row in rows:
                said = row.get(clip_column, "")
                name = clip_name(f"{row['scene']}_{said}" if row.get("scene") and said.isdigit() else said)
                if row.get("skip", "").lower() == "yes":
                    skipped |= {plain_name(name.clip_id)} if name else set()
                    continue
                with findings.guard("d_start", ClipRef(sample_id=name.clip_id if name else "")):
                    if name is None:
                        raise Breach(
                            where,
                            clip_column,
                            f"'{said}' is no clip name",
                            "write {Scene}_{NNN} or the real clip's number",
                        )
                    if plain_name(name.clip_id) in found:
                        raise Breach(where, clip_column, f"'{name.clip_id}' occurs a second time", "keep one row per clip")
                    found[plain_name(name.clip_id)] = _phases(where, row, d_column, r_column)
    return found, skipped


def read_selection(places: list[Path], findings: Findings) -> set[str] | None:
    """Plain names of the real clips that the selection sheet marks Availability = yes; None without a sheet: all count."""
    sheet = next((place / name for place in places for name in SELECTIONS if (place / name).is_file()), None)
    if sheet is None:
        return None
    with findings.guard("video"):
        if sheet.suffix == ".xls":
            raise Breach(sheet, "document", "is an XLS file, which cannot be read here", "save it as Real_Selected.xlsx or .csv")
        rows = read_rows(sheet)
        columns = {name for _, row in rows for name in row}
        number, available = _column(sheet, columns, ("id",)), _column(sheet, columns, ("availability",))
        chosen = [clip_name(row.get(number, "").removesuffix(".0")) for _, row in rows if row.get(available, "").lower() == "yes"]
        return {plain_name(name.clip_id) for name in chosen if name is not None}
    return None


def _phases(where: str, row: dict[str, str], d_column: str, r_column: str) -> Phases:
    d_start, r_start = _frame(where, row, d_column), _frame(where, row, r_column)
    if not 0 < d_start < r_start:
        problem = f"the subject returns at frame {r_start}, but leaves at {d_start}"
        raise Breach(where, r_column, problem, "give 0 < d_start < r_start in ground-truth frames")
    frame_column = next((name for name in FRAME_COLUMNS if row.get(name)), None)
    total = _frame(where, row, frame_column) if frame_column else None
    if total is not None and r_start >= total:
        raise Breach(where, r_column, f"is {r_start}, but the ground truth has {total} frames", "give a frame inside the video")
    return Phases(d_start, r_start, total)


def _frame(where: str, row: dict[str, str], column: str) -> int:
    text = row.get(column, "")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if value < 0 or value != value or value != int(value if value < 1e9 else -1):
        raise Breach(where, column, f"is '{text}', not a frame number", "write a whole number from 0 on")
    return int(value)


def _column(sheet: Path, columns: set[str], names: tuple[str, ...]) -> str:
    found = next((name for name in names if name in columns), None)
    if found is None:
        problem = f"has no column {' or '.join(names)}"
        raise Breach(sheet, names[0], problem, f"name a column of {portable(sheet)} so", Reason.MISSING_INPUT)
    return found


SYNTHETIC, REAL = "Synthetic_processed", "Real_Raw"
OBJECT_MASK = "object_mask"  # the clip's extra: the mask of the object in the first true frame, as an image


def ground_truth_root(root: Path) -> Path | None:
    """The folder that holds Synthetic_processed/ or Real_Raw/: this one or its data/."""
    return next((place for place in (root, root / "data") if (place / SYNTHETIC).is_dir() or (place / REAL).is_dir()), None)


def truth_of(root: Root, name: ClipName, findings: Findings, item: ClipRef) -> dict[str, Any]:
    """The clip's ground truth as Clip fields; missing files are left out, a broken file is a violation of its field."""
    found: dict[str, Any] = {}
    for field, path in _places(root.path, name).items():
        if not (path.exists() or path.is_symlink()):
            continue
        with findings.guard(field, item):
            checked = root.video(path, path, field) if field == "ground_truth" else _confirmed(root, path, field)
            found[field] = portable(checked)
    if (mask := _object_mask(root.path, name)).exists():
        with findings.guard("extras", item):
            found["extras"] = {OBJECT_MASK: portable(_confirmed(root, mask, OBJECT_MASK))}
    if "gt_poses" in found:
        camera_table = found["gt_poses"].endswith(".csv")
        found["gt_poses_format"] = "mapanything" if name.setting == "real" else "ue5" if camera_table else "c2w"
    if "ground_truth" in found and (first := _first_frame(root.path, name)) is not None:
        found["reference_image"] = portable(first)
    return found


def _places(root: Path, name: ClipName) -> dict[str, Path]:
    if name.setting == "synthetic":
        folder, number = _scene_folder(root, name.scene) / name.clip_id, str(name.number)
        # as in the release: the poses of the dataset, else the camera table of the renderer
        poses = (folder / number / "poses.npy", folder / "poses.npy", folder / f"camera_full{number}.csv")
        intrinsics = (folder / number / "intrinsics.npy", folder / "intrinsics.npy")
        return {
            "ground_truth": folder / f"RGB{number}",
            "gt_depth": folder / f"Depth{number}",
            "gt_poses": _first_of(poses),
            "gt_intrinsics": _first_of(intrinsics),
        }
    folder = _real_folder(root, name)
    video = folder / f"{folder.name}.mp4"
    return {
        "ground_truth": video if video.exists() else folder / "FRAMES",
        "gt_depth": folder / "depth",
        "gt_poses": folder / "raw" / f"{folder.name}_mapanything.npz",
    }


def _object_mask(root: Path, name: ClipName) -> Path:
    """The mask of the object in the first true frame, which the dataset may have (appendix A.7.1 sorts clips by its size)."""
    folder = root / "sam3_output" / name.setting
    return (
        folder / f"{name.number:03d}/frame_mask.png"
        if name.setting == "real"
        else folder / name.scene / f"video{name.number}_mask.png"
    )


def _first_of(paths: tuple[Path, ...]) -> Path:
    return next((path for path in paths if path.exists() or path.is_symlink()), paths[0])


def _scene_folder(root: Path, scene: str) -> Path:
    """The scene's folder of the ground truth, in whichever spelling it has there."""
    exact = root / SYNTHETIC / scene
    if exact.is_dir():
        return exact
    return next((path for path in entries(root / SYNTHETIC) if plain_name(path.name) == plain_name(scene)), exact)


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
