"""Compare two runs: paired differences with intervals, rank changes, and changes in parameters, backends and code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookback.clips import KEYS
from lookback.errors import UsageError
from lookback.params import RunParams
from lookback.report.page import Section, write_page
from lookback.report.table import PaperTable
from lookback.scoring.aggregate import with_clip_facts
from lookback.scoring.direction import more_is_better
from lookback.scoring.variants import only_chosen
from lookback.stats import bootstrap_ci
from lookback.tables import read_table

PAIR = [*KEYS, "metric", "phase"]
DIFFERENCES = [
    "metric",
    "phase",
    "model",
    "first",
    "second",
    "difference",
    "ci_low",
    "ci_high",
    "pairs",
    "only_first",
    "only_second",
]
RANKS = ["metric", "phase", "model", "rank_first", "rank_second", "change"]
CHANGES = ["what", "name", "first", "second"]


def compare_runs(first: RunParams, second: RunParams, folder: Path) -> list[PaperTable]:
    """Write the tables and the page of the comparison to `folder`."""
    both = [_items(run) for run in (first, second)]
    differences = paired_differences(both[0], both[1], seed=first.seed, resamples=first.scoring.resamples)
    names = {"first": first.run, "second": second.run}
    tables = [
        PaperTable(
            "differences",
            f"{second.run} minus {first.run}, clip by clip",
            differences,
            ["metric", "phase", "model"],
            dict.fromkeys(("first", "second", "difference", "ci_low", "ci_high"), 4),
            notes=[
                "Means over the clips that both runs scored; 95 % percentile bootstrap that draws whole scenes.",
                "An interval without zero is a difference that these scenes support; empty: fewer than two scenes.",
            ],
            headers=names,
            conclusion=_conclusion(differences),
        ),
        PaperTable("ranks", "Models whose rank changed", rank_changes(differences), ["metric", "phase", "model"]),
        PaperTable("changes", "What changed", what_changed(first, second), ["what", "name", "first", "second"], headers=names),
    ]
    for table in tables:
        table.save(folder)
    sections = [
        Section(table.id, table.title, "", [table.to_html() if len(table.frame) else "<p>Nothing.</p>"]) for table in tables
    ]
    write_page(folder / "report.html", f"{first.run} and {second.run}", "Two runs compared.", sections, "")
    return tables


def paired_differences(first: pd.DataFrame, second: pd.DataFrame, *, seed: int, resamples: int) -> pd.DataFrame:
    """For every metric and model: both means over the clips that both runs scored, their difference with interval, and the number
    of clips that only one run scored."""
    joined = first.merge(second, on=PAIR, how="outer", suffixes=("_first", "_second"))
    rows = []
    for (metric, phase, model), group in joined.groupby(["metric", "phase", "model_id"], sort=True):
        has_first, has_second = group["value_first"].notna(), group["value_second"].notna()
        paired = group[has_first & has_second]
        change = (paired["value_second"] - paired["value_first"]).to_numpy(float)
        scenes = paired["scene_first"].to_numpy()
        low = high = np.nan
        if len(change) and len(set(scenes)) > 1:
            found = bootstrap_ci(change, "mean", clusters=scenes, resamples=resamples, seed=seed)
            low, high = (np.nan if bound is None else bound for bound in (found.low, found.high))
        means = [paired[name].mean() if len(paired) else np.nan for name in ("value_first", "value_second")]
        unpaired = int((has_first & ~has_second).sum()), int((has_second & ~has_first).sum())
        difference = change.mean() if len(change) else np.nan
        rows.append([metric, phase, model, *means, difference, low, high, len(paired), *unpaired])
    return pd.DataFrame(rows, columns=DIFFERENCES)


def rank_changes(differences: pd.DataFrame) -> pd.DataFrame:
    """Models whose rank (1 = best, over the clips that both runs scored) differs between the runs."""
    parts = []
    for (metric, phase), group in differences.dropna(subset=["first", "second"]).groupby(["metric", "phase"], sort=True):
        ascending = not more_is_better(str(metric), str(phase))
        ranks = {name: group[name].rank(ascending=ascending, method="min").astype(int) for name in ("first", "second")}
        parts.append(group.assign(rank_first=ranks["first"], rank_second=ranks["second"], change=ranks["first"] - ranks["second"]))
    if not parts:
        return pd.DataFrame(columns=RANKS)
    table = pd.concat(parts)
    return table.loc[table["change"] != 0, RANKS].reset_index(drop=True)


def what_changed(first: RunParams, second: RunParams) -> pd.DataFrame:
    """Parameters, backends, packages and code that differ between the two runs."""
    before, after = (_provenance(run) for run in (first, second))
    rows: list[list[str]] = []
    for what, one, other in (
        ("parameter", dict(_flat(before["parameters"])), dict(_flat(after["parameters"]))),
        ("backend", _backends(before), _backends(after)),
        ("package", before["packages"], after["packages"]),
        ("code", {"revision": before["git"]}, {"revision": after["git"]}),
    ):
        names = sorted({*one, *other})
        rows += [
            [what, name, str(one.get(name, "")), str(other.get(name, ""))] for name in names if one.get(name) != other.get(name)
        ]
    return pd.DataFrame(rows, columns=CHANGES)


def _items(run: RunParams) -> pd.DataFrame:
    if not (run.paths.tables / "gated.parquet").is_file():
        raise UsageError(f"The run '{run.run}' has no scores; run `make report RUN={run.run}` first")
    items = only_chosen(read_table(run.paths.tables, "gated"), run)
    return with_clip_facts(items, read_table(run.paths.tables, "clips"), ["scene"])[[*PAIR, "value", "scene"]]


def _provenance(run: RunParams) -> dict[str, Any]:
    if not run.paths.provenance.is_file():
        raise UsageError(f"The run '{run.run}' has no provenance.json; run `make report RUN={run.run}` first")
    return json.loads(run.paths.provenance.read_text())


def _backends(provenance: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for row in provenance["backends"]:
        found.setdefault(row["role"], []).append(f"{row['backend']} {row['version']} {row['weights']}".strip())
    return {role: "; ".join(sorted(names)) for role, names in found.items()}


def _flat(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(values, dict):
        for name, value in values.items():
            yield from _flat(value, f"{prefix}.{name}" if prefix else name)
    else:
        yield prefix, values


def _conclusion(differences: pd.DataFrame) -> str:
    told = differences.dropna(subset=["ci_low", "ci_high"])
    sure = told[(told["ci_low"] > 0) | (told["ci_high"] < 0)]
    return (
        f"{len(sure)} of {len(told)} differences with an interval exclude zero; by chance alone about {0.05 * len(told):.0f} would."
    )
