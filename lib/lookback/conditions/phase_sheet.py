"""When does the subject of a ground-truth video leave and return? A row for a phase sheet, and frames to confirm it by eye."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lookback.artifacts import Masks
from lookback.backends.choose import build_backend
from lookback.clips import Anchor, Clip
from lookback.errors import ContractError, NotScorable, UsageError
from lookback.extraction.onepass import extract_clip
from lookback.files import make_folder
from lookback.judging.geometry import visibility
from lookback.layouts.writing import write_csv, write_image
from lookback.media import open_video
from lookback.params.load import validate
from lookback.strips import read_strip

COLUMNS = ["clip", "n_frames", "d_start", "r_start"]
AROUND = (-8, -4, -2, -1, 0, 1, 2, 4)  # frames shown around each moment
WIDTH = 160


@dataclass(frozen=True)
class Found:
    """One row of the sheet, and the picture that shows it."""

    clip: str
    n_frames: int
    d_start: int
    r_start: int
    picture: Path


def find_phases(video: Path, box: str, sheet: Path, name: str, backend: str = "") -> Found:
    """Follow the subject from its box in frame 0, write the row, and the frames around both moments beside the sheet."""
    if not video.exists():
        raise UsageError(f"{video}: there is no such video")
    anchor = _anchor(box)
    make_folder(sheet.parent)
    params = validate({"run": "phases", "extraction": {"backends": {"masks": backend} if backend else {}}}, "command line")
    clip = Clip(
        benchmark="folder", setting="", model_id="ground-truth", clip_id=name, video=str(video.absolute()), object_anchor=anchor
    )
    made = extract_clip(clip, {"masks": build_backend("masks", params)}, {})[0]["masks"]
    if not isinstance(made.artifact, Masks):
        raise ContractError(f"{video}: the subject cannot be followed ({made.reason}: {made.detail})")
    with open_video(video) as reader:
        n_frames, fps = reader.info.n_frames, reader.info.fps or 24.0
    masks = made.artifact
    try:
        seen = visibility(masks.state, masks.area, masks.confidence, masks.frame_index / fps)
    except NotScorable as why:
        raise ContractError(f"{video}: {why.detail}") from None
    gap = seen.hidden
    if gap is None or seen.back_at is None:
        raise ContractError(f"{video}: {seen.describe()} A phase sheet needs a subject that leaves and returns")
    d_start, r_start = int(masks.frame_index[gap[0]]), int(masks.frame_index[seen.back_at])
    _add_row(sheet, [name, str(n_frames), str(d_start), str(r_start)])
    picture = sheet.with_name(f"{name}_phases.png")
    write_image(picture, _picture(video, d_start, r_start, n_frames))
    return Found(name, n_frames, d_start, r_start, picture)


def _anchor(box: str) -> Anchor:
    try:
        x, y, width, height = (float(part) for part in box.split(","))
    except ValueError:
        raise UsageError(f"--box {box} is not centre x, centre y, width, height in pixels, for example 640,360,80,120") from None
    if width <= 0 or height <= 0:
        raise UsageError(f"--box {box} has no size; give a width and height above 0")
    return Anchor(centre_x=x, centre_y=y, width=width, height=height)


def _picture(video: Path, d_start: int, r_start: int, n_frames: int) -> np.ndarray:
    """Two rows of frames: around the frame in which the subject is gone, and around the one in which it is back."""
    rows = []
    for moment, words in ((d_start, "the subject should be gone from frame"), (r_start, "the subject should be back from frame")):
        frames = sorted({min(max(moment + step, 0), n_frames - 1) for step in AROUND})
        rows.append(read_strip(video, frames).resized(WIDTH).numbered().joined(4, f"{words} {moment} on"))
    width = max(row.shape[1] for row in rows)
    return np.vstack([np.pad(row, ((0, 0), (0, width - row.shape[1]), (0, 0)), constant_values=255) for row in rows])


def _add_row(sheet: Path, row: list[str]) -> None:
    rows: list[list[str]] = []
    if sheet.is_file():
        with sheet.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        if rows and rows[0] != COLUMNS:
            raise ContractError(f"{sheet}: its columns are {', '.join(rows[0])}, not {', '.join(COLUMNS)}; name another file")
    write_csv(sheet, [COLUMNS, *(each for each in rows[1:] if each[0] != row[0]), row])
