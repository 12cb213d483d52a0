"""The registries: benchmarks, metrics, backends, layouts, judges and judging tasks. What can be chosen anywhere is what they list.

An entry is a decorated class or function in a module of its own. The package's modules are found by their place: every folder in
`lookback/benchmarks` is a benchmark, and its modules `benchmark`, `layout`, `metrics` and `judging` register those parts. Packages
from outside name their modules as entry points (groups `lookback.benchmarks`, `lookback.metrics`, `lookback.backends`,
`lookback.layouts`, `lookback.judges`); see docs/plugins.md.

Registering costs nothing: a module that registers something imports torch, transformers and the like inside its functions, so that
listing what exists never loads a model.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lookback.errors import LookbackError, UsageError, hint
from lookback.presets import Presets, Setting

if TYPE_CHECKING:
    from lookback.benchmark import Benchmark

Entry = TypeVar("Entry")
_LOADING = RLock()  # one for all registries: a module of one may ask another


class Registry(Generic[Entry]):
    """Named entries, filled on first use by importing the package's own modules and those of installed plug-ins."""

    def __init__(self, what: str, modules: Callable[[], list[str]], group: str = ""):
        self.what = what
        self.group = group  # of entry points, where plug-ins name such modules one by one
        self._own = modules
        self._entries: dict[str, Entry] = {}
        self._typed: set[str] = set()
        self._loading = self._loaded = False
        self._failure: LookbackError | None = None

    def add(self, name: str, entry: Entry, module: str = "") -> None:
        """An entry of this module; one that was typed into a session (`__main__`) may be typed again, as a notebook's cell is."""
        typed = module == "__main__"
        if name in self._entries and not (typed and name in self._typed):
            raise ValueError(f"{self.what} '{name}' is registered twice")
        self._entries[name] = entry
        if typed:
            self._typed.add(name)

    def get(self, name: str) -> Entry:
        self._load()
        if name not in self._entries:
            raise UsageError(f"There is no {self.what} '{name}'; {hint(name, self.names())}")
        return self._entries[name]

    def names(self) -> list[str]:
        self._load()
        return sorted(self._entries)

    def modules(self) -> list[str]:
        """The modules that register entries, found without importing them."""
        return list(dict.fromkeys([*self._own(), *(point.value for point in plugins(self.group))]))

    def __iter__(self) -> Iterator[Entry]:
        return (self._entries[name] for name in self.names())

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._entries

    def _load(self) -> None:
        if self._loaded:
            return
        with _LOADING:  # other threads wait; a module that is being loaded may ask and gets what is there so far
            if self._failure is not None:  # nobody goes on with half of the entries
                raise self._failure
            if self._loading or self._loaded:
                return
            self._loading = True
            try:
                for name in self.modules():
                    with naming_the_plugin(name):
                        importlib.import_module(name)
                self._loaded = True
            except LookbackError as error:
                self._failure = error
                raise
            finally:
                self._loading = False


GROUPS = tuple(f"lookback.{name}" for name in ("benchmarks", "metrics", "backends", "layouts", "judges"))


@cache
def plugins(group: str) -> tuple[EntryPoint, ...]:
    """The modules that installed packages offer under a group."""
    return tuple(sorted(entry_points(group=group), key=lambda point: (point.name, point.value)))


@cache
def plugin_packages() -> frozenset[str]:
    """The top-level packages of all installed plug-ins."""
    return frozenset(point.value.partition(".")[0] for group in GROUPS for point in plugins(group))


@contextmanager
def naming_the_plugin(module: str) -> Iterator[None]:
    """While a plug-in's module is imported: an error names the plug-in, and says what to do."""
    try:
        yield
    except Exception as error:
        point = _plugin_of(module)
        if point is None:
            raise
        package = point.dist.name if point.dist is not None else point.value.partition(".")[0]
        raise LookbackError(
            f"The plug-in '{point.name}' of the package {package} cannot be loaded ({type(error).__name__}: {error}); "
            f"mend it or uninstall {package}"
        ) from error


def _plugin_of(module: str) -> EntryPoint | None:
    """The entry point that names a module, or the package that it stands in."""
    found = [point for group in GROUPS for point in plugins(group) if f"{module}.".startswith(f"{point.value}.")]
    return max(found, key=lambda point: len(point.value), default=None)


@cache
def benchmark_packages() -> tuple[str, ...]:
    """The folders of `lookback.benchmarks`, then the packages that plug-ins name as benchmarks."""
    own = [
        f"lookback.benchmarks.{module.name}"
        for module in pkgutil.iter_modules(importlib.import_module("lookback.benchmarks").__path__)
    ]
    return (*own, *(point.value for point in plugins("lookback.benchmarks")))


def parts(name: str) -> list[str]:
    """The module or package `name` of every benchmark that has one, with everything below it."""
    found: list[str] = []
    for package in benchmark_packages():
        with naming_the_plugin(package):  # looking into a package imports it
            found += below(f"{package}.{name}") if find_spec(f"{package}.{name}") is not None else []
    return found


