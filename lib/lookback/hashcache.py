"""Content hashes of files. Unchanged files are not read again.

A file counts as unchanged while its size, mtime, ctime and inode are the same. The kernel changes ctime on every write, even when a
copy restores mtime. A file that changed a moment ago is read again, because a second write may get the same time stamp.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path

from lookback.errors import CannotWrite
from lookback.files import sha256_file, sha256_json, write_text
from lookback.paths import project_root

SETTLED_NS = 2_000_000_000  # coarser than the time stamps of every common file system


class HashCache:
    """sha256 by path, remembered in one JSON file that may be deleted at any time."""

    def __init__(self, path: Path):
        self.path = path
        self._known = _load(path)
        self._new: dict[str, list[object]] = {}

    @classmethod
    def of_project(cls) -> HashCache:
        return cls(project_root() / "outputs" / ".hashes.json")

    def file(self, path: Path) -> str:
        """sha256 of one file's bytes."""
        mark = _mark(path)
        known = self._lookup(os.path.abspath(path), mark)
        if known is not None:
            return known
        digest = sha256_file(path)
        self._keep(os.path.abspath(path), mark, digest)
        return digest

    def tree(self, root: Path) -> str:
        """Hash of a folder: every file's relative name and content, links not followed."""
        digest = hashlib.sha256()
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                if content := self._content(path):
                    digest.update(f"{path.relative_to(root).as_posix()}\0{content}\n".encode(errors="surrogateescape"))
        return digest.hexdigest()

    def _content(self, path: Path) -> str:
        """The file's hash; empty when it is not a file. An unreadable file gets a fixed text, so that the others still count."""
        try:
            return self.file(path) if path.is_file() else ""
        except OSError as error:
            return f"unreadable: {error.strerror}"

    def known_content(self, clip: Path) -> str:
        """`lookback.media.content_hash` of a video or frame folder if it was seen unchanged, else empty. Reads no file."""
        return self._lookup(_content_name(clip), _content_mark(clip)) or ""

    def remember_content(self, clip: Path, digest: str) -> None:
        """Note the content hash of a video or frame folder that was hashed elsewhere (in a worker)."""
        self._keep(_content_name(clip), _content_mark(clip), digest)

    def save(self) -> None:
        """Keep what was learnt for the next call, together with what other processes learnt meanwhile.

        Where the file cannot be written, as in a read-only folder, the next call reads the files again.
        """
        if self._new:
            with suppress(CannotWrite):
                write_text(self.path, json.dumps(_load(self.path) | self._new))
            self._known |= self._new
            self._new = {}

    def _lookup(self, name: str, mark: list[object]) -> str | None:
        known = self._new.get(name) or self._known.get(name)
        return str(known[-1]) if isinstance(known, list) and known[:-1] == mark else None

    def _keep(self, name: str, mark: list[object], digest: str) -> None:
        changed = max(value for value in mark[1:3] if isinstance(value, int))
        if time.time_ns() - changed > SETTLED_NS:
            self._new[name] = [*mark, digest]


def _load(path: Path) -> dict[str, list[object]]:
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _mark(path: Path) -> list[object]:
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]


def _content_name(clip: Path) -> str:
    return f"{os.path.abspath(clip)}{os.sep if clip.is_dir() else ''}"


def _content_mark(clip: Path) -> list[object]:
    """A file's mark; of a folder, its files' marks together (names and all), with the latest times among them."""
    if not clip.is_dir():
        return _mark(clip)
    marks = {file.relative_to(clip).as_posix(): file.stat() for file in sorted(clip.rglob("*")) if file.is_file()}
    modified = max((stat.st_mtime_ns for stat in marks.values()), default=0)
    changed = max((stat.st_ctime_ns for stat in marks.values()), default=0)
    names = {name: [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino] for name, stat in marks.items()}
    return ["folder", modified, changed, sha256_json(names)]
