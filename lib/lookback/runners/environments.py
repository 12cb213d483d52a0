"""Install, check and remove the environments of models. Each lies in a folder of its own, with a record of what is in it.

The record is written last. A folder without one is the rest of an installation that was interrupted, and counts as not installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import urlretrieve

from pydantic import BaseModel, ConfigDict, ValidationError

from lookback.errors import BackendUnavailable, LookbackError, UsageError
from lookback.files import sha256_file, sha256_json, write_text
from lookback.hashcache import HashCache
from lookback.paths import user_folder
from lookback.registry import Availability
from lookback.runners.catalogue import Link, Model, ModelWeights
from lookback.runners.process import Launch

VARIABLE = "LOOKBACK_MODELS"
RECORD = "installed.json"
HOST = "https://github.com"

Say = Callable[[str], None]


class Installed(BaseModel):
    """What is in a model's environment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    when: str
    python: str
    sources: dict[str, str]  # name -> folder
    commits: dict[str, str]  # name -> commit; `given` for a folder that the user named
    weights: str  # folder; empty: none is needed
    revision: str
    sha256: dict[str, str]  # weight file -> hash when it was installed
    packages: tuple[str, ...]  # every installed package, as name==version

    @property
    def identity(self) -> str:
        """What an answer depends on besides the code here: code, packages and weights of the model."""
        return f"{self.name}@{sha256_json([self.commits, list(self.packages), self.sha256])[:16]}"


def models_folder() -> Path:
    """$LOOKBACK_MODELS, else ~/.cache/lookback/models."""
    return user_folder(VARIABLE, "models")


def installed(model: Model) -> Installed | None:
    """The record of a complete installation; None when there is none."""
    try:
        return Installed.model_validate_json((models_folder() / model.name / RECORD).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValidationError, UnicodeDecodeError):
        return None


def availability(model: Model) -> Availability:
    """Whether the model is installed and complete. Weight files are hashed once, then again only when they change."""
    found = installed(model)
    if found is None:
        return Availability(False, "it is not installed", f"lookback models install {model.name}")
    for problem in problems(found):
        return Availability(False, problem, f"lookback models install {model.name}")
    return Availability(True)


def problems(found: Installed) -> Iterator[str]:
    """What is wrong with an installation, in words."""
    if not Path(found.python).is_file():
        yield f"its Python {found.python} is gone"
    for name, folder in found.sources.items():
        if not Path(folder).is_dir():
            yield f"its source tree {name} is gone from {folder}"
    hashes = HashCache(models_folder() / ".hashes.json")
    for file, digest in found.sha256.items():
        path = Path(found.weights) / file
        if not path.is_file():
            yield f"its weight file {path} is gone"
        elif hashes.file(path) != digest:
            yield f"its weight file {path} has changed since it was installed"
    hashes.save()


def launch(model: Model, device: str, options: Mapping[str, object]) -> Launch:
    """How to start an installed model; BackendUnavailable when it is not installed."""
    found = installed(model)
    if found is None:
        raise BackendUnavailable(f"The model '{model.name}' is not installed", f"Run: lookback models install {model.name}")
    told = {source.option: found.sources[name] for name, source in model.sources.items() if source.option}
    return Launch(
        name=model.name,
        python=Path(found.python),
        script=model.script_path,
        checkpoint=Path(found.weights) if found.weights else None,
        paths=tuple(found.sources[name] for name, source in model.sources.items() if not source.option),
        device=device,
        options={**model.options, **told, **options},
    )


# -- installing --------------------------------------------------------------------------------------------------------------------
def plan(model: Model) -> list[str]:
    """What an installation brings, one line each."""
    lines = [f"{model.title}: about {model.download_gb:g} GB (estimated); used by {model.used_by}"]
    lines += [f"needs {need}" for need in model.needs]
    lines += [f"source: {source.repository} at {source.commit}" for source in model.sources.values()]
    for wanted in model.weights.repositories().values():
        pinned = wanted.revision or "the newest commit (none is pinned; its hashes are recorded)"
        lines.append(f"weights: {', '.join(wanted.files)} of {wanted.repository} at {pinned}")
    lines += [f"weights: {link.url}" for link in model.weights.links.values()]
    return [*lines, f"licence of the code: {model.licence.code}", f"licence of the weights: {model.licence.weights}"]


def install(
    model: Model, say: Say, python: Path | None = None, sources: Mapping[str, Path] | None = None, weights: Path | None = None
) -> Installed:
    """Make the environment, fetch sources and weights, and write the record.

    `python` is an existing environment, `sources` are checkouts and `weights` a folder of files that are here already.
    """
    given = {name: _existing(path) for name, path in (sources or {}).items()}
    if unknown := sorted(set(given) - set(model.sources)):
        raise UsageError(f"{model.name} has no source '{unknown[0]}'; its sources: {', '.join(model.sources) or 'none'}")
    folder = models_folder() / model.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    own = _existing(python) if python is not None else _environment(model, folder / "environment", say)
    checkouts, commits = {}, {}
    for name, source in model.sources.items():
        checkouts[name] = given.get(name) or _checkout(source.repository, source.commit, folder / "sources" / name, say)
        commits[name] = "given" if name in given else source.commit
    held, revision = _weights(model, folder / "weights", weights, say)
    record = Installed(
        name=model.name,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        python=str(own),
        sources={name: str(path) for name, path in checkouts.items()},
        commits=commits,
        weights=str(held or ""),
        revision=revision,
        sha256=_hashes(model, held, say),
        packages=_packages(own),
    )
    write_text(folder / RECORD, record.model_dump_json(indent=2))
    return record


