"""Curation: what a dataset holds, whether its files are correct, and whether its clips look away and back at all.

Names are imported when they are first used, because worker processes need the inspection but not the figures.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_WHERE = {
    "gathering": ("Collected", "collect"),
    "contents": (
        "benchmark_contents",
        "challenge_screen",
        "composition",
        "duplicates",
        "ground_truth_mismatches",
        "missing_counterparts",
        "model_coverage",
        "refusals",
    ),
    "figures": (
        "benchmark_figures",
        "challenge_figure",
        "composition_figure",
        "counterpart_figure",
        "duration_figure",
        "prompt_figure",
    ),
    "trajectory": ("Challenge", "challenge_from_path", "challenge_from_visibility", "trajectory_class"),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'lookback.curation' has no attribute '{name}'")
    return getattr(import_module(f"lookback.curation.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
