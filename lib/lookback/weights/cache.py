"""Find weights in the cache folder. A file is accepted only with its pinned sha256.

A missing weight is downloaded from the model hub or from torchvision's server, but only when the run allows it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lookback.errors import BackendUnavailable, UsageError
from lookback.extras import need
from lookback.hashcache import HashCache
from lookback.paths import resolve, user_folder
from lookback.scratch import part_folder, sweep
from lookback.weights.lock import Weight, read_lock

ENVIRONMENT = "LOOKBACK_WEIGHTS"


def cache_folder() -> Path:
    """$LOOKBACK_WEIGHTS, else ~/.cache/lookback/weights."""
    return user_folder(ENVIRONMENT, "weights")


def weight(name: str) -> Weight:
    """The entry of the lock file with this name."""
    lock = read_lock()
    if name not in lock:
        raise UsageError(f"params/weights.lock.yaml lists no weight '{name}'; it lists {', '.join(sorted(lock))}")
    return lock[name]


def present(name: str) -> bool:
    """Whether every file of a weight is in the cache with its pinned hash."""
    try:
        locate(name)
    except BackendUnavailable:
        return False
    return True


def locate(name: str, allow_download: bool = False) -> Path:
    """The verified file of a weight, or the folder when it has several files; else BackendUnavailable with the remedy."""
    entry = weight(name)
    folder = cache_folder() / name
    missing = [file for file in entry.files if not (folder / file).is_file()]
    if missing and allow_download and entry.downloads:
        _download(entry, folder)
    elif missing:
        raise BackendUnavailable(f"The weights '{name}' are not in the cache: {folder / missing[0]} is missing", remedy(entry))
    verify(entry, folder)
    return folder / next(iter(entry.files)) if entry.single else folder


def verify(entry: Weight, folder: Path) -> None:
    """Compare the files with their pinned hashes. The hash of an unchanged file is cached."""
    hashes = HashCache(cache_folder() / ".hashes.json")
    for file, expected in entry.files.items():
        path = folder / file
        if expected is not None and not hashes.file(path).startswith(expected):
            message = f"{path} is not the pinned file of {entry.origin}: its sha256 does not begin with {expected[:16]}"
            raise BackendUnavailable(message, f"Delete it; {remedy(entry)}")
    hashes.save()


def fingerprint(names: Iterable[str], path: str | Path | None = None) -> str:
    """ "name@revision:sha256" of each weight, joined by ",": part of the provenance and of every cache key.

    The hash of a folder is that of its pinned weight files. `path` names a checkpoint of the user in place of the weights: then its
    content is hashed, and the revision is `local`.
    """
    names = list(names)
    hashes = HashCache(cache_folder() / ".hashes.json")
    if path is not None:
        given = resolve(path)
        if not given.exists():
            raise UsageError(f"{given}: there is no such checkpoint; check the role's `path` option")
        digest = hashes.tree(given) if given.is_dir() else hashes.file(given)
        result = f"{'+'.join(names)}@local:{digest}"
    else:
        result = ",".join(_identity(weight(name), hashes) for name in names)
    hashes.save()
    return result


def remedy(entry: Weight) -> str:
    """How to get the weight, as a sentence for the user."""
    folder = cache_folder() / entry.name
    if entry.kind == "embedded":
        return "Run: python -m lookback.weights"
    files = ", ".join(entry.files)
    if entry.kind == "manual" and entry.source:
        return f"Run: hf download {entry.source} {' '.join(entry.files)} --local-dir {folder}"
    if entry.kind == "manual":
        return f"Put {files} from {entry.origin} into {folder}"
    commit = f" at {entry.revision}" if entry.kind == "hub" else ""
    return f"Run: python -m lookback.weights {entry.name} (downloads it), or put {files} of {entry.origin}{commit} into {folder}"


def _identity(entry: Weight, hashes: HashCache) -> str:
    folder = cache_folder() / entry.name
    pinned = [file for file, digest in entry.files.items() if digest is not None] or list(entry.files)
    digests = "+".join(hashes.file(folder / file) for file in pinned if (folder / file).is_file())
    return f"{entry.name}@{entry.revision or 'unversioned'}:{digests}"


def _download(entry: Weight, folder: Path) -> None:
    """Download the files of a weight into its folder of the cache, all or none. The caller verifies the hashes."""
    if entry.kind == "hub" and entry.revision is None:
        raise BackendUnavailable(f"The weights '{entry.name}' have no pinned revision, and only pinned weights are downloaded")
    need("huggingface_hub") if entry.kind == "hub" else need("torch", "torchvision")
    sweep(folder.parent)
    with part_folder(folder) as target:
        try:
            _from_hub(entry, target) if entry.kind == "hub" else _from_torchvision(entry, target)
        except Exception as error:  # requests, huggingface_hub and urllib each raise their own types
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise BackendUnavailable(
                f"Downloading '{entry.name}' from {entry.origin} failed: {reason.removeprefix('Got: ')}", remedy(entry)
            ) from error
        folder.mkdir(parents=True, exist_ok=True)
        for file in entry.files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(target / file, folder / file)


def _from_hub(entry: Weight, target: Path) -> None:
    from huggingface_hub import snapshot_download

    snapshot_download(entry.source, revision=entry.revision, allow_patterns=list(entry.files), local_dir=target)


def _from_torchvision(entry: Weight, target: Path) -> None:
    from torch.hub import download_url_to_file

    [(file, prefix)] = entry.files.items()
    download_url_to_file(torchvision_weights(entry.source).url, str(target / file), hash_prefix=prefix)


def torchvision_weights(name: str) -> Any:
    """torchvision's description of weights, by their name in the lock file (for example VGG19_Weights.IMAGENET1K_V1)."""
    from torchvision.models import get_weight

    return get_weight(name)
