"""What to read, and which part of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from lookback.errors import hint
from lookback.params.section import Section
from lookback.registry import LAYOUTS


class Source(Section):
    """One dataset on disk. `layout: auto` detects it and says why."""

    root: str
    layout: str = "auto"  # a registered layout
    gt_root: str | None = None  # memobench, mind: where the ground truth lies, when not below root
    phases: str | None = None  # memobench: the phase sheet (CSV or XLSX)
    pattern: str | None = None  # folder: e.g. "{model}/{clip}.mp4"
    action_convention: Literal["auto", "readme", "code"] = "auto"  # mind: what 0/1/2 mean in action.json

    @field_validator("layout")
    @classmethod
    def _layout_exists(cls, layout: str) -> str:
        if layout != "auto" and layout not in LAYOUTS:
            raise ValueError(f"there is no layout '{layout}'; {hint(layout, ['auto', *LAYOUTS.names()])}")
        return layout


class Filters(Section):
    """Keep only these; empty keeps all. A name that does not occur is an error, not an empty run."""

    models: list[str] = []
    subsets: list[str] = []
    conditions: list[str] = []
    sample_ids: list[str] = []
    limit: int | None = Field(default=None, ge=1)


class World(Section):
    """The demo world: rendered before curation reads it back like any other dataset."""

    width: int = Field(default=320, ge=64, le=1920, multiple_of=2)
    height: int = Field(default=192, ge=64, le=1080, multiple_of=2)
    scale: float = Field(default=1.0, gt=0, le=1)  # share of the full demo plan; small values for quick trials


class Curation(Section):
    sources: list[Source] = []
    filters: Filters = Filters()
    world: World | None = None  # set: render the demo world and read its five datasets
