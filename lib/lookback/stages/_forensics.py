"""Stage 60: the failure taxonomy with the frames behind it, timelines, and cases worth looking at."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lookback.clips import KEYS
from lookback.demo.source import is_rendered
from lookback.files import write_text
from lookback.forensics.calibration import Calibration, Domain, calibration, figures
from lookback.forensics.cases import mine_cases
from lookback.forensics.collect import collect
from lookback.forensics.drawing import draw
from lookback.forensics.evidence import Evidence
from lookback.forensics.features import features
from lookback.forensics.rules import RULES, TITLES
from lookback.forensics.score import confusion, counts, label_scores, with_truth
from lookback.forensics.verdicts import Verdict, verdicts
from lookback.params import RunParams
from lookback.tables import csv_text, empty_table, read_table, write_table

READS = ("clips", "segments", "artifacts", "units", "gated", "judgements", "ratings", "truth")


def forensics(params: RunParams) -> dict[str, pd.DataFrame]:
    """Name the failures of every clip, search for cases, draw both; writes `failures` and `tables/forensics/*.csv`."""
    folder = params.paths.tables
    tables = {name: read_table(folder, name) for name in READS}
    table = calibration(domain_of(params))
    seen = collect(params, tables, over_time=table.domain == "real")  # the written rules do not read the curves
    said = [(clip, verdicts(clip, table, params.forensics.experimental)) for clip in seen]
    tables["failures"] = write_table(folder, "failures", _failures(said, table))
    cases, silent = mine_cases(tables, params.forensics.plan), _abstentions(said, table)
    written = {
        "rules": rules_table(table),
        "validity": figures().assign(label=lambda frame: frame["label"].map(TITLES)).rename(columns={"label": "failure"}),
        "counts": counts(tables["failures"], tables["clips"], silent),
        "abstentions": silent,
        "features": pd.DataFrame([{**dict(zip(KEYS, clip.clip.key, strict=True)), **features(clip).values} for clip in seen]),
        "cases": cases,
    }
    written |= trial_tables(tables["failures"], tables["truth"])
    params.paths.clear("forensics")
    for name, frame in written.items():
        write_text(folder / "forensics" / f"{name}.csv", csv_text(frame))
    draw(params, tables, seen, cases)
    return {"failures": tables["failures"], **written}


def domain_of(params: RunParams) -> Domain:
    """The domain that the parameters name; without a name, demo for clips that the demo world rendered, else real."""
    sources, world = params.curation.sources, params.curation.world
    rendered = all(map(is_rendered, sources)) and (sources or world is not None)
    return params.forensics.domain or ("demo" if rendered else "real")


def rules_table(table: Calibration) -> pd.DataFrame:
    """How each label is decided in this domain, in words."""
    rows = []
    for rule in RULES:
        label = table.labels[rule.label]
        how = rule.when if label.by == "rule" else f"{label.why}: {label.model.formula()}" if label.model is not None else label.why
        rows.append({"failure": rule.title, "label": rule.label, "domain": table.domain, "when": how})
    return pd.DataFrame(rows)


def trial_tables(failures: pd.DataFrame, truth: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Compare the rules with the demo world's truth. Tables without rows are left out: no truth, or no injected failure."""
    clips = with_truth(failures, truth)
    return {name: frame for name, frame in (("confusion", confusion(clips)), ("scores", label_scores(clips))) if len(frame)}


def _failures(said: list[tuple[Evidence, list[Verdict]]], table: Calibration) -> pd.DataFrame:
    when = dict(zip(*(rules_table(table)[name] for name in ("label", "when")), strict=True))
    rows: list[dict[str, Any]] = [
        {**_keys(clip), "rule": f"{table.domain}: {when[verdict.rule.label]}", **verdict.finding.__dict__}
        for clip, all_of_it in said
        for verdict in all_of_it
        if verdict.finding is not None
    ]
    columns = list(empty_table("failures").columns)
    return pd.DataFrame(rows)[columns] if rows else empty_table("failures")


def _abstentions(said: list[tuple[Evidence, list[Verdict]]], table: Calibration) -> pd.DataFrame:
    """The labels about which nothing is said, with the reason."""
    rows = [
        {
            **_keys(clip),
            "label": one.rule.label,
            "domain": table.domain,
            "reason": str(one.abstained.reason),
            "words": one.abstained.words,
        }
        for clip, all_of_it in said
        for one in all_of_it
        if one.abstained is not None
    ]
    return pd.DataFrame(rows, columns=[*KEYS, "label", "domain", "reason", "words"])


def _keys(seen: Evidence) -> dict[str, str]:
    return dict(zip(KEYS, seen.clip.key, strict=True))
