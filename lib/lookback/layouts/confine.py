"""Paths that stay inside the dataset. Absolute paths, `..` and symbolic links that lead out are refused."""

from __future__ import annotations

import errno
import os
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from lookback.errors import Reason, UsageError
from lookback.layouts.reading import Breach, Findings
from lookback.paths import resolve

VIDEO_SUFFIXES = {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".gif", ".webp"}
FRAME_SUFFIXES = {".png", ".jpg", ".jpeg"}
MAX_DEPTH = 12  # no layout is deeper; the limit ends the walk through endless folders


class Root:
    """A dataset folder. Every path in a document is checked with `inside`."""

    def __init__(self, folder: Path):
        self.path = folder
        self.real = folder.resolve()
        self._plain: set[Path] = {folder}  # folders that are reached without a link

    @classmethod
    def of(cls, text: str, what: str = "dataset") -> Root:
        folder = resolve(text)
        if not folder.is_dir():
            known = "is a file" if folder.exists() else "does not exist"
            raise UsageError(f"The {what} folder {folder} {known}; give the folder that holds it")
        return cls(folder)

    def inside(self, text: Any, where: Path | str, field: str, base: Path | None = None) -> Path:
        """`text` as a path below `base` (default: the root), or a Breach when it leads out of the dataset."""
        if not isinstance(text, str) or not text.strip() or "\0" in text:
            raise Breach(where, field, f"is no path but {text!r}", "write a path relative to the dataset folder")
        relative = "write it relative to the dataset folder"
        plain = text.replace("\\", "/")
        if PurePosixPath(plain).is_absolute() or re.match(r"^[A-Za-z]:", plain):
            raise Breach(where, field, f"the path '{text}' is absolute", relative)
        if plain.startswith("~"):
            raise Breach(where, field, f"the path '{text}' begins with '~', the home folder", relative)
        if ".." in PurePosixPath(plain).parts:
            raise Breach(where, field, f"the path '{text}' leaves the dataset by '..'", relative)
        target = (base or self.path) / plain
        self.confirm(target, where, field)
        return target

    def confirm(self, target: Path, where: Path | str, field: str) -> None:
        """A Breach when a link on the way to `target` loops or leads out of the dataset."""
        if self._reached_plainly(target):
            return
        try:
            real, circle = target.resolve(), _goes_in_a_circle(target)
        except (RuntimeError, OSError):  # Python 3.11 and 3.12 raise for a circle, later ones leave the link as it is
            circle = True
        if circle:
            problem = f"'{self.name(target)}' is a symbolic link that leads to itself"
            raise Breach(where, field, problem, "replace the link by the file")
        if not real.is_relative_to(self.real):
            problem = f"'{self.name(target)}' is a symbolic link out of the dataset"
            raise Breach(where, field, problem, "copy the file into the dataset folder")

    def alias(self, link: Path, known: Path) -> Breach:
        """The violation of a link that leads to a folder which is read as `known`."""
        problem = f"'{self.name(link)}' is a symbolic link to the folder '{self.name(known)}', which is read under that name"
        return Breach(link, "path", problem, "remove the link, or put a copy in its place to read it under both names")

    def _reached_plainly(self, target: Path) -> bool:
        """Whether no part of the path below the root is a link. Folders that were checked once are remembered."""
        steps = []
        while target not in self._plain:
            if target.is_symlink() or target == target.parent:
                return False
            steps.append(target)
            target = target.parent
        self._plain.update(steps[1:])
        return True

    def name(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix() if path.is_relative_to(self.path) else path.name

    def file(self, text: Any, where: Path | str, field: str, base: Path | None = None) -> Path:
        """An existing, non-empty file inside the dataset."""
        path = self.inside(text, where, field, base)
        return existing_file(path, where, field, self.name(path))

    def video(self, path: Path, where: Path | str, field: str) -> Path:
        """`path` as a generated video: a file with content, or a folder with frames; links are checked."""
        self.confirm(path, where, field)
        if path.is_dir():
            if not has_frames(path):
                problem = f"the folder '{self.name(path)}' holds no frames"
                raise Breach(where, field, problem, "put the frames there as PNG or JPEG", Reason.MISSING_INPUT)
            return path
        return existing_file(path, where, field, self.name(path))


def existing_file(path: Path, where: Path | str, field: str, name: str) -> Path:
    """The path, if a file with content is there."""
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise Breach(where, field, f"'{name}' cannot be read ({error.strerror})", "check its permissions") from None
    if size is None:
        known = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise Breach(where, field, f"'{name}' {known}", "put the file there or correct the path", Reason.MISSING_INPUT)
    if size == 0:
        raise Breach(where, field, f"'{name}' is empty (0 bytes)", "copy or generate it again", Reason.DECODE_FAILED)
    return path


def has_frames(folder: Path) -> bool:
    return any(entry.suffix.lower() in FRAME_SUFFIXES and not entry.name.startswith(".") for entry in folder.iterdir())


def is_video_file(path: Path) -> bool:
    return path.suffix.lower() in VIDEO_SUFFIXES and not path.name.startswith(".")


def entries(folder: Path) -> list[Path]:
    """The entries of a folder, sorted, without hidden ones; empty when it is not a folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _goes_in_a_circle(path: Path) -> bool:
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def folders(folder: Path) -> list[Path]:
    return [path for path in entries(folder) if path.is_dir()]


def walk(root: Root, findings: Findings | None = None, deepest: int = MAX_DEPTH) -> Iterator[tuple[Path, list[Path]]]:
    """(folder, its files) below the root in sorted order, and then what links lead to: a real folder keeps its name.

    A link that loops, leads out or leads to a folder that was read is a violation and is not followed.
    """
    seen: dict[str, Path] = {}
    waiting = [(root.path, 0)]
    links: deque[tuple[Path, int]] = deque()
    while waiting or links:
        folder, depth = waiting.pop() if waiting else links.popleft()
        real = os.path.realpath(folder)
        if depth > deepest:
            continue
        if real in seen:
            if findings is not None and folder.is_symlink():
                findings.add(root.alias(folder, seen[real]))
            continue
        seen[real] = folder
        files: list[Path] = []
        inner: list[Path] = []
        for entry in entries(folder):
            if entry.is_symlink():
                try:
                    root.confirm(entry, entry, "path")
                except Breach as breach:
                    if findings is not None:
                        findings.add(breach)
                    continue
            (inner if entry.is_dir() else files).append(entry)
        yield folder, files
        waiting += [(path, depth + 1) for path in reversed(inner) if not path.is_symlink()]
        links += [(path, depth + 1) for path in inner if path.is_symlink()]
