"""Registering a dimension under MBench's own names, `mbencha.*` and `mbencht.*`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lookback.registry import metric

SETTINGS = {"A": "mbencha", "T": "mbencht"}


def mbench_metric(dimension: str, settings: str = "AT", **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register one scoring function for settings A and T (camera interaction exists in A only)."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for setting in settings:
            name = f"{SETTINGS[setting]}.{dimension}"
            metric(name=name, benchmark="mbench", settings=(setting,), range=(0.0, 1.0), higher_is_better=True, **declaration)(
                function
            )
        return function

    return register
