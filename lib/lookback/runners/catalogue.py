"""The models that run in an environment of their own, read from `catalogue.yaml`."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from lookback.errors import UsageError, hint
from lookback.yaml_files import parse_yaml

HERE = Path(__file__).parent


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Part):
    """A repository at a commit. With `option` the script is told its folder; otherwise the folder is a place to import from."""

    repository: str
    commit: str
    option: str = ""


class Link(_Part):
    """A file that no hub has, and its hash."""

    url: str
    sha256: str


class ModelWeights(_Part):
    """Files of a repository on the model hub; `others` are repositories whose files go into a folder of that name."""

    repository: str = ""
    revision: str | None = None
    files: tuple[str, ...] = ()
    others: dict[str, ModelWeights] = {}
    links: dict[str, Link] = {}

    def paths(self) -> list[str]:
        """Every file, as it lies in the folder of the weights."""
        beside = [f"{folder}/{file}" for folder, other in self.others.items() for file in other.files]
        return [*self.files, *beside, *self.links]

    def repositories(self) -> dict[str, ModelWeights]:
        """Folder -> the repository whose files go there."""
        return {**({"": self} if self.repository else {}), **self.others}


class Licence(_Part):
    code: str
    weights: str


class Model(_Part):
    """One entry of the catalogue."""

    name: str
    title: str
    used_by: str
    role: str
    format: str = ""
    script: str
    imports: tuple[str, ...]
    packages: tuple[str, ...] = ()
    without_dependencies: tuple[str, ...] = ()
    empty_modules: tuple[str, ...] = ()
    sources: dict[str, Source] = {}
    weights: ModelWeights = ModelWeights()
    needs: tuple[str, ...] = ()
    options: dict[str, Any] = {}
    download_gb: float
    licence: Licence
    proven: str

    @property
    def script_path(self) -> Path:
        return HERE / "child" / "scripts" / self.script


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Model]:
    """Every model by name."""
    entries = parse_yaml((HERE / "catalogue.yaml").read_text(encoding="utf-8"))
    return {name: Model(name=name, **entry) for name, entry in entries.items()}


def model(name: str) -> Model:
    found = catalogue()
    if name not in found:
        raise UsageError(f"There is no model '{name}'; {hint(name, found)}")
    return found[name]
