"""Stage 60: the failure taxonomy with the frames behind it, timelines, and cases worth looking at."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lookback.clips import KEYS
from lookback.files import write_text
from lookback.forensics.cases import mine_cases
from lookback.forensics.collect import collect
from lookback.forensics.drawing import draw
from lookback.forensics.evidence import Evidence
from lookback.forensics.rules import RULES, find_failures
from lookback.forensics.score import confusion, counts, label_scores, with_truth
from lookback.params import RunParams
from lookback.tables import csv_text, empty_table, read_table, write_table

READS = ("clips", "segments", "artifacts", "units", "gated", "judgements", "ratings", "truth")


def forensics(params: RunParams) -> dict[str, pd.DataFrame]:
    """Label every clip by the written rules, search for cases, draw both; writes `failures` and `tables/forensics/*.csv`."""
    folder = params.paths.tables
    tables = {name: read_table(folder, name) for name in READS}
    seen = collect(params, tables)
    tables["failures"] = write_table(folder, "failures", _failures(seen))
    cases = mine_cases(tables, params.forensics.plan)
    written = {
        "rules": pd.DataFrame([{"failure": rule.title, "label": rule.label, "when": rule.when} for rule in RULES]),
        "counts": counts(tables["failures"], tables["clips"]),
        "cases": cases,
    }
    written |= trial_tables(tables["failures"], tables["truth"])
    params.paths.clear("forensics")
    for name, frame in written.items():
        write_text(folder / "forensics" / f"{name}.csv", csv_text(frame))
    draw(params, tables, seen, cases)
    return {"failures": tables["failures"], **written}


def trial_tables(failures: pd.DataFrame, truth: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Compare the rules with the demo world's truth. Tables without rows are left out: no truth, or no injected failure."""
    clips = with_truth(failures, truth)
    return {name: frame for name, frame in (("confusion", confusion(clips)), ("scores", label_scores(clips))) if len(frame)}


def _failures(seen: list[Evidence]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for clip in seen:
        for rule, found in find_failures(clip):
            rows.append({**dict(zip(KEYS, clip.clip.key, strict=True)), "rule": rule.when, **found.__dict__})
    columns = list(empty_table("failures").columns)
    return pd.DataFrame(rows)[columns] if rows else empty_table("failures")
