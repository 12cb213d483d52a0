"""The limits of the written rules, from the recorded table rules.yaml beside this file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

from lookback.yaml_files import parse_yaml


@lru_cache
def limits() -> Mapping[str, float]:
    """The limits by name."""
    text = resources.files("lookback.forensics").joinpath("rules.yaml").read_text(encoding="utf-8")
    return {name: float(value) for name, value in parse_yaml(text).items()}
