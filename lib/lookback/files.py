"""Atomic writes and content hashes."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lookback.errors import LookbackError


@contextmanager
def atomic_path(target: Path, mode: int = 0o644) -> Iterator[Path]:
    """A temporary path in the target's folder; on success it is synced and renamed onto the target, else removed.

    `mode` are the file's permissions; 0o600 keeps it from other users at every moment.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:60]}.", suffix=target.suffix)
    except OSError as error:
        raise _unwritable(target, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _unwritable(target: Path, error: OSError) -> LookbackError:
    # errors of pyarrow carry no strerror
    return LookbackError(f"Cannot write {target}: {error.strerror or error}; check the folder's permissions and free space")


def write_bytes(target: Path, content: bytes) -> None:
    with atomic_path(target) as temporary:
        temporary.write_bytes(content)


def write_text(target: Path, content: str) -> None:
    write_bytes(target, content.encode())


def write_json(target: Path, value: Any) -> None:
    write_text(target, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def sha256_file(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_json(value: Any) -> str:
    """Hash of a value's canonical JSON."""
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str).encode()
    ).hexdigest()
