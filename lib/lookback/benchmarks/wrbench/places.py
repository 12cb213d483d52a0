"""Where the files lie that WRBench's manifests and sidecars name.

The generation script writes absolute paths, or paths relative to the folder in which it was started. A run that was moved or
copied keeps them. So a path counts if it lies inside the dataset; otherwise the file is looked for below the folder of the
manifest or video, then below the dataset, by as much of the end of its path as possible. Nothing outside the dataset is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from lookback.layouts.confine import Root
from lookback.layouts.reading import Breach

_DRIVE = re.compile(r"^[A-Za-z]:")


def in_dataset(root: Root, text: object, where: Path | str, field: str, base: Path) -> Path:
    """The path of a named file or frame folder inside the dataset, or a Breach. It need not exist if it is plainly relative."""
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise Breach(where, field, f"is no path but {text!r}", "write a path relative to the dataset folder")
    plain = PurePosixPath(text.replace("\\", "/"))
    absolute = plain.is_absolute() or bool(_DRIVE.match(str(plain)))
    if absolute and (inside := _below(root, Path(plain))) is not None:
        root.confirm(inside, where, field)
        return inside
    if ".." in plain.parts:
        raise Breach(where, field, f"the path '{text}' leaves the dataset by '..'", "write it relative to the dataset folder")
    for candidate in _candidates(plain, absolute, base, root.path):
        if candidate.is_symlink() or candidate.exists():
            root.confirm(candidate, where, field)
            return candidate
    if absolute:
        problem = f"the path '{text}' is absolute and leads out of the dataset, and no such file lies in the dataset"
        raise Breach(where, field, problem, "write it relative to the dataset folder, or put the file beside the manifest")
    return root.inside(text, where, field, base=base)


def _below(root: Root, path: Path) -> Path | None:
    """The path as one below the root, if it lies there: as written, or by the root's real place."""
    plain = Path(os.path.normpath(path))
    for folder in (root.path.absolute(), root.real):
        if plain.is_relative_to(folder) and plain != folder:
            return root.path / plain.relative_to(folder)
    return None


def _candidates(path: PurePosixPath, absolute: bool, base: Path, root: Path) -> Iterator[Path]:
    """The path itself, then ever shorter ends of it. The mere name counts only beside the manifest or video."""
    parts = path.parts[1:] if absolute else path.parts
    for start in range(len(parts)):
        tail = PurePosixPath(*parts[start:])
        yield base / tail
        if start < len(parts) - 1:
            yield root / tail
