"""What each model of a run cost: seconds per clip, from the timings that extraction and scoring keep."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lookback.clips import KEYS
from lookback.params import RunParams
from lookback.tables import read_table
from lookback.tables.csv_files import read_csv

COLUMNS = ["benchmark", "stage", "part", "model", "clips", "seconds_per_clip", "seconds", "share"]
DECODING = "decode"


def costs(params: RunParams) -> pd.DataFrame:
    """One row per benchmark, stage, part (a role, a metric with its variant, or decoding) and model, the most expensive first.

    Only work that was really done counts: what came from the store has no timing. A run without timings gives an empty table.
    """
    tables, folder = params.paths.tables, params.paths.root / "timings"
    extracted, scored = _timings(folder / "extraction.csv"), _timings(folder / "scoring.csv")
    artifacts = read_table(tables, "artifacts") if len(extracted) else pd.DataFrame()
    items = read_table(tables, "items") if len(scored) else pd.DataFrame()
    return cost_table(extracted, scored, artifacts, items)


def cost_table(extracted: pd.DataFrame, scored: pd.DataFrame, artifacts: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """The same from tables: timings of both stages, and the tables that name the model of each role and metric."""
    found = per_clip(extracted, scored, artifacts, items)
    grouped = found.groupby(["benchmark", "stage", "part", "model"], as_index=False)["seconds"]
    table = grouped.agg(clips="size", seconds_per_clip="mean", seconds="sum")
    table["share"] = table["seconds"] / table["seconds"].sum()
    return table.sort_values("seconds", ascending=False, ignore_index=True)[COLUMNS]


def per_clip(extracted: pd.DataFrame, scored: pd.DataFrame, artifacts: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """One row per clip and part: benchmark, stage, part, model and seconds, in the order of the work."""
    frames = []
    if len(extracted):
        models = artifacts[[*KEYS, "role", "backend"]].rename(columns={"backend": "model"})
        frames.append(
            extracted.merge(models, on=[*KEYS, "role"], how="left").rename(columns={"role": "part"}).assign(stage="extraction")
        )
    if len(scored):
        part = items["metric"] + " " + items["variant"]
        models = (
            items.assign(part=part)[[*KEYS, "part", "backend"]]
            .drop_duplicates([*KEYS, "part"])
            .rename(columns={"backend": "model"})
        )
        frames.append(scored.merge(models, on=[*KEYS, "part"], how="left").assign(stage="scoring"))
    columns = [*KEYS, "stage", "part", "model", "seconds"]
    if not frames:
        return pd.DataFrame(columns=columns)
    return pd.concat(frames, ignore_index=True)[columns].fillna({"model": ""})


def _timings(path: Path) -> pd.DataFrame:
    return read_csv(path, dtype=dict.fromkeys(KEYS, str), keep_default_na=False) if path.is_file() else pd.DataFrame()
