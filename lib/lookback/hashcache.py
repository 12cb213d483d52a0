"""Content hashes of files without reading unchanged ones again.

Content decides; the file's stat (size, mtime, ctime, inode) only saves reading it: the kernel changes ctime on every write, also when a
copy restores mtime.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from lookback.files import sha256_file, write_text
from lookback.paths import project_root


class HashCache:
    """sha256 by path, remembered in one JSON file that may be deleted at any time."""

    def __init__(self, path: Path):
        self.path = path
        self._dirty = False
        try:
            self._known: dict[str, list[object]] = json.loads(path.read_text())
        except (OSError, ValueError):
            self._known = {}

    @classmethod
    def of_project(cls) -> HashCache:
        return cls(project_root() / "outputs" / ".hashes.json")

    def file(self, path: Path) -> str:
        """sha256 of one file's bytes."""
        name = os.path.abspath(path)
        stat = path.stat()
        mark = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
        known = self._known.get(name)
        if known is not None and known[:4] == mark:
            return str(known[4])
        digest = sha256_file(path)
        self._known[name] = [*mark, digest]
        self._dirty = True
        return digest

    def tree(self, root: Path) -> str:
        """Hash of a folder: every file's relative name and content, links not followed."""
        digest = hashlib.sha256()
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                if path.is_file():
                    digest.update(f"{path.relative_to(root).as_posix()}\0{self.file(path)}\n".encode(errors="surrogateescape"))
        return digest.hexdigest()

    def save(self) -> None:
        """Keep what was learnt for the next call."""
        if self._dirty:
            write_text(self.path, json.dumps(self._known))
            self._dirty = False
