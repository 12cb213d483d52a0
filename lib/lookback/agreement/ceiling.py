"""Judge and metric beside people: the same items, the same yardstick, and the ceiling that people's own noise sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.claims import UNTESTED
from lookback.agreement.plan import Plan
from lookback.agreement.reading import rho_and_ceiling, row_names
from lookback.agreement.tables.metric import GROUP
from lookback.agreement.votes import annotator_matrix
from lookback.names import listing
from lookback.stats import holm, judge_beside_people

ABOVE, LIKE, BELOW = "above people", "not told apart from people", "below people"
LEADS = {ABOVE: "Agrees more often than people", LIKE: "Not told apart from people", BELOW: "Agrees less often than people"}
# the part of the plan that asks for a kind of question
ESTIMAND = {"preference": "bridge", "trigger": "trigger", "judgeability": "judgeability", "vqa": "vqa"}


def ceiling_table(votes: pd.DataFrame, units: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension with automatic answers: people's and the automatic agreement with the other votes.

    `units` are those with scores attached. Only items with an automatic answer count, for people too.
    """
    answered = units[units["decision"].notna()].drop_duplicates("item")
    rows = []
    for keys, own in answered.groupby([*GROUP, "kind", "metric"], sort=True):
        kind, metric = str(keys[-2]), str(keys[-1])
        if ESTIMAND.get(kind) not in plan.estimands:
            continue
        found = _measured(votes[votes["item"].isin(own["item"])], own.set_index("item"), kind, plan)
        rows.append({**dict(zip(GROUP, keys, strict=False)), "kind": kind, "metric": metric, **found})
    if not rows:
        return pd.DataFrame()
    table = pd.DataFrame(rows)
    groups = table.groupby(["family", "setting"], sort=False)["difference_p"]
    table["p_corrected"] = groups.transform(_corrected) if plan.multiplicity == "holm" else table["difference_p"]
    side = np.where(table["difference"] > 0, ABOVE, BELOW)
    verdict = np.where(table["p_corrected"] < plan.level, side, LIKE)
    return table.assign(verdict=np.where(table["p_corrected"].isna(), UNTESTED, verdict))


def _corrected(p: pd.Series) -> pd.Series:
    """Holm's p over the rows of one family and setting; a row without a p counts as a test too."""
    known = p.dropna()
    return p if known.empty else pd.Series(holm(known, family_size=len(p)), index=known.index).reindex(p.index)


def _measured(votes: pd.DataFrame, answers: pd.DataFrame, kind: str, plan: Plan) -> dict[str, Any]:
    matrix = annotator_matrix(votes)
    own = answers.loc[matrix.index]
    preference = kind == "preference"
    table = judge_beside_people(
        matrix,
        own["decision"],
        plan.categories(str(votes["family"].iloc[0])),
        scores=own["delta"] if preference else None,
        clusters=own["cluster"] if plan.clusters.metric == plan.clusters.units else own["scene"],
        symmetric=preference and plan.orientation == "symmetric",
        **plan.drawn,
    )
    row: dict[str, Any] = {"n_items": int(table.loc[table["measure"] == "judge", "n"].iloc[0])}
    for line in table.itertuples():
        row |= {line.measure: line.value, f"{line.measure}_low": line.low, f"{line.measure}_high": line.high}
    row["difference_p"] = table.loc[table["measure"] == "difference", "p"].iloc[0]
    row["rho_ceiling_note"] = table.loc[table["measure"] == "rho_ceiling", "reason"].iloc[0]
    missing = table[table["reason"] != ""].groupby("reason", sort=False)["measure"].agg(", ".join)
    return {**row, "reason": "; ".join(f"{names}: {why}" for why, names in missing.items())}


def read_ceiling(table: pd.DataFrame) -> str:
    """How many automatic answers agree with the other votes as often as a person does, and how near rho is to its ceiling."""
    table = table.assign(name=row_names(table))
    parts = [
        "Each vote, and the automatic answer in its place, is compared with the majority of the other votes on that item: an "
        "answer as good as one more person would differ by zero. Verdicts and intervals are for other scenes, these models and "
        "these annotators."
    ]
    for verdict, lead in LEADS.items():
        own = table[table["verdict"] == verdict]
        if len(own):
            shown = [f"{r['name']} ({r['judge']:.0%} against {r['people']:.0%}, {_points(r)})" for _, r in own.iterrows()]
            parts.append(f"{lead}: {listing(shown, 6)}.")
    untested = table[table["verdict"] == UNTESTED]
    if len(untested):
        parts.append(f"No verdict for {listing(untested['name'].tolist(), 6)}.")
    metric = table[(table["kind"] == "preference") & table["rho"].notna()]
    if len(metric):
        shown = [f"{r['name']} {rho_and_ceiling(r, 'rho')}" for _, r in metric.iterrows()]
        parts.append(f"Rho of score and mean vote, beside what a perfect score is estimated to reach: {listing(shown, 6)}.")
    return " ".join(parts)


def _points(row: pd.Series) -> str:
    value, low, high = (f"{100 * row[name]:+.0f}" for name in ("difference", "difference_low", "difference_high"))
    return f"difference {value} points, {low} to {high}"
