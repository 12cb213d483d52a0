"""The main measure without one annotator, one scene or one model: does a conclusion hang on one of them?"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.reading import number, row_names
from lookback.agreement.tables.study import GROUP, measure_of, point_measure
from lookback.agreement.votes import analysis_units
from lookback.names import listing


def influence_table(votes: pd.DataFrame, planned: pd.DataFrame, quality: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension: every flagged annotator, and the annotator, scene and model that change the measure most.

    `planned` are the units with their scores, `quality` the table of the annotators. Columns: left_out (annotator, scene or model),
    name, flags, as_planned, without, change, n_planned and n (labels that enter; without an annotator more votes are split).
    """
    decisions = planned.drop_duplicates("item").set_index("item")["decision"]
    flags = quality.set_index(["family", "annotator"])["flags"].to_dict() if len(quality) else {}
    rows = []
    for key, own in planned.groupby(GROUP, sort=True):
        family, kind = str(key[0]), str(key[1])
        before, n_before = _measure(own, kind, family, plan)
        cast = votes[votes["item"].isin(own["item"])]
        found = [
            (what, name, flags.get((family, name), "") if what == "annotator" else "", *_measure(units, kind, family, plan))
            for what, name, units in _left_out(own, cast, decisions, plan)
        ]
        table = pd.DataFrame(found, columns=["left_out", "name", "flags", "without", "n"]).assign(
            as_planned=before, n_planned=n_before
        )
        table = table.assign(change=table["without"] - before).dropna(subset="change")
        if table.empty:
            continue
        most = table["change"].abs().groupby(table["left_out"]).idxmax()
        shown = table[table.index.isin(most) | (table["flags"] != "")]
        rows.append(shown.assign(**dict(zip(GROUP, key, strict=True))))
    if not rows:
        return pd.DataFrame()
    return pd.concat(rows, ignore_index=True)[
        [*GROUP, "left_out", "name", "flags", "as_planned", "without", "change", "n_planned", "n"]
    ]


def _measure(units: pd.DataFrame, kind: str, family: str, plan: Plan) -> tuple[float, int]:
    """The main measure, and how many labels enter it."""
    known = units[units["label"].notna() & units["decision"].notna()]
    return point_measure(known, kind, plan.win_ratio_ties, plan.turns(family)), len(known)


def _left_out(own: pd.DataFrame, votes: pd.DataFrame, decisions: pd.Series, plan: Plan) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(what is left out, its name, the units that remain); the labels are made anew without an annotator."""
    people = sorted(votes["annotator"].unique())
    for name in people if len(people) > 1 else []:
        units = analysis_units(votes[votes["annotator"] != name], plan)
        yield "annotator", name, units.assign(decision=units["item"].map(decisions))
    for name in sorted(own["scene"].unique()):
        yield "scene", name, own[own["scene"] != name]
    for name in sorted({*own["model_a"], *own["model_b"]} - {""}):
        yield "model", name, own[(own["model_a"] != name) & (own["model_b"] != name)]


def read_influence(table: pd.DataFrame) -> str:
    row = table.loc[table["change"].abs().idxmax()]
    table = table.assign(words=row_names(table))
    text = f"Leaving out one annotator, scene or model changes the main measure by up to {abs(row['change']):.2f}: "
    text += f"{_words(table.loc[row.name])} without {row['left_out']} {row['name']}."
    if abs(row["change"]) < 0.005:
        text = "Without any one annotator, scene or model the main measure stays the same to two digits."
    for name, own in table[table["flags"] != ""].groupby("name", sort=True):
        text += f" Without {name}, who is clearly unlike the others: {listing([_words(r) for _, r in own.iterrows()], 4)}."
    return text


def _words(row: pd.Series) -> str:
    before, after = (f"{number(row[value])} (n {row[n]})" for value, n in (("as_planned", "n_planned"), ("without", "n")))
    return f"{row['words']} ({measure_of(row['kind'])}) from {before} to {after}"
