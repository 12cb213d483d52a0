"""What is known of a clip before its frames are read, and the checks every path goes through first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lookback.errors import MediaError, Reason

Kind = Literal["video", "frames", "animation"]

# 8192 x 8192: above every clip in use, below what one RGB frame may cost in memory (200 MB).
MAX_PIXELS = 2**26


@dataclass(frozen=True)
class VideoInfo:
    """A clip's facts, as displayed (rotation applied).

    `n_frames` is the number of frames that can be read. `complete` is False where the file breaks off before the number of
    frames it declares; iteration then delivers `n_frames` frames and raises. `fps` is the average where the rate varies. `fps`
    and `duration` (seconds) are None only for a frame folder, which carries no rate. `rotation` is the clockwise quarter turn
    in degrees that was applied.
    """

    path: Path
    kind: Kind
    n_frames: int
    fps: float | None
    width: int
    height: int
    duration: float | None
    rotation: int
    codec: str
    pix_fmt: str
    variable_frame_rate: bool
    complete: bool = True


@contextmanager
def unreadable_in_words(path: Path) -> Iterator[None]:
    """What the system says of a file (no permission, an I/O error, too long a name) as a MediaError."""
    try:
        yield
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror or error}); check the file and its permissions"
        raise MediaError(message, Reason.MISSING_INPUT) from None


def existing(path: str | Path) -> Path:
    """The path, if something that can be read is there."""
    path = Path(path)
    with unreadable_in_words(path):
        return _readable(path)


def _readable(path: Path) -> Path:
    if not path.exists():
        raise MediaError(f"{path}: no such file or folder; check the path in the dataset", Reason.MISSING_INPUT)
    if not os.access(path, os.R_OK):
        raise MediaError(f"{path}: may not be read; change its permissions", Reason.MISSING_INPUT)
    if path.is_file() and path.stat().st_size == 0:
        raise MediaError(f"{path}: the file is empty (0 bytes); copy or generate it again")
    return path


def check_size(path: Path, width: int, height: int) -> None:
    """Refuse sizes that no real clip has before anything is allocated for them."""
    if width < 1 or height < 1:
        raise MediaError(f"{path}: its header declares no usable frame size; copy or generate it again", Reason.INVALID_INPUT)
    if width * height > MAX_PIXELS:
        message = f"{path}: its header says {width}x{height} pixels, and this reads up to {MAX_PIXELS} a frame; scale it down"
        raise MediaError(message, Reason.INVALID_INPUT)
