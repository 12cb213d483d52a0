"""The backends that this process has built, until what they are made of changes: a notebook lives longer than a checkpoint."""

from __future__ import annotations

from typing import Any

from lookback.backends.choose import availability, backend_options, whole
from lookback.backends.runtime import forget_networks
from lookback.errors import BackendUnavailable
from lookback.extraction.identity import producer_of
from lookback.params import RunParams
from lookback.registry import BackendSpec

_BUILT: dict[tuple[str, str], tuple[str, Any]] = {}  # role, name and options -> what it is made of, and the backend or its failure


def built(spec: BackendSpec, params: RunParams, benchmark: str) -> Any:
    """The backend, built once per process and set of options, and anew when its weights or its installed model changed."""
    options = backend_options(spec, params, benchmark)
    key = (spec.key, repr(options))
    if key in _BUILT and _BUILT[key][0] != producer_of(spec.role, spec, params, benchmark).weights:
        _drop(key)
        forget_networks()
    if key not in _BUILT:
        try:
            found = spec.build(options)
        except BackendUnavailable as error:
            found = error
        _BUILT[key] = producer_of(spec.role, spec, params, benchmark).weights, found  # after the build, which may download them
    if isinstance(_BUILT[key][1], BackendUnavailable):
        raise _BUILT[key][1]
    return _BUILT[key][1]


def look_again() -> None:
    """Forget what was not usable, and what was: between two stages of one session somebody may have installed a model."""
    availability.cache_clear()
    whole.cache_clear()
    for key in [key for key, (_, found) in _BUILT.items() if isinstance(found, BackendUnavailable)]:
        del _BUILT[key]


def _drop(key: tuple[str, str]) -> None:
    """Let a backend go, and end the child process in which its model runs."""
    _, found = _BUILT.pop(key)
    if hasattr(found, "runner"):
        found.runner.close()