def below(name: str) -> list[str]:
    """A module, or a package with all its modules."""
    spec = find_spec(name)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return [name, *(module.name for module in pkgutil.walk_packages(places, prefix=f"{name}."))]


@dataclass(frozen=True)
class MetricSpec:
    """What a metric declares about itself; `lookback list-metrics` prints it."""

    name: str
    title: str
    benchmark: str
    unit: str
    range: tuple[float | None, float | None]
    higher_is_better: bool | None  # None: it says what a clip does, and no value is better than another
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
    phases: tuple[str, ...] = ("",)  # of the items that every clip has, also one that cannot be scored
    constants: tuple[str, ...] = ()  # the named constants it reads; `scoring.constants` may override them
    differences: Mapping[str, str] = field(default_factory=dict)  # another variant -> what it does differently
    presets: Presets | None = None  # every setting per variant; variants, constants and differences follow from it

    def preset(self, variant: str, overrides: Mapping[str, float]) -> dict[str, Setting]:
        """The settings of a variant, with the numbers that a run overrides."""
        preset = dict(self.presets.settings[variant]) if self.presets else {}
        return preset | {name: value for name, value in overrides.items() if name in self.constants}

    def applies_to(self, benchmark: str, setting: str, subset: str) -> bool:
        """Whether clips of this benchmark, setting and subset are scored with it."""
        return BENCHMARKS.get(benchmark).takes(self, setting, subset)


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
    made_by: Callable[[], str] = str  # what its arrays depend on besides this package and the weights: a model installed elsewhere

    @property
    def key(self) -> str:
        return f"{self.role}={self.name}"


@dataclass(frozen=True)
class LayoutSpec:
    """A dataset layout: `detect(root)` says in words why a folder is one (or None), `read(source)` reads it."""

    name: str
    title: str
    looks_like: str  # how a folder of this layout is recognised, in words
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
    tasks: tuple[str, ...] = ()  # empty: every task
    looks: bool = False  # it is a model that is shown the frames; `judging.model` says which
    measures: bool = False  # it knows the facts of departure and return, and answers by clip rather than by frames
    local_model: bool = False  # it loads a model, so that several copies on several machines are worth having


BENCHMARKS: Registry[Benchmark] = Registry("benchmark", lambda: parts("benchmark"))
METRICS: Registry[MetricSpec] = Registry("metric", lambda: parts("metrics"), "lookback.metrics")
LAYOUTS: Registry[LayoutSpec] = Registry("layout", lambda: parts("layout"), "lookback.layouts")
BACKENDS: Registry[BackendSpec] = Registry("backend", lambda: below("lookback.backends"), "lookback.backends")
JUDGES: Registry[JudgeSpec] = Registry(
    "judge", lambda: [*below("lookback.judging.judges"), "lookback.demo.judge"], "lookback.judges"
)


def benchmark(cls: type[Benchmark]) -> type[Benchmark]:
    """Register a class as a benchmark: one object of it answers for everything the paper defines."""
    BENCHMARKS.add(cls.name, cls())
    return cls


def metric(*, presets: Presets | None = None, **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a scoring function as a metric."""
    if presets is not None:
        declaration |= {
            "presets": presets,
            "variants": tuple(presets.settings),
            "default_variant": presets.default,
            "constants": presets.numbers,
            "differences": presets.why,
        }

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        METRICS.add(declaration["name"], MetricSpec(score=function, **declaration), function.__module__)
        return function

    return register


def backend(**declaration: Any) -> Callable[[type], type]:
    """Register a class as a backend: it is built with (options) and has a static `available() -> Availability`."""

    def register(cls: type) -> type:
        made_by = getattr(cls, "made_by", str)
        spec = BackendSpec(build=cls, available=cls.available, made_by=made_by, **declaration)  # type: ignore[attr-defined]
        BACKENDS.add(spec.key, spec, cls.__module__)
        return cls

    return register


def layout(*, name: str, title: str, looks_like: str) -> Callable[[type], type]:
    """Register a class with static `detect(root)` and `read(source)` as a dataset layout."""

    def register(cls: type) -> type:
        LAYOUTS.add(name, LayoutSpec(name, title, looks_like, cls.detect, cls.read), cls.__module__)  # type: ignore[attr-defined]
        return cls

    return register


def judge(**declaration: Any) -> Callable[[type], type]:
    """Register a class as a judge; it has a static `available() -> Availability`."""

    def register(cls: type) -> type:
        spec = JudgeSpec(build=cls, available=cls.available, **declaration)  # type: ignore[attr-defined]
        JUDGES.add(spec.name, spec, cls.__module__)
        return cls

    return register


def backends_of(role: str) -> list[BackendSpec]:
    """Every backend of one role, the paper's models first."""
    return sorted((spec for spec in BACKENDS if spec.role == role), key=lambda spec: (spec.embedded, spec.name))


def stand_ins(names: Iterable[str]) -> list[str]:
    """Those that stand in for a paper's model: embedded backends (`role=name`), and judges that no model answers for."""
    known = {spec.key for spec in BACKENDS if spec.embedded} | {spec.name for spec in JUDGES if spec.simulated or spec.measures}
    return [name for name in names if name in known]
