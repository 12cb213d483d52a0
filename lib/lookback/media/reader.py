"""The interface of every kind of clip: its facts, iteration, batches, and exact reads by frame index."""

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

# 8192 x 8192: larger than every clip in use, and one RGB frame takes at most 200 MB.
MAX_PIXELS = 2**26


@dataclass(frozen=True)
class VideoInfo:
    """The facts of a clip, as displayed (after rotation).

    `n_frames` is the number of frames that can be read. `complete` is False where the file ends before the number of frames it
    declares; iteration then gives `n_frames` frames and raises. `fps` is the average where the rate varies. `fps` and `duration`
    (seconds) are None only for a frame folder, which has no rate. `rotation` is the applied clockwise turn in degrees, a multiple
    of 90.
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
def os_errors_as_media_errors(path: Path) -> Iterator[None]:
    """Turn an error of the operating system (no permission, an I/O error, a name that is too long) into a MediaError."""
    try:
        yield
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror or error}); check the file and its permissions"
        raise MediaError(message, Reason.MISSING_INPUT) from None


def existing(path: str | Path) -> Path:
    """The path; a MediaError when there is nothing that can be read."""
    path = Path(path)
    with os_errors_as_media_errors(path):
        return _readable(path)


def _readable(path: Path) -> Path:
    if not path.exists():
        raise MediaError(f"{path}: no such file or folder; check the path in the dataset", Reason.MISSING_INPUT)
    if not os.access(path, os.R_OK):
        raise MediaError(f"{path}: cannot be read; change its permissions", Reason.MISSING_INPUT)
    if path.is_file() and path.stat().st_size == 0:
        raise MediaError(f"{path}: the file is empty (0 bytes); copy or generate it again")
    return path


def check_size(path: Path, width: int, height: int) -> None:
    """Refuse sizes that no real clip has, before memory is allocated for them."""
    if width < 1 or height < 1:
        raise MediaError(f"{path}: its header declares no usable frame size; copy or generate it again", Reason.INVALID_INPUT)
    if width * height > MAX_PIXELS:
        message = f"{path}: its header says {width}x{height} pixels, but at most {MAX_PIXELS} per frame can be read; scale it down"
        raise MediaError(message, Reason.INVALID_INPUT)


class VideoReader(ABC):
    """Frames of one clip as uint8 RGB (H, W, 3), in display order, upright.

    Each iteration starts at the first frame and keeps only a few frames in memory. Where a file is cut off, iteration gives the
    frames before the cut and then raises a MediaError with their number.
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
        """(indices (n,), frames (n, H, W, 3)) with n = size; the last batch may be smaller."""
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
            message = f"{self.info.path}: frame {outside[0]} was requested, but the clip has {self.info.n_frames} (0 is the first)"
            raise MediaError(message, Reason.TOO_SHORT)
        frames = np.empty((len(wanted), self.info.height, self.info.width, 3), np.uint8)
        unique, places = np.unique(wanted, return_inverse=True)
        for k, frame in enumerate(self._select(unique)):
            frames[places == k] = frame
        return frames
