"""Presets: everything that a metric's number depends on, per variant, read from the `presets.yaml` of its benchmark.

`official` is the released program, `paper` the text, `corrected` ours. An entry of the file looks like this:

    lpips:
      default: paper                        # the variant that runs use unless they name another
      shared: {lpips_every: 1}              # settings of all variants
      paper: {network: vgg}
      official: {network: alex}
      sources: {network: "metrics/reference_fidelity.py:9"}
      why: {official: "AlexNet instead of VGG"}

Metrics read the values (`context.setting("network")`), so a preset cannot say one thing and the code do another. A run may override
numbers by `scoring.constants`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from lookback.errors import UsageError, hint
from lookback.yaml_files import parse_yaml

Setting = str | int | float | bool | list[Any] | None
VARIANTS = ("paper", "official", "corrected")
NOTES = ("default", "shared", "sources", "why")


@dataclass(frozen=True)
class Presets:
    """The settings of one metric, per variant."""

    default: str
    settings: Mapping[str, Mapping[str, Setting]]  # variant -> setting -> value
    sources: Mapping[str, str] = field(default_factory=dict)  # setting -> file and line, or section of the paper
    why: Mapping[str, str] = field(default_factory=dict)  # variant -> what it does differently from the default, in a sentence

    @property
    def numbers(self) -> tuple[str, ...]:
        """The settings that a run may override: those with a number in at least one variant."""
        found = {name for values in self.settings.values() for name, value in values.items() if is_number(value)}
        return tuple(sorted(found))

    def differing(self) -> dict[str, dict[str, Setting]]:
        """setting -> variant -> value, for the settings that are not the same in all variants."""
        names = dict.fromkeys(name for values in self.settings.values() for name in values)
        rows = {name: {variant: values.get(name) for variant, values in self.settings.items()} for name in names}
        return {name: row for name, row in rows.items() if len({repr(value) for value in row.values()}) > 1}


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def presets_of(package: str, metric: str) -> Presets:
    """The presets of a metric in `presets.yaml` of a benchmark's package. `metric` is its name without the benchmark."""
    entries = _read(package)
    if metric not in entries:
        raise UsageError(f"presets.yaml of {package} has no entry '{metric}'; {hint(metric, sorted(entries))}")
    return entries[metric]


@cache
def _read(package: str) -> dict[str, Presets]:
    text = resources.files(package).joinpath("presets.yaml").read_text(encoding="utf-8")
    return {name: _presets(f"presets.yaml of {package}, {name}", entry) for name, entry in parse_yaml(text).items()}


def _presets(place: str, entry: Mapping[str, Any]) -> Presets:
    for name in entry:
        if name not in (*VARIANTS, *NOTES):
            raise UsageError(f"{place}: '{name}' is neither a variant nor a note; {hint(name, [*VARIANTS, *NOTES])}")
    shared = entry.get("shared") or {}
    settings = {variant: {**shared, **(entry[variant] or {})} for variant in VARIANTS if variant in entry}
    default = entry.get("default", "paper")
    if default not in settings:
        raise UsageError(f"{place}: the default variant '{default}' has no settings; write '{default}: {{}}' if it has none")
    ordered = {default: settings[default], **settings}
    return Presets(default, ordered, entry.get("sources") or {}, entry.get("why") or {})
