"""Content hashes: the input half of every cache key."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lookback.errors import MediaError, Reason
from lookback.media.reader import unreadable_in_words

CHUNK = 1 << 20


def content_hash(path: str | Path) -> str:
    """SHA-256 of a file's bytes; of a folder, SHA-256 over its files' relative names (sorted), sizes and bytes."""
    path = Path(path)
    with unreadable_in_words(path):
        return _hash(path)


def _hash(path: Path) -> str:
    if not path.exists():
        raise MediaError(f"{path}: no such file or folder; check the path in the dataset", Reason.MISSING_INPUT)
    digest = hashlib.sha256()
    if path.is_file():
        _update(digest, path)
        return digest.hexdigest()
    files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    for name in sorted(files):
        digest.update(f"{name}\0{files[name].stat().st_size}\0".encode())
        _update(digest, files[name])
    return digest.hexdigest()


def _update(digest: hashlib._Hash, file: Path) -> None:
    with file.open("rb") as handle:
        while chunk := handle.read(CHUNK):
            digest.update(chunk)
