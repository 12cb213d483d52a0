"""The camera CSV that Unreal Engine 5 scenes are exported with, as MemoBench's synthetic ground truth has it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from lookback.artifacts import PoseTrack
from lookback.backends.pose.loading import rescaled, track
from lookback.errors import ContractError
from lookback.media import VideoInfo

PLACE, TURN, LENS = ("loc_x", "loc_y", "loc_z"), ("rot_x", "rot_y", "rot_z"), ("fx", "fy", "cx", "cy")
TO_OPENCV = np.diag([1.0, -1.0, -1.0, 1.0])
MAX_BYTES = 64 << 20  # a row of an hour at 60 frames per second has 300 bytes at most


def read_ue5(path: Path, info: VideoInfo) -> PoseTrack:
    """Unreal Engine 5, `camera_full<n>.csv`: columns loc_x loc_y loc_z, and rot_x rot_y rot_z in radians, one row per frame.

    The rotation is Rz Ry Rx with left-handed turns; diag(1,-1,-1,1) turns the camera's axes into OpenCV's. The world keeps the
    engine's axes and unit. fx fy cx cy, where the file has them, are in pixels of a picture centred on cx cy.
    """
    columns = _columns(path)
    angles = np.stack([columns[name] for name in reversed(TURN)], axis=1)
    c2w = np.tile(np.eye(4), (len(angles), 1, 1))
    c2w[:, :3, :3] = Rotation.from_euler("ZYX", -angles).as_matrix()  # a left-handed turn is the opposite right-handed one
    c2w[:, :3, 3] = np.stack([columns[name] for name in PLACE], axis=1)
    if not set(LENS) <= set(columns):
        return track(c2w @ TO_OPENCV, path, info)
    lens = np.stack([columns[name] for name in LENS], axis=1)
    size = (2 * float(lens[:, 2].mean()), 2 * float(lens[:, 3].mean()))
    return track(c2w @ TO_OPENCV, path, info, rescaled(lens, size, info, path))


def _columns(path: Path) -> dict[str, np.ndarray]:
    """The columns of numbers by name. Errors name the line."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ContractError(f"{path}: is larger than {MAX_BYTES >> 20} MB; this cannot be a camera file")
        lines = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except FileNotFoundError:
        raise ContractError(f"{path}: there is no such pose file; check the path in the dataset") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ContractError(f"{path}: cannot be read as CSV ({error}); export it again") from None
    header = [cell.strip().lower() for cell in lines[0]] if lines else []
    missing = [name for name in (*PLACE, *TURN) if name not in header]
    if missing:
        raise ContractError(f"{path}: has no column '{missing[0]}'; it needs {', '.join((*PLACE, *TURN))}")
    wanted = [name for name in (*PLACE, *TURN, *LENS) if name in header]
    rows = [
        [_number(path, number, line, header.index(name)) for name in wanted] for number, line in enumerate(lines[1:], 2) if line
    ]
    if not rows:
        raise ContractError(f"{path}: holds no pose; export it again")
    return dict(zip(wanted, np.array(rows).T, strict=True))


def _number(path: Path, number: int, line: list[str], column: int) -> float:
    try:
        return float(line[column])
    except (ValueError, IndexError):
        found = line[column].strip()[:60] if column < len(line) else ""
        raise ContractError(f"{path}, line {number}: expected a number in column {column + 1}, found '{found}'") from None
