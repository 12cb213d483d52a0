"""The four registries: metrics, backends, layouts, judges. A plug-in is a decorated class or function in its own file.

Registering costs nothing: a module that registers something imports torch, transformers and the like inside its functions, so that
listing what exists never loads a model.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from lookback.errors import UsageError, hint

Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """Named entries, filled by importing every module below `package` on first use."""

    def __init__(self, what: str, package: str):
        self.what = what
        self.package = package
        self._entries: dict[str, Entry] = {}
        self._loaded = False

    def add(self, name: str, entry: Entry) -> None:
        if name in self._entries:
            raise ValueError(f"{self.what} '{name}' is registered twice")
        self._entries[name] = entry

    def get(self, name: str) -> Entry:
        self._load()
        if name not in self._entries:
            raise UsageError(f"There is no {self.what} '{name}'; {hint(name, self.names())}")
        return self._entries[name]

    def names(self) -> list[str]:
        self._load()
        return sorted(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return (self._entries[name] for name in self.names())

    def __contains__(self, name: str) -> bool:
        self._load()
        return name in self._entries

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        package = importlib.import_module(self.package)
        for module in pkgutil.walk_packages(package.__path__, prefix=f"{self.package}."):
            importlib.import_module(module.name)


@dataclass(frozen=True)
class MetricSpec:
    """What a metric declares about itself; `lookback list-metrics` prints it."""

    name: str
    title: str
    benchmark: str
    unit: str
    range: tuple[float | None, float | None]
    higher_is_better: bool
    needs: tuple[str, ...]  # fields of Clip that must be there (contract of `validate --metrics`)
    roles: tuple[str, ...]  # artifact roles read from the extraction stage
    equation: str
    source: str
    score: Callable[..., Any]
    variants: tuple[str, ...] = ("paper",)
    default_variant: str = "paper"
    settings: tuple[str, ...] = ()  # empty: every setting of the benchmark
    subsets: tuple[str, ...] = ()  # empty: every subset
    tools: tuple[str, ...] = ()  # roles whose backend the metric calls itself
    judge_tasks: tuple[str, ...] = ()  # judging tasks whose answers it reads
    pixels: bool = False  # it looks at decoded frames itself

    def applies_to(self, benchmark: str, setting: str, subset: str) -> bool:
        """Whether it is defined for clips of this benchmark, setting and subset.

        Clips of no benchmark (layout `folder`) get the metrics that need nothing but the video and belong to no part of theirs.
        """
        if benchmark == "folder":
            return set(self.needs) <= {"video"} and not (self.settings or self.subsets or self.judge_tasks)
        return (
            self.benchmark == benchmark
            and (not self.settings or setting in self.settings)
            and (not self.subsets or subset in self.subsets)
        )


@dataclass(frozen=True)
class Availability:
    """Whether a backend can run here, why not, and what would change that."""

    usable: bool
    why: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class BackendSpec:
    """A producer of one role's artifacts: `build(options)` makes it, `available()` says whether that would work."""

    role: str
    name: str
    title: str
    embedded: bool  # installs with the project and works offline
    build: Callable[..., Any]
    available: Callable[[], Availability]
    weights: tuple[str, ...] = ()  # names in params/weights.lock.yaml

    @property
    def key(self) -> str:
        return f"{self.role}={self.name}"


@dataclass(frozen=True)
class LayoutSpec:
    """A dataset layout: `detect(root)` says in words why a folder is one (or None), `read(source)` reads it."""

    name: str
    title: str
    detect: Callable[..., str | None]
    read: Callable[..., Any]


@dataclass(frozen=True)
class JudgeSpec:
    """A judge that answers questions about clips."""

    name: str
    title: str
    build: Callable[..., Any]
    available: Callable[[], Availability]
    simulated: bool = False
    tasks: tuple[str, ...] = field(default=())  # empty: every task


METRICS: Registry[MetricSpec] = Registry("metric", "lookback.metrics")
BACKENDS: Registry[BackendSpec] = Registry("backend", "lookback.backends")
LAYOUTS: Registry[LayoutSpec] = Registry("layout", "lookback.layouts")
JUDGES: Registry[JudgeSpec] = Registry("judge", "lookback.judging")


def metric(**declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a scoring function under `name` (or, for MBench, under each of several `names`)."""
    names = declaration.pop("names", None) or [declaration.pop("name")]

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            METRICS.add(name, MetricSpec(name=name, score=function, **declaration))
        return function

    return register


def backend(**declaration: Any) -> Callable[[type], type]:
    """Register a class as a backend: it is built with (options) and has a static `available() -> Availability`."""

    def register(cls: type) -> type:
        spec = BackendSpec(build=cls, available=cls.available, **declaration)  # type: ignore[attr-defined]
        BACKENDS.add(spec.key, spec)
        return cls

    return register


def layout(*, name: str, title: str) -> Callable[[type], type]:
    """Register a class with static `detect(root)` and `read(source)` as a dataset layout."""

    def register(cls: type) -> type:
        LAYOUTS.add(name, LayoutSpec(name=name, title=title, detect=cls.detect, read=cls.read))  # type: ignore[attr-defined]
        return cls

    return register


def judge(**declaration: Any) -> Callable[[type], type]:
    """Register a class as a judge; it has a static `available() -> Availability`."""

    def register(cls: type) -> type:
        spec = JudgeSpec(build=cls, available=cls.available, **declaration)  # type: ignore[attr-defined]
        JUDGES.add(spec.name, spec)
        return cls

    return register


def backends_of(role: str) -> list[BackendSpec]:
    """Every backend of one role, the paper's models first."""
    return sorted((spec for spec in BACKENDS if spec.role == role), key=lambda spec: (spec.embedded, spec.name))