def remove(model: Model) -> bool:
    """Remove what `install` made; False when there was nothing. Folders that the user named stay."""
    folder = models_folder() / model.name
    if not folder.exists():
        return False
    shutil.rmtree(folder)
    return True


def try_imports(model: Model, found: Installed) -> str:
    """Import the model's modules in its environment: empty when that works, else the last line of the error."""
    paths = [folder for name, folder in found.sources.items() if not model.sources[name].option]
    code = f"import sys; sys.path[:0] = {paths!r}\n" + "\n".join(f"import {name}" for name in model.imports)
    ran = subprocess.run([found.python, "-c", code], capture_output=True, text=True, env=_clean())
    return "" if ran.returncode == 0 else (ran.stderr.strip().splitlines() or ["it gave no message"])[-1]


def _existing(path: Path) -> Path:
    if not path.exists():
        raise UsageError(f"{path} does not exist; give a file or folder that is there")
    return path.absolute()


def _environment(model: Model, folder: Path, say: Say) -> Path:
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is None:
        raise UsageError("Environments are made with uv, which is not installed; run: pip install uv")
    say("making its environment")
    _run([uv, "venv", "--quiet", "--python", f"{sys.version_info.major}.{sys.version_info.minor}", str(folder)])
    python = folder / "bin" / "python"
    if model.packages:
        say(f"installing {len(model.packages)} packages")
        _run([uv, "pip", "install", "--quiet", "--python", str(python), *model.packages])
    if model.without_dependencies:
        _run([uv, "pip", "install", "--quiet", "--no-deps", "--python", str(python), *model.without_dependencies])
    for name in model.empty_modules:
        packages = _run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
        Path(packages, f"{name}.py").write_text(f'"""Empty: {model.title} imports it for an export that lookback never calls."""\n')
    return python


def _checkout(repository: str, commit: str, folder: Path, say: Say) -> Path:
    say(f"fetching {repository} at {commit}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run(["git", "clone", "--quiet", f"{HOST}/{repository}", str(folder)])
    _run(["git", "-C", str(folder), "checkout", "--quiet", commit])
    return folder


def _weights(model: Model, folder: Path, given: Path | None, say: Say) -> tuple[Path | None, str]:
    """The folder with the weight files, and the revision that they are of."""
    if given is not None:
        return _existing(given), "given"
    if not model.weights.paths():
        return None, ""
    revisions = []
    for name, wanted in model.weights.repositories().items():
        say(f"fetching {', '.join(wanted.files)} of {wanted.repository}")
        revisions.append(_from_hub(model, wanted, folder / name))
    for name, link in model.weights.links.items():
        say(f"fetching {link.url}")
        _from_link(model, link, folder / name)
    return folder, ",".join(revisions)


def _from_hub(model: Model, wanted: ModelWeights, folder: Path) -> str:
    """Fetch the files of a repository; the commit that they are of."""
    from huggingface_hub import HfApi, snapshot_download

    try:
        revision = wanted.revision or HfApi().model_info(wanted.repository).sha or ""
        snapshot_download(wanted.repository, revision=revision, allow_patterns=list(wanted.files), local_dir=folder)
    except Exception as error:  # huggingface_hub and its transport raise their own types
        raise _not_fetched(model, wanted.repository, error) from None
    return revision


def _from_link(model: Model, link: Link, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        urlretrieve(link.url, path)
    except OSError as error:
        raise _not_fetched(model, link.url, error) from None
    if sha256_file(path) != link.sha256:
        path.unlink()
        raise BackendUnavailable(f"{link.url} is not the pinned file of '{model.name}': its sha256 is another", "Try again later")


def _not_fetched(model: Model, place: str, error: Exception) -> BackendUnavailable:
    first = (str(error).splitlines() or [type(error).__name__])[0]
    return BackendUnavailable(
        f"The weights of '{model.name}' could not be fetched from {place} ({first})",
        "Accept its licence on the hub if it asks for that, or give the files' folder: --weights FOLDER",
    )


def _hashes(model: Model, folder: Path | None, say: Say) -> dict[str, str]:
    """sha256 of every weight file; an error names the file that is not there."""
    if folder is None:
        return {}
    say("hashing the weight files")
    wanted = model.weights.paths()
    if folder.is_file():
        raise UsageError(f"{folder} is a file; give the folder that holds {', '.join(wanted)}")
    names = wanted or [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
    for name in names:
        if not (folder / name).is_file():
            raise UsageError(f"{folder} holds no {name}, which {model.name} needs; give the folder of its weight files")
    return {name: sha256_file(folder / name) for name in names}


def _packages(python: Path) -> tuple[str, ...]:
    code = "from importlib.metadata import distributions as d; print(*sorted({f'{x.name}=={x.version}' for x in d()}), sep='\\n')"
    return tuple(_run([str(python), "-c", code]).split())


def _run(command: list[str]) -> str:
    """Run a program; its last words are the error's."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, env=_clean())
    except OSError as error:
        raise LookbackError(f"{command[0]} cannot be started: {error}") from None
    if ran.returncode:
        lines = [line.strip() for line in (ran.stderr or ran.stdout).splitlines() if line.strip()]
        raise LookbackError(f"{Path(command[0]).name} {command[1]} failed: {' | '.join(lines[-3:]) or 'it gave no message'}")
    return ran.stdout


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
