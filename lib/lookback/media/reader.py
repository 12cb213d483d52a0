"""What every kind of clip offers: its facts before a frame is read, iteration, batches and exact reads by frame index."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import numpy as np

from lookback.errors import MediaError, Reason, UsageError

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


class VideoReader(ABC):
    """Frames of one clip as uint8 RGB (H, W, 3), in display order, upright.

    Iterating streams the clip from its first frame, each time anew, and holds a few frames at most. Where a file breaks off,
    iteration delivers the frames before the break and then raises a MediaError that says after how many.
    """

    def __init__(self, info: VideoInfo):
        self.info = info

    @abstractmethod
    def __iter__(self) -> Iterator[tuple[int, np.ndarray]]:
        """(index, frame) from the first frame on."""

    @abstractmethod
    def _select(self, indices: np.ndarray) -> Iterator[np.ndarray]:
        """The frames of strictly increasing, valid indices."""

    def close(self) -> None:  # noqa: B027 - only a video file holds something open
        """Release the files held for `read`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.info.n_frames

    def batches(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(indices (n,), frames (n, H, W, 3)) with n = size, the last one possibly smaller."""
        if size < 1:
            raise UsageError(f"a batch needs at least one frame, not {size}")
        indices: list[int] = []
        frames: list[np.ndarray] = []
        broken: MediaError | None = None
        try:
            for index, frame in self:
                indices.append(index)
                frames.append(frame)
                if len(frames) == size:
                    yield np.array(indices), np.stack(frames)
                    indices, frames = [], []
        except MediaError as error:
            broken = error
        if frames:
            yield np.array(indices), np.stack(frames)
        if broken is not None:
            raise broken

    def read(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """The frames at `indices` (any order, repeats allowed) as (N, H, W, 3), equal to those of iteration."""
        wanted = np.asarray(indices)
        if wanted.ndim != 1 or not (wanted.size == 0 or np.issubdtype(wanted.dtype, np.integer)):
            raise UsageError(f"frame indices are a list of integers, not {indices!r}")
        outside = wanted[(wanted < 0) | (wanted >= self.info.n_frames)]
        if len(outside):
            message = f"{self.info.path}: frame {outside[0]} was asked for, and the clip has {self.info.n_frames} (0 is the first)"
            raise MediaError(message, Reason.TOO_SHORT)
        frames = np.empty((len(wanted), self.info.height, self.info.width, 3), np.uint8)
        unique, places = np.unique(wanted, return_inverse=True)
        for k, frame in enumerate(self._select(unique)):
            frames[places == k] = frame
        return frames
