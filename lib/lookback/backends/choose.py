"""Which backend serves a role in a run, and building it."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from lookback.backends.base import BackendOptions
from lookback.errors import BackendUnavailable, UsageError
from lookback.params import RunParams
from lookback.registry import Availability, BackendSpec, backends_of


def choose_backend(role: str, params: RunParams) -> BackendSpec:
    """The named backend, or the first usable one, the preferred kind first; else BackendUnavailable with the remedies."""
    candidates = backends_of(role)
    named = params.extraction.backends.get(role)
    if named is not None:
        candidates = [spec for spec in candidates if spec.name == named]
        if not candidates:
            known = ", ".join(spec.name for spec in backends_of(role)) or "none"
            raise UsageError(f"There is no backend '{named}' for the role '{role}'; known: {known}")
    elif params.extraction.prefer == "embedded":
        candidates = sorted(candidates, key=lambda spec: not spec.embedded)
    refusals = []
    for spec in candidates:
        state = availability(spec)
        if state.usable or (named is not None and _is_provided(role, params)):
            return spec
        refusals.append(f"{spec.name}: {state.why}" + (f" ({state.remedy})" if state.remedy else ""))
    raise BackendUnavailable(f"No backend of the role '{role}' is usable here: {'; '.join(refusals) or 'none exists'}")


def _is_provided(role: str, params: RunParams) -> bool:
    """The run names a checkpoint, or allows the pinned one to be fetched: building the backend says what is wrong, if anything."""
    return params.extraction.allow_download or bool(params.extraction.options.get(role, {}).get("path"))


@cache
def availability(spec: BackendSpec) -> Availability:
    """Asked once per process: looking for weights reads files."""
    return spec.available()


def build_backend(role: str, params: RunParams) -> Any:
    """The role's backend with the run's options."""
    return choose_backend(role, params).build(backend_options(role, params))


def backend_options(role: str, params: RunParams) -> BackendOptions:
    return BackendOptions(
        device=usable_device(params.device),
        batch_size=params.extraction.batch_size,
        seed=params.seed,
        allow_download=params.extraction.allow_download,
        values=params.extraction.options.get(role, {}),
    )


# what the kernel shows of a GPU: NVIDIA's, AMD's, Windows' and Jetson's
GPU_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu")


def usable_device(wanted: str) -> str:
    """`auto` is the GPU when torch sees one; where the machine shows none, torch need not be loaded to say so."""
    if wanted != "auto":
        return wanted
    if sys.platform == "linux" and not any(Path(file).exists() for file in GPU_FILES):
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
