"""What all WRBench metrics declare alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lookback.registry import metric


def wrbench_metric(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register under `wrbench.<name>`: a score in [0,1], higher is better; the declaration may name another unit."""
    common: dict[str, Any] = {"benchmark": "wrbench", "unit": "score", "range": (0.0, 1.0), "higher_is_better": True}
    return metric(name=f"wrbench.{name}", **{**common, **declaration})
