"""`results.json`: one file per run with every score, its reason and its origin (docs/results.md, `results.schema.json`).

Beside it lie its scores as CSV.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookback.clips import KEYS
from lookback.files import write_text
from lookback.params import RunParams
from lookback.params.load import RESULTS
from lookback.provenance import provenance
from lookback.registry import METRICS
from lookback.report.model_table import POOLED
from lookback.scoring.aggregate import aggregate, with_clip_facts
from lookback.scoring.direction import more_is_better
from lookback.scoring.variants import only_chosen
from lookback.tables import csv_text, empty_table, read_table

SCHEMA = "lookback.results/1"  # the number grows when a field changes its meaning or goes away; new fields do not change it
SCORE = ("metric", "variant", "phase", "value", "raw", "reason", "detail", "n_units", "backend", "weights")
FACTS = ("content_hash", "n_frames", "fps", "width", "height", "shortfall")
SAMPLE = ("scene", "subset", "sample_id", "condition_id", "prompt", "video", *FACTS)
COUNTS = ("n", "n_items", "n_short", "coverage", "missing", "reasons")
SUMMARY = (*POOLED, "mean", "ci_low", "ci_high", "ci_note", "sd", *COUNTS, "backends")


def write_results(params: RunParams) -> Path:
    """Write the file into the run's folder, and its scores as CSV beside it; returns the path of the file."""
    path, content = params.paths.root / RESULTS, results(params)
    write_text(path, json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")
    for name, table in _tables(content).items():
        write_text(path.with_name(f"{name}.csv"), csv_text(table))
    return path


def _tables(content: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Three parts of the file as tables, each with its columns where it has no row."""
    items = [{**sample, **score} for sample in content["samples"] for score in sample["scores"]]
    scores = [{**row, "reasons": json.dumps(row["reasons"])} for row in content["summary"]]
    return {
        "items": pd.DataFrame(items, columns=[*KEYS, *SCORE]),
        "scores": pd.DataFrame(scores, columns=[*SUMMARY, "higher_is_better"]),
        "rejected": pd.DataFrame(content["rejected"], columns=empty_table("rejected").columns),
    }


def results(params: RunParams) -> dict[str, Any]:
    """The content of the file. Scores are those of the run's own variants, after the trigger gate."""
    folder = params.paths.tables
    clips, items = read_table(folder, "clips"), only_chosen(read_table(folder, "gated"), params)
    summary = aggregate(with_clip_facts(items, clips), by=POOLED, seed=params.seed, resamples=params.scoring.resamples)
    measured = items[items["value"].notna()].groupby(list(POOLED))["backend"].agg(lambda names: "; ".join(sorted(set(names))))
    summary = summary.join(measured.rename("backends"), on=list(POOLED)).fillna({"backends": ""})
    summary = summary.replace([np.inf, -np.inf], np.nan)  # the sd of huge scores
    scores: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in items.to_dict("records"):
        scores.setdefault(_key(row), []).append(_plain(row, SCORE))
    return {
        "schema": SCHEMA,
        "run": params.run,
        "provenance": provenance(params),
        "metrics": {str(name): _metric(str(name), own["phase"].unique()) for name, own in items.groupby("metric", sort=True)},
        "samples": [_sample(row, scores.get(_key(row), [])) for row in clips.to_dict("records")],
        "summary": [
            {**_plain(row, SUMMARY), "reasons": json.loads(row["reasons"])} | {"higher_is_better": _better(row)}
            for row in summary.to_dict("records")
        ],
        "rejected": read_table(folder, "rejected").to_dict("records"),
    }


def _key(row: Mapping[Any, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in KEYS)


def _sample(row: Mapping[Any, Any], scores: list[dict[str, Any]]) -> dict[str, Any]:
    identity = "/".join(_key(row))
    return {"id": identity, **{name: row[name] for name in KEYS}, **_plain(row, SAMPLE), "scores": scores}


def _plain(row: Mapping[Any, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """These fields as JSON has them: no NaN, no numpy."""
    return {name: None if pd.isna(row[name]) else getattr(row[name], "item", lambda value=row[name]: value)() for name in names}


def _metric(name: str, phases: Iterable[str]) -> dict[str, Any]:
    spec = METRICS.get(name)
    fields = ("title", "benchmark", "unit", "higher_is_better", "source", "equation")
    parts = {phase: more_is_better(name, phase) for phase in sorted(phases)}
    return {field: getattr(spec, field) for field in fields} | {"range": list(spec.range) if spec.range else None, "phases": parts}


def _better(row: Mapping[Any, Any]) -> bool | None:
    return more_is_better(str(row["metric"]), str(row["phase"]))
