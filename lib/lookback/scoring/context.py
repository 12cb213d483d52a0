"""What a metric sees of a clip: its row, its artifacts, the variant and constants in force."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from lookback.artifacts import Artifact
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.paths import resolve
from lookback.store import Entry

A = TypeVar("A", bound=Artifact)


@dataclass
class ScoringClip:
    """One clip for one metric; remembers which artifacts were used, for the provenance columns."""

    clip: Clip
    variant: str
    constants: Mapping[str, float]
    segments: pd.DataFrame  # this clip's rows of the segments table
    load_artifact: Callable[[str], Entry]
    tool: Callable[[str], Any]  # a role's backend as a function library (LPIPS distance, optical flow)
    shared: dict[Any, Any] = field(default_factory=dict)  # what several metrics of one clip compute once
    used: set[str] = field(default_factory=set)

    def artifact(self, kind: type[A]) -> A:
        """The artifact of this kind, or NotScorable with the reason it is missing."""
        self.used.add(kind.role)
        return kind.unpack(self.load_artifact(kind.role))

    def backend(self, role: str) -> Any:
        """The role's backend itself, or NotScorable(backend_unavailable)."""
        self.used.add(role)
        return self.tool(role)

    def constant(self, name: str, default: float) -> float:
        return float(self.constants.get(name, default))

    def need(self, name: str) -> Any:
        """A field of the clip that the metric cannot do without."""
        value = getattr(self.clip, name)
        if value is None or value == "" or value == []:
            raise NotScorable(Reason.MISSING_INPUT, f"the clip has no {name}")
        return value

    @property
    def video(self) -> Path:
        return resolve(self.clip.video)
