"""What all MemoBench metrics declare alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lookback.registry import metric

BOTH = ("paper", "official")


def memobench_metric(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register under `memobench.<name>`; scores lie in [0,1] and higher is better unless the declaration says otherwise."""
    common: dict[str, Any] = {"benchmark": "memobench", "unit": "score", "range": (0.0, 1.0), "higher_is_better": True}
    return metric(name=f"memobench.{name}", **{**common, **declaration})
