"""The data from which a benchmark makes the tables and figures of its paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from lookback.params import RunParams


@dataclass(frozen=True)
class PaperData:
    """The scores of a run joined with facts about their clips, its tables and its parameters."""

    params: RunParams
    items: pd.DataFrame  # the chosen variants, after the trigger gate
    tables: Mapping[str, pd.DataFrame]

    def of(self, benchmark: str) -> PaperData:
        """The scores of one benchmark; the tables stay whole."""
        return replace(self, items=self.items[self.items["benchmark"] == benchmark])

    @property
    def gated(self) -> bool:
        """True if a trigger decided which clips count."""
        return "trigger" in set(self.tables["judgements"]["task"]) and not self.params.judging.ignore_trigger

    @property
    def seed(self) -> int:
        return self.params.seed

    @property
    def resamples(self) -> int:
        return self.params.scoring.resamples

    @property
    def intervals(self) -> bool:
        return self.params.report.confidence_intervals

    def condition_types(self, benchmark: str) -> dict[str, str]:
        """The condition type (text, camera path, ...) of each model, taken from its first clip."""
        clips = self.tables["clips"]
        return clips[clips["benchmark"] == benchmark].groupby("model_id")["condition_type"].first().to_dict()
