"""Look weights up in the cache folder; a file counts only when its sha256 is the pinned one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from lookback.errors import BackendUnavailable, LookbackError, UsageError
from lookback.hashcache import HashCache
from lookback.weights import hub
from lookback.weights.lock import Weight, read_lock

ENVIRONMENT = "LOOKBACK_WEIGHTS"


def cache_folder() -> Path:
    """$LOOKBACK_WEIGHTS, else ~/.cache/lookback/weights."""
    return Path(os.environ.get(ENVIRONMENT) or Path.home() / ".cache" / "lookback" / "weights").expanduser()


def weight(name: str) -> Weight:
    """The lock's entry of that name."""
    lock = read_lock()
    if name not in lock:
        raise UsageError(f"params/weights.lock.yaml lists no weight '{name}'; it lists {', '.join(sorted(lock))}")
    return lock[name]


def present(name: str) -> bool:
    """Whether every file of a weight is there with its pinned hash."""
    try:
        locate(name)
    except BackendUnavailable:
        return False
    return True


def locate(name: str, allow_download: bool = False) -> Path:
    """The file of a weight (or the folder, when it has several), present and verified; else BackendUnavailable with the remedy."""
    entry = weight(name)
    folder = cache_folder() / name
    missing = [file for file in entry.files if not (folder / file).is_file()]
    if missing and allow_download and entry.kind in ("hub", "torchvision"):
        hub.fetch(entry, folder)
    elif missing:
        raise BackendUnavailable(f"The weights '{name}' are not in the cache: {folder / missing[0]} is missing", remedy(entry))
    verify(entry, folder)
    return folder / next(iter(entry.files)) if entry.single else folder


def verify(entry: Weight, folder: Path) -> None:
    """Compare every pinned hash; the hash of an unchanged file is remembered by its stat."""
    hashes = HashCache(cache_folder() / ".hashes.json")
    for file, expected in entry.files.items():
        path = folder / file
        if expected is not None and not hashes.file(path).startswith(expected):
            message = f"{path} is not the pinned file of {entry.origin}: its sha256 does not begin with {expected[:16]}"
            raise BackendUnavailable(message, f"Delete it; {remedy(entry)}")
    _save(hashes)


def fingerprint(names: Iterable[str], path: str | Path | None = None) -> str:
    """ "name@revision:sha256" of each weight, joined by ",": part of the provenance and of every cache key.

    The hash of a folder is that of its pinned weight files. `path` replaces the weights of the one name given (a checkpoint of the
    user's own): its content is hashed instead and the revision reads `local`.
    """
    names = list(names)
    hashes = HashCache(cache_folder() / ".hashes.json")
    if path is not None:
        given = Path(path).expanduser()
        if not given.exists():
            raise UsageError(f"{given}: there is no such checkpoint; check the role's `path` option")
        digest = hashes.tree(given) if given.is_dir() else hashes.file(given)
        result = f"{'+'.join(names)}@local:{digest}"
    else:
        result = ",".join(_identity(weight(name), hashes) for name in names)
    _save(hashes)
    return result


def remedy(entry: Weight) -> str:
    """What a person does to get it."""
    folder = cache_folder() / entry.name
    if entry.kind == "embedded":
        return "Run: python -m lookback.weights"
    files = ", ".join(entry.files)
    if entry.kind == "manual":
        return f"Put {files} from {entry.origin} into {folder}"
    commit = f" at {entry.revision}" if entry.kind == "hub" else ""
    return f"Run: python -m lookback.weights {entry.name} (downloads it), or put {files} of {entry.origin}{commit} into {folder}"


def _identity(entry: Weight, hashes: HashCache) -> str:
    folder = cache_folder() / entry.name
    pinned = [file for file, digest in entry.files.items() if digest is not None] or list(entry.files)
    digests = "+".join(hashes.file(folder / file) for file in pinned if (folder / file).is_file())
    return f"{entry.name}@{entry.revision or 'unversioned'}:{digests}"


def _save(hashes: HashCache) -> None:
    try:
        hashes.save()
    except LookbackError:
        return  # a read-only folder only costs hashing again
