"""The data from which a benchmark makes the tables and figures of its paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from lookback.errors import UsageError
from lookback.params import RunParams
from lookback.scoring.aggregate import with_clip_facts
from lookback.scoring.variants import only_chosen
from lookback.tables import empty_table, read_table


@dataclass(frozen=True)
class PaperData:
    """The scores of a run joined with facts about their clips, its tables and its parameters."""

    params: RunParams
    items: pd.DataFrame  # the chosen variants, after the trigger gate
    tables: Mapping[str, pd.DataFrame]

    @classmethod
    def of_run(cls, params: RunParams) -> PaperData:
        """The scores and tables of a run. A table whose stage was not run is empty."""
        folder = params.paths.tables
        if not cls.has_scores(params):
            raise UsageError(f"The run '{params.run}' has no scores; run `make report RUN={params.run}` or `lookback eval` first")
        names = ("clips", "screen", "artifacts", "units", "gated", "judgements", "failures", "ratings", "truth")
        tables = {name: read_table(folder, name) if (folder / f"{name}.parquet").is_file() else empty_table(name) for name in names}
        return cls(params, with_clip_facts(only_chosen(tables["gated"], params), tables["clips"]), tables)

    @staticmethod
    def has_scores(params: RunParams) -> bool:
        return (params.paths.tables / "gated.parquet").is_file()

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
