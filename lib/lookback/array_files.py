"""Read numpy files from outside: only plain arrays, and never more memory than the size of the file justifies."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from lookback.errors import ContractError

MAX_BYTES = 4 << 30  # unpacked; the depth of 1,000 frames at 640x480 is 1.2 GB
SMALL_FILE = 64 << 20  # arrays that are not pictures
BYTES_PER_PIXEL = 8  # the widest number type that masks or depth come in
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what numpy writes; zipfile unpacks the others without bound
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_arrays(path: Path, most: int = SMALL_FILE, only: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Arrays of an .npz, or of an .npy under the name "array"; nothing is unpickled, and false headers are refused.

    `most` is the largest number of unpacked bytes that such a file can need. With `only`, the other arrays of an .npz are not read:
    they have their shape and type and no memory.
    """
    limit = min(most, MAX_BYTES)
    try:
        with path.open("rb") as handle:
            if not zipfile.is_zipfile(handle):
                handle.seek(0)
                _check_header(handle, path.stat().st_size, limit)
                handle.seek(0)
                return {"array": np.load(handle, allow_pickle=False)}
            empty = _checked_archive(handle, limit, only)
            handle.seek(0)
            loaded = np.load(handle, allow_pickle=False)
            return empty | {name: loaded[name] for name in loaded.files if name not in empty}
    except FileNotFoundError:
        raise ContractError(f"{path}: there is no such file; check the path in the dataset") from None
    except Exception as error:  # the errors of zipfile, zlib and numpy share no base class
        message = " ".join(str(error).split())[:200] or type(error).__name__
        raise ContractError(f"{path}: cannot be read as a numpy file of plain arrays ({message}); write it again") from None


def array_names(path: Path) -> set[str]:
    """The names of the arrays in an .npz, without reading the arrays. Empty when the file is not an .npz."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return set()


def _checked_archive(handle: IO[bytes], limit: int, only: Sequence[str]) -> dict[str, np.ndarray]:
    """Check every header and the size of the arrays that will be read; the others as arrays without memory."""
    empty, unpacked = {}, 0
    with zipfile.ZipFile(handle) as archive:
        for member in archive.infolist():
            if member.compress_type not in PACKINGS:
                raise ValueError(f"'{member.filename}' is not packed as numpy packs")
            name, read = member.filename.removesuffix(".npy"), True
            if member.filename.endswith(".npy"):
                with archive.open(member) as inner:
                    read = not only or name in only
                    shape, dtype = _check_header(inner, member.file_size, member.file_size)
                if not read:
                    empty[name] = np.broadcast_to(np.zeros((), dtype), shape)
            unpacked += member.file_size * read
            if unpacked > limit:
                raise ValueError(f"it unpacks to {unpacked >> 20} MB or more, and such a file needs at most {limit >> 20} MB")
    return empty


def _check_header(handle: IO[bytes], size: int, limit: int) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type; a ValueError when the header declares more bytes than the file holds: numpy would allocate them."""
    version = np.lib.format.read_magic(handle)
    if version not in _HEADERS:
        raise ValueError(f"its format version is {version[0]}.{version[1]}")
    shape, _, dtype = _HEADERS[version](handle)
    if dtype.hasobject:
        raise ValueError("it holds pickled objects")
    declared = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or declared > size:
        raise ValueError(f"its header declares {declared} bytes in a file of {size}")
    if declared > limit:
        raise ValueError(f"it holds {declared >> 20} MB, and such a file needs at most {limit >> 20} MB")
    return shape, dtype
