"""Read the lock file: the origin, the file names and the hashes of every weight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from lookback.errors import ContractError, UsageError
from lookback.paths import resolve
from lookback.yaml_files import parse_yaml

Kind = Literal["embedded", "hub", "torchvision", "manual"]
LOCK_FILE = "weights.lock.yaml"


@dataclass(frozen=True)
class Weight:
    """One entry of the lock file. `files` maps file names to sha256 (a prefix of it for torchvision; None when not known)."""

    name: str
    kind: Kind
    files: dict[str, str | None]
    origin: str  # the package, repository or project, in words
    revision: str | None = None  # version of the package, commit of the repository
    archive: Literal["sdist", "wheel"] | None = None
    member: str | None = None
    source: str = ""  # for the fetching code: package name, repository, or name in torchvision
    size_mb: float = 0.0  # of all files, about
    licence: str = ""

    @property
    def single(self) -> bool:
        """Whether the weight is one file and not a folder of files."""
        return self.kind in ("embedded", "torchvision")

    @property
    def downloads(self) -> bool:
        """Whether it can be fetched without a person."""
        return self.kind in ("hub", "torchvision")


def read_lock(path: Path | None = None) -> dict[str, Weight]:
    """Every weight by name."""
    path = path or resolve(f"params/{LOCK_FILE}")
    facts = path.stat() if path.is_file() else None
    return _read(path, (facts.st_mtime_ns, facts.st_size) if facts else None)


@lru_cache(maxsize=8)
def _read(path: Path, state: tuple[int, int] | None) -> dict[str, Weight]:
    """`state` tells an edited file from the one that was read before."""
    try:
        sections = parse_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist; it lists the weight files and comes with the project") from None
    except ValueError as error:  # also bad UTF-8
        raise ContractError(f"{path.name} is not valid YAML: {error}") from None
    if not isinstance(sections, dict) or not all(isinstance(entries, dict) for entries in sections.values()):
        raise ContractError(f"{path.name} must hold sections of named weights; take the project's own file again")
    makers = {"embedded": _embedded, "hub": _hub, "torchvision": _torchvision, "manual": _manual}
    weights: dict[str, Weight] = {}
    for section, entries in sections.items():
        if section not in makers:
            raise ContractError(f"{path.name}: unknown section '{section}'; sections are {', '.join(makers)}")
        for name, entry in entries.items():
            if name in weights:
                raise ContractError(f"{path.name}: '{name}' is listed twice")
            try:
                facts = {"size_mb": float(entry.get("size_mb", 0)), "licence": entry.get("licence", "")}
                weights[name] = replace(makers[section](name, entry), **facts)
            except KeyError as error:
                raise ContractError(f"{path.name}: {section}.{name} has no {error}") from None
            except (AttributeError, TypeError, ValueError, ArithmeticError) as error:
                said = f"{path.name}: {section}.{name} is not as in the project's own file ({error}); take that again"
                raise ContractError(said) from None
    return weights


def _embedded(name: str, entry: dict[str, Any]) -> Weight:
    package, _, version = entry["package"].partition("==")
    return Weight(
        name,
        "embedded",
        {PurePosixPath(entry["member"]).name: entry["sha256"]},
        origin=f"the Python package {entry['package']} ({entry['archive']})",
        revision=version,
        archive=entry["archive"],
        member=entry["member"],
        source=package,
    )


def _hub(name: str, entry: dict[str, Any]) -> Weight:
    origin = f"{entry['repository']} on the model hub"
    return Weight(name, "hub", entry["files"], origin, revision=entry["revision"], source=entry["repository"])


def _torchvision(name: str, entry: dict[str, Any]) -> Weight:
    prefix = PurePosixPath(entry["file"]).stem.rpartition("-")[2]
    origin = f"torchvision's {entry['weights']}"
    return Weight(name, "torchvision", {entry["file"]: prefix}, origin, revision=entry["weights"], source=entry["weights"])


def _manual(name: str, entry: dict[str, Any]) -> Weight:
    return Weight(name, "manual", entry["files"], origin=entry["source"], source=entry.get("repository", ""))
