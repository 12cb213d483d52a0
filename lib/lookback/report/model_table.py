"""A paper table from aggregated scores: one row per model, one column per metric, with notes about every cell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from lookback.clips import KEYS
from lookback.report.places import missing_anchor, number_anchor
from lookback.report.table import PaperTable, bounds_text, mark_best
from lookback.scoring.direction import more_is_better

POOLED = ("benchmark", "metric", "variant", "phase", "model_id")  # grouped like this, the settings of a benchmark are pooled
NO_CLIPS = "no such clips"
NOT_RUN = "this run has no such score"
SHORT = "†"
SHORT_NOTE = f"{SHORT}: counts clips that lack a part of their task (fewer frames, say), so the number is never marked as best: "
ALONE = "Nothing is marked as best or second where one of the numbers comes from one clip or one scene."


@dataclass(frozen=True)
class Column:
    """A table column: it shows a metric (and phase), multiplied by `scale`."""

    header: str
    metric: str
    phase: str = ""
    scale: float = 1.0
    digits: int = 2
    value: str = ""  # another column of the summary than the table's


def model_table(
    table_id: str,
    title: str,
    summary: pd.DataFrame,
    columns: Sequence[Column],
    value: str = "mean",
    group: Mapping[str, str] | None = None,
    intervals: bool = False,
) -> PaperTable:
    """Rows are models (in their group), cells the aggregated `value`, with "(n of N)" where some clips have none.

    The notes give n, coverage, variants and missing reasons.
    """
    models = sorted(summary["model_id"].unique(), key=lambda model: ((group or {}).get(model, ""), model))
    frame = pd.DataFrame({"model": models})
    labels = ["model"]
    if group is not None:
        frame.insert(0, "type", [group.get(model, "") for model in models])
        labels = ["type", "model"]
    missing = pd.DataFrame("", index=frame.index, columns=[column.header for column in columns])
    suffixes, links, alone = missing.copy(), missing.copy(), pd.DataFrame(False, index=frame.index, columns=missing.columns)
    short = alone.astype(int)
    benchmark = str(summary["benchmark"].iloc[0])
    for column in columns:
        rows, shown = _rows(summary, column).set_index("model_id"), column.value or value
        absent = NO_CLIPS if (summary["metric"] == column.metric).any() else NOT_RUN
        frame[column.header] = [rows[shown].get(model, float("nan")) * column.scale for model in models]
        for index, model in enumerate(models):
            scored = model in rows.index and rows.loc[model, "n"] > 0
            phase = rows.loc[model, "phase"] if scored else ""
            place = number_anchor(benchmark, model, column.metric, phase) if scored else missing_anchor(column.metric)
            links.loc[index, column.header] = f"#{place}" if model in rows.index else ""
            alone.loc[index, column.header] = scored and (rows.loc[model, "n"] == 1 or rows.loc[model].get("n_clusters", 2) < 2)
            if model not in rows.index:
                missing.loc[index, column.header] = absent
            elif pd.isna(rows.loc[model, shown]):
                missing.loc[index, column.header] = reasons_text(rows.loc[model, "reasons"])
            else:
                interval = _interval(rows.loc[model], column) if intervals and not column.value else ""
                count = int(rows.loc[model].get("n_short", 0))
                short.loc[index, column.header] = count
                suffixes.loc[index, column.header] = interval + _coverage(rows.loc[model]) + SHORT * (count > 0)
    directions = {column.header: more_is_better(column.metric, column.phase) for column in columns}
    better = {header: more for header, more in directions.items() if more is not None}
    digits = {column.header: column.digits for column in columns}
    types = frame["type"] if group else pd.Series("", index=frame.index)
    whole = frame.mask(short.reindex(columns=frame.columns, fill_value=0) > 0)
    marks = mark_best(whole, better, digits, types).mask(alone.groupby(types).transform("any"), "")
    empty = int((missing == NO_CLIPS).to_numpy().sum())
    written = notes(summary, columns) + ([f"{empty} cells are empty because the model has no such clips."] if empty else [])
    if left := [column.header for column in columns if (missing[column.header] == NOT_RUN).all()]:
        written.append(f"Not scored in this run (not in scoring.metrics, or no clip is made for it): {', '.join(left)}.")
    if short.to_numpy().any():
        most = short.max(axis=1)
        written.append(SHORT_NOTE + ", ".join(f"{model} {count}" for model, count in zip(models, most, strict=True) if count) + ".")
    written += [ALONE] if alone.to_numpy().any() else []
    metrics = {column.header: column.metric for column in columns}
    return PaperTable(
        table_id, title, frame, labels, digits, marks, missing, suffixes, links, written, better=better, metrics=metrics
    )


def single_clip_models(items: pd.DataFrame) -> list[str]:
    """The models with one clip only: their numbers are never marked as best."""
    clips = items.drop_duplicates(KEYS).groupby("model_id").size()
    return list(clips.index[clips == 1])


def _interval(row: pd.Series, column: Column) -> str:
    return bounds_text(row["ci_low"] * column.scale, row["ci_high"] * column.scale, column.digits)


def _coverage(row: pd.Series) -> str:
    """How many of the clips were measured, where not all of them; of the triggered ones, where a trigger decided."""
    total = int(row.get("n_triggered", row["n_items"]))
    return f" ({int(row['n'])} of {total})" if row["n"] < total else ""


def _rows(summary: pd.DataFrame, column: Column) -> pd.DataFrame:
    """The rows of a column. A model that has no row of this phase, and no score of the metric, is shown with another phase's."""
    metric = summary[summary["metric"] == column.metric]
    own = metric[metric["phase"] == column.phase]
    scored = metric.loc[metric["n"] > 0, "model_id"]
    without = metric[~metric["model_id"].isin([*own["model_id"], *scored])].drop_duplicates("model_id")
    return pd.concat([own, without]) if column.phase else own


def notes(summary: pd.DataFrame, columns: Sequence[Column]) -> list[str]:
    """Notes: n and coverage per column, the variants, and the reasons for missing scores."""
    parts: list[str] = []
    reasons: dict[str, int] = {}
    variants: set[str] = set()
    for column in columns:
        rows = _rows(summary, column)
        if rows.empty:
            parts.append(f"{column.header} n 0")
            continue
        parts.append(f"{column.header} n {int(rows['n'].sum())} of {int(rows['n_items'].sum())}")
        variants |= set(rows.get("variant", pd.Series(dtype=str)).unique())
        if column.value:  # the same clips as in the table's own column of this metric, counted in another way
            continue
        for text in rows["reasons"]:
            for reason, count in json.loads(text).items():
                reasons[reason] = reasons.get(reason, 0) + count
    found = [f"Scored clips: {'; '.join(parts)}."]
    if variants:
        found.append(f"Variants: {', '.join(sorted(variants))}.")
    if reasons:
        found.append("Missing: " + ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items())) + ".")
    return found


def reasons_text(text: str) -> str:
    counts = json.loads(text)
    return ", ".join(f"{reason} ({count})" for reason, count in sorted(counts.items())) or "no value"


def backend_note(items: pd.DataFrame) -> str:
    """The backends that made these scores, so that an embedded stand-in is always named."""
    named = sorted({part for text in items["backend"].unique() for part in text.split(",") if part and part != "none"})
    return f"Backends: {', '.join(named) or 'none'}."
