"""What all MIND metrics declare alike: the corrected variant is the default, the official one reproduces the released defects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lookback.registry import metric


def mind_metric(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register under `mind.<name>`. A metric of several measures gives one item per measure, named in the column `phase`."""
    return metric(
        name=f"mind.{name}", benchmark="mind", variants=("corrected", "official"), default_variant="corrected", **declaration
    )
