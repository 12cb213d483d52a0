"""The stages as library functions: `lookback.stages.<stage>(params) -> tables`. Each is imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lookback.workers import workers_kept

NAMES = ("curation", "extraction", "scoring", "judging", "agreement", "forensics", "audit", "report")


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module 'lookback.stages' has no attribute '{name}'")
    return workers_kept()(getattr(import_module(f"lookback.stages._{name}"), name))
