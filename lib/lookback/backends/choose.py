"""Choose and build the backend of each role in a run."""

from __future__ import annotations

from functools import cache
from typing import Any

from lookback.backends.base import BackendOptions
from lookback.backends.runtime import precision_of
from lookback.devices import usable_device
from lookback.errors import BackendUnavailable, UsageError
from lookback.params import RunParams
from lookback.registry import Availability, BackendSpec, backends_of


def choose_backend(role: str, params: RunParams) -> BackendSpec:
    """The backend that the run names, else the first usable one; BackendUnavailable with the remedies when none is usable."""
    candidates = backends_of(role)
    named = params.extraction.backends.get(role)
    if named is not None:
        candidates = [spec for spec in candidates if spec.name == named]
        if not candidates:
            known = ", ".join(spec.name for spec in backends_of(role)) or "none"
            raise UsageError(f"There is no backend '{named}' for the role '{role}'; known: {known}")
    else:  # files serve the clips that have one; here only those of depth, which give the reason, are a last resort
        embedded_first = params.extraction.prefer == "embedded"
        candidates = [spec for spec in candidates if spec.name != "files" or spec.embedded]
        candidates.sort(key=lambda spec: (spec.name == "files", embedded_first and not spec.embedded))
    refusals = []
    for spec in candidates:
        state = availability(spec)
        if state.usable or (named is not None and _is_provided(role, params)):
            return spec
        refusals.append(f"{spec.name}: {state.why}" + (f" ({state.remedy})" if state.remedy else ""))
    raise BackendUnavailable(f"No backend of the role '{role}' is usable here: {'; '.join(refusals) or 'none exists'}")


def _is_provided(role: str, params: RunParams) -> bool:
    """Whether the run names a checkpoint or allows downloads. Building the backend then reports what is wrong, if anything."""
    return params.extraction.allow_download or bool(params.extraction.options.get(role, {}).get("path"))


@cache
def availability(spec: BackendSpec) -> Availability:
    """Whether the backend is usable. Cached per process, because the check reads the weight files."""
    return spec.available()


def build_backend(role: str, params: RunParams) -> Any:
    """The backend of the role, built with the options of the run."""
    return choose_backend(role, params).build(backend_options(role, params))


def precision_named(role: str, name: str, params: RunParams) -> str:
    """The precision in which the named backend of a role runs here."""
    known = [spec for spec in backends_of(role) if spec.name == name]
    return precision_of(known[0].build, backend_options(role, params)) if known else "fp32"


def backend_options(role: str, params: RunParams) -> BackendOptions:
    return BackendOptions(
        device=usable_device(params.device),
        batch_size=params.extraction.batch_size,
        seed=params.seed,
        allow_download=params.extraction.allow_download,
        values=params.extraction.options.get(role, {}),
    )
