"""Choose and build the backend of each role in a run."""

from __future__ import annotations

from functools import cache
from typing import Any

from lookback.backends.base import BackendOptions
from lookback.backends.runtime import precision_of
from lookback.devices import usable_device
from lookback.errors import BackendUnavailable, UsageError
from lookback.params import RunParams
from lookback.profiles import paper_model
from lookback.registry import Availability, BackendSpec, backends_of
from lookback.weights.cache import present, weight


def choose_backend(role: str, params: RunParams, benchmark: str = "") -> BackendSpec:
    """The backend that the run names, else the first usable one of its profile; BackendUnavailable with the remedies if none is."""
    refusals = []
    for spec in candidates(role, params, benchmark):
        state = availability(spec)
        if state.usable or obtainable(spec, params, benchmark):
            return spec
        refusals.append(f"{spec.name}: {state.why}" + (f" ({state.remedy})" if state.remedy else ""))
    raise BackendUnavailable(f"No backend of the role '{role}' is usable here: {'; '.join(refusals) or 'none exists'}")


def candidates(role: str, params: RunParams, benchmark: str = "") -> list[BackendSpec]:
    """The backends that may serve a role in this run, the best first."""
    known = backends_of(role)
    if (named := named_backend(role, params, benchmark)) is not None:
        return [_existing(role, named, known)]
    paper = paper_model(params.profile, benchmark, role)
    if paper is not None and params.profile == "paper":
        return [_existing(role, paper.backend, known)]
    # files serve the clips that have one; here only those of depth, which give the reason, are a last resort
    others = [spec for spec in known if spec.name != "files" or spec.embedded]
    if paper is None:
        return sorted(others, key=lambda spec: (spec.name == "files", not spec.embedded))
    return sorted(others, key=lambda spec: (spec.name == "files", spec.name != paper.backend, spec.embedded))


def _existing(role: str, name: str, known: list[BackendSpec]) -> BackendSpec:
    for spec in known:
        if spec.name == name:
            return spec
    names = ", ".join(spec.name for spec in known) or "none"
    raise UsageError(f"There is no backend '{name}' for the role '{role}'; known: {names}")


def named_backend(role: str, params: RunParams, benchmark: str = "") -> str | None:
    """The backend that the parameters name for a role: under `benchmark/role`, else under `role`."""
    named = params.extraction.backends
    return named.get(f"{benchmark}/{role}", named.get(role))


def obtainable(spec: BackendSpec, params: RunParams, benchmark: str = "") -> bool:
    """Whether the run itself brings what the backend lacks: it names a checkpoint, or allows the download of the weights.

    Building the backend then reports what is wrong, if anything. A model that the run names may always be built.
    """
    chosen = named_backend(spec.role, params, benchmark) is not None
    wished = paper_model(params.profile, benchmark, spec.role)
    if not chosen and (wished is None or wished.backend != spec.name):
        return False
    if _options(spec, params, benchmark).get("path"):
        return True
    fetched = bool(spec.weights) and all(weight(name).downloads for name in spec.weights)
    return params.extraction.allow_download and (chosen or fetched)


@cache
def availability(spec: BackendSpec) -> Availability:
    """Whether the backend is usable. Cached until `look_again`, because the check reads the weight files."""
    return spec.available()


@cache
def whole(spec: BackendSpec) -> bool:
    """Whether all its weights are here, also those that only some clips need (a detector where no box is given)."""
    return all(present(name) for name in spec.weights)


def build_backend(role: str, params: RunParams) -> Any:
    """The backend of the role, built with the options of the run."""
    spec = choose_backend(role, params)
    return spec.build(backend_options(spec, params))


def precision_named(role: str, name: str, params: RunParams, benchmark: str) -> str:
    """The precision in which the named backend of a role runs here."""
    known = [spec for spec in backends_of(role) if spec.name == name]
    return precision_of(known[0].build, backend_options(known[0], params, benchmark)) if known else "fp32"


def backend_options(spec: BackendSpec, params: RunParams, benchmark: str = "") -> BackendOptions:
    return BackendOptions(
        device=usable_device(params.device),
        batch_size=params.extraction.batch_size,
        seed=params.seed,
        allow_download=params.extraction.allow_download,
        values=_options(spec, params, benchmark),
    )


def _options(spec: BackendSpec, params: RunParams, benchmark: str) -> dict[str, str | int | float | bool]:
    """The settings of the paper's release where its model is used, with those of the run for the role and for `benchmark/role`."""
    paper, given = paper_model(params.profile, benchmark, spec.role), params.extraction.options
    released = paper.options if paper is not None and paper.backend == spec.name else {}
    return {**released, **given.get(spec.role, {}), **given.get(f"{benchmark}/{spec.role}", {})}
