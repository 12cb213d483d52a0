"""Frame folders (PNG, JPEG) as clips, and single images."""

from __future__ import annotations

import re
import struct
import warnings
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from lookback.errors import MediaError, Reason
from lookback.media.reader import VideoInfo, VideoReader, check_size, existing

SUFFIXES = {".png", ".jpg", ".jpeg"}
EXIF_ORIENTATION = 274
TRANSPOSED = {5, 6, 7, 8}
# what Pillow raises for damaged files; its own base class is OSError
DAMAGED = (OSError, SyntaxError, ValueError, LookupError, ArithmeticError, EOFError, TypeError, struct.error, zlib.error)


def natural_key(path: Path) -> tuple[object, ...]:
    """Sort key that compares digits as numbers: frame_2 comes before frame_10. Equal numbers are sorted by spelling."""
    parts = re.split(r"(\d+)", path.name)
    return (*((int(part), "") if k % 2 else (-1, part) for k, part in enumerate(parts)), path.name)


def frame_files(folder: Path) -> list[Path]:
    """The frames of the folder in natural order. Hidden files and other kinds of files are ignored."""
    files = [f for f in folder.iterdir() if f.suffix.lower() in SUFFIXES and not f.name.startswith(".") and f.is_file()]
    return sorted(files, key=natural_key)


def frame_numbers(files: list[Path]) -> list[int] | None:
    """The number of each frame: the only number that differs between the names; None where names are not numbered this way."""
    names = [re.split(r"(\d+)", file.stem) for file in files]
    if len({tuple(name[::2]) for name in names}) != 1:
        return None
    varying = [column for column in list(zip(*names, strict=True))[1::2] if len(set(map(int, column))) > 1]
    return [int(digits) for digits in varying[0]] if len(varying) == 1 else None


def check_no_frame_is_missing(folder: Path, files: list[Path]) -> None:
    """Raise a MediaError when a frame is missing. The folder may start at any number and keep every n-th frame.

    With three or more frames the smallest step counts as n. With two frames, the second must directly follow the first.
    """
    numbers = frame_numbers(files)
    if numbers is None:
        return
    steps = [after - before for before, after in pairwise(numbers)]
    if min(steps) < 1:
        repeated = steps.index(0)
        message = f"{folder}: {files[repeated].name} and {files[repeated + 1].name} have the same number; remove one of them"
        raise MediaError(message, Reason.INVALID_INPUT)
    step = min(steps) if len(steps) > 1 else 1
    for number, gap, file, following in zip(numbers, steps, files, files[1:], strict=False):
        if gap >= 2 * step:
            message = f"{folder}: frame {number + step} is missing: {following.name} follows {file.name}; copy the folder again"
            raise MediaError(message, Reason.MISSING_INPUT)


def open_image(path: Path) -> Image.Image:
    """The image, not decoded yet. Pillow's warning about many pixels is not shown: `check_size` refuses fewer, in a sentence."""
    with warnings.catch_warnings(action="ignore", category=Image.DecompressionBombWarning):
        return Image.open(path)


def image_size(path: Path) -> tuple[int, int]:
    """(width, height) as displayed, from the header alone."""
    try:
        with open_image(path) as image:
            turned = image.format == "JPEG" and image.getexif().get(EXIF_ORIENTATION) in TRANSPOSED
            size = image.size[::-1] if turned else image.size
    except Image.DecompressionBombError as error:
        raise MediaError(f"{path}: its header declares an impossible image size; {error}", Reason.INVALID_INPUT) from None
    except DAMAGED as error:
        raise MediaError(f"{path}: cannot be read as an image ({error}); copy or generate it again") from None
    check_size(path, *size)
    return size


def read_image(path: str | Path) -> np.ndarray:
    """One PNG or JPEG as upright uint8 RGB (H, W, 3); alpha is dropped, 16 bits a channel become 8."""
    path = existing(path)
    image_size(path)
    try:
        with Image.open(path) as image:
            # The EXIF of a PNG may follow its pixels, so reading it would decode every frame twice; and cameras write no PNG.
            upright = ImageOps.exif_transpose(image) if image.format == "JPEG" else image
            if upright.mode.startswith("I") or upright.mode == "F":
                grey = np.clip(np.rint(np.asarray(upright, np.float64) / 257), 0, 255).astype(np.uint8)
                return np.repeat(grey[..., None], 3, axis=2)
            return np.array(upright.convert("RGB"))
    except DAMAGED as error:
        raise MediaError(f"{path}: cannot be decoded ({error}); copy or generate it again") from None


class FrameFolderReader(VideoReader):
    """A folder of frames. Opening it checks the sizes in all headers, so a folder with mixed sizes fails at once."""

    def __init__(self, folder: Path, fps: float | None):
        self._files = frame_files(folder)
        if not self._files:
            message = f"{folder}: holds no frames (*.png, *.jpg); give the folder that contains them"
            raise MediaError(message, Reason.MISSING_INPUT)
        check_no_frame_is_missing(folder, self._files)
        width, height = image_size(self._files[0])
        for file in self._files[1:]:
            size = image_size(file)
            if size != (width, height):
                message = (
                    f"{file}: is {size[0]}x{size[1]}, but {self._files[0].name} is {width}x{height}; frames must be of one size"
                )
                raise MediaError(message, Reason.SIZE_MISMATCH)
        n_frames = len(self._files)
        codec = self._files[0].suffix.lower().lstrip(".").replace("jpeg", "jpg")
        duration = n_frames / fps if fps else None
        super().__init__(VideoInfo(folder, "frames", n_frames, fps, width, height, duration, 0, codec, "rgb24", False))

    def __iter__(self) -> Iterator[tuple[int, np.ndarray]]:
        yield from enumerate(self._select(np.arange(len(self._files))))

    def _select(self, indices: np.ndarray) -> Iterator[np.ndarray]:
        for index in indices.tolist():
            try:
                yield read_image(self._files[index])
            except MediaError as error:
                raise MediaError(f"{error}; it is frame {index} of {self.info.n_frames}", error.reason) from None
