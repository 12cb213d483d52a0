"""What a journal asks for beside the results: the main table, consensus labels, vote distributions, sensitivity to the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.reading import coefficient_ends, interval, main_coefficient, number, read_chance, row_names
from lookback.agreement.votes import ITEM_COLUMNS, SIDE_COLUMNS, analysis_units, consensus
from lookback.names import counted, listing
from lookback.stats.correlations import spearman_rows
from lookback.stats.intervals import measure_row, share
from lookback.stats.rankings import Ties, pair_codes, win_terms
from lookback.stats.ratings import Floats

GROUP = ["family", "kind", "setting", "dimension"]
KEYS = ["family", "setting", "dimension"]
MEASURES = {"preference": "rho of models", "rating": "rho of items"}
PEOPLE = ["coefficient", "people", "people_low", "people_high"]
ALPHA = ["prevalence", "alpha", "alpha_low", "alpha_high", "people_claim"]
ICC = ["icc_1", "icc_1_low", "icc_1_high"]
AGREES = "agreement with the judge"
Tables = dict[str, pd.DataFrame]


def measure_of(kind: str) -> str:
    """The name of the main measure of this kind of vote."""
    return MEASURES.get(kind, AGREES)


def main_table(tables: Tables, units: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension: agreement of people and of the metric or judge with them.

    People are judged by AC1 and alpha; ratings by AC2, ICC(2,1) and alpha, because near answers are no plain disagreement. `reason`
    says why a value or an interval is missing.
    """
    people = main_coefficient(tables["agreement"], plan).rename(columns={"claim": "people_claim"})
    people = people[[*KEYS, "n_items", "n_votes", "n_annotators", *PEOPLE, *ALPHA, "reason", "note"]]
    kinds = units[GROUP].drop_duplicates()
    table = people.merge(kinds, on=KEYS, how="left")
    if "reliability" in tables:
        table = table.merge(tables["reliability"][[*KEYS, *ICC]], on=KEYS, how="left")
    found = pd.DataFrame([_result(row, tables, units, plan) for row in table.itertuples()], index=table.index)
    columns = zip(table["coefficient"].str.lower(), table["reason"] + "; " + table["note"], found["reason"], strict=True)
    found["reason"] = [
        "; ".join([*(part for part in told.split("; ") if part.startswith((f"{name}: ", "alpha: "))), *filter(None, [why])])
        for name, told, why in columns
    ]
    return pd.concat([table.drop(columns=["reason", "note"]), found], axis=1)


def _result(row: Any, tables: Tables, units: pd.DataFrame, plan: Plan) -> dict[str, object]:
    """measure, value, low, high, n and reason of the metric or judge; empty where there is none."""
    none = "no metric or judge to compare with people"
    empty = {"measure": "", "value": np.nan, "low": np.nan, "high": np.nan, "n": 0, "reason": none}
    source = {"preference": ("ranking", "rho", "n_pairs"), "rating": ("rating_metric", "pooled_rho", "n")}.get(row.kind)
    if source is None:
        return {**empty, **_judged(row, units, plan)}
    name, value, n = source
    if name not in tables:
        return empty
    own = tables[name]
    own = own[(own[KEYS] == pd.Series({key: getattr(row, key) for key in KEYS})).all(axis=1)]
    if own.empty:
        return empty
    first = own.iloc[0]
    bounds = {"low": first[f"{value}_low"], "high": first[f"{value}_high"]}
    told = [first["pooled_reason"]] if row.kind == "rating" else [first["reason"], first["note"]]
    reason = f"{MEASURES[row.kind]}: {'; '.join(filter(None, told))}" if any(told) else ""
    return {"measure": MEASURES[row.kind], "value": first[value], **bounds, "n": int(first[n]), "reason": reason}


def _judged(row: Any, units: pd.DataFrame, plan: Plan) -> dict[str, object]:
    if "decision" not in units:
        return {}
    own = units[(units[KEYS] == pd.Series({key: getattr(row, key) for key in KEYS})).all(axis=1)]
    own = own[own["label"].notna() & own["decision"].notna()]
    same = own["label"] == own["decision"]
    found = measure_row(lambda: share(AGREES, same, own["cluster"], confidence=plan.confidence), AGREES)
    reason = f"{AGREES}: {found['reason']}" if found["reason"] else ""
    return {name: found[name] for name in ("measure", "value", "low", "high", "n")} | {"reason": reason}


def read_main(table: pd.DataFrame, plan: Plan) -> str:
    table = table.assign(name=row_names(table))
    judged = table[table["people"].notna()]
    people = f"Agreement of these annotators: {coefficient_ends(judged, lambda r: number(r['people']))} "
    people += f"({counted(len(table), 'row')}). "
    people += read_chance(judged.rename(columns={"people_claim": "claim"}), plan, lambda r: str(r["name"]))
    if "icc_1" in table and table["icc_1"].notna().any():
        shown = [f"{r['name']} {number(r['icc_1'])}" for _, r in table[table["icc_1"].notna()].iterrows()]
        people += f" ICC(2,1) of the ratings: {listing(shown)}."
    if judged.empty:
        people = "How far people agree is not known: no item has two votes to compare."
    known = table[table["value"].notna()]
    if known.empty:
        return people + " No metric or judge could be compared with them."
    for measure, own in known.groupby("measure", sort=False):
        shown = [f"{r['name']} {number(r['value'])} ({interval(r['low'], r['high'])}, n {r['n']})" for _, r in own.iterrows()]
        people += f" {str(measure)[0].upper()}{str(measure)[1:]}: {listing(shown)}."
    return people


def point_measure(units: pd.DataFrame, kind: str, ties: Ties, turned: bool) -> float:
    """The main measure of labelled and scored units, without an interval; NaN where it is undefined.

    `turned` counts rated pairs in both orders.
    """
    if units.empty:
        return np.nan
    if kind == "rating":
        label, score = (units[name].to_numpy(dtype=float) for name in ("label", "decision"))
        return float(_rho(np.append(label, -label), np.append(score, -score)) if turned else _rho(label, score))
    if kind == "preference":
        codes = pair_codes(units, None)
        ratios = [_ratio(*win_terms(codes, units[column].to_numpy(dtype=np.int64), ties)) for column in ("label", "decision")]
        return float(_rho(*ratios))
    return float((units["label"] == units["decision"]).mean())


def _ratio(won: Floats, played: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(won.sum(axis=0) / played.sum(axis=0))


def _rho(first: Any, second: Any) -> float:
    x, y = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    both = np.isfinite(x) & np.isfinite(y)
    return float(spearman_rows(x[both][None], y[both][None])[0]) if both.sum() > 1 else np.nan


def sensitivity_table(votes: pd.DataFrame, planned: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The main measure under the plan and under each other rule for ties and majorities, one rule changed at a time.

    `planned` are the units under the plan, with their scores, which no rule changes. Empty where a rule does not touch the kind of
    vote: a mean rating knows no ties and no majority.
    """
    columns = {}
    decision = planned.drop_duplicates("item").set_index("item")["decision"]
    for name, variant in variants(plan).items():
        same_labels = name == "as_planned" or name.startswith("ties_")  # ties are counted after the labels are made
        units = planned if same_labels else analysis_units(votes, variant)
        units = units.assign(decision=units["item"].map(decision))
        known = units[units["label"].notna() & units["decision"].notna()]
        groups = known.groupby(GROUP, sort=True)
        columns[name] = pd.Series(
            {key: point_measure(own, str(key[1]), variant.win_ratio_ties, variant.turns(str(key[0]))) for key, own in groups},
            dtype=float,
        )
    table = pd.DataFrame(columns)
    if table.empty:
        return pd.DataFrame()
    table = table.rename_axis(index=GROUP).reset_index()
    for rule in columns:
        table[rule] = table[rule].where(table["kind"].map(lambda kind, rule=rule: _touches(rule, kind)))
    return table


def _touches(rule: str, kind: str) -> bool:
    """Whether a rule of `variants` can change the labels or the measure of this kind of vote."""
    if kind == "preference" or rule.startswith(("as_planned", "min_votes")):
        return True
    return kind != "rating" and not rule.startswith(("ties", "split"))


def variants(plan: Plan) -> dict[str, Plan]:
    """The plan and its neighbours: each changes one rule."""
    majority = plan.majority
    other_rule = "plurality" if majority.rule == "majority" else "majority"
    other_split = "tie" if majority.split == "exclude" else "exclude"
    other_ties = "drop" if plan.win_ratio_ties == "half" else "half"
    found = {"as_planned": plan, f"ties_{other_ties}": plan.model_copy(update={"win_ratio_ties": other_ties})}
    if plan.aggregate == "votes":
        by_scene = plan.clusters.model_copy(update={"metric": "scene"})  # a majority belongs to no annotator
        return {**found, "majority": plan.model_copy(update={"aggregate": "majority", "clusters": by_scene})}
    changed: dict[str, dict[str, Any]] = {
        f"rule_{other_rule}": {"rule": other_rule},
        f"split_{other_split}": {"split": other_split},
        f"min_votes_{majority.min_votes + 1}": {"min_votes": majority.min_votes + 1},
    }
    found |= {name: plan.model_copy(update={"majority": majority.model_copy(update=change)}) for name, change in changed.items()}
    return {**found, "every_vote": plan.model_copy(update={"aggregate": "votes"})}


def read_sensitivity(table: pd.DataFrame) -> str:
    rules = [c for c in table if c not in (*GROUP, "as_planned") and table[c].notna().any()]
    change = (table[rules].sub(table["as_planned"], axis=0)).abs()
    if not table["as_planned"].notna().any():
        return "The main measure is undefined as planned, so its sensitivity to other rules is unknown."
    if not change.notna().any(axis=None):
        return "Under other rules for ties or majorities the main measure is undefined, so its sensitivity is unknown."
    row, rule = change.stack().idxmax()
    named = listing([rule.replace("_", " ") for rule in rules])
    if change.loc[row, rule] < 0.005:
        return f"One rule for ties or majorities changed at a time ({named}): the main measure stays the same to two digits."
    before, after = number(table.loc[row, "as_planned"]), number(table.loc[row, rule])
    what = f"{row_names(table)[row]} ({measure_of(table.loc[row, 'kind'])})"
    return (
        f"One rule for ties or majorities changed at a time ({named}). The largest change is {change.loc[row, rule]:.2f}: "
        f"{what} from {before} to {after} with {rule.replace('_', ' ')}."
    )


def consensus_table(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The label of every item under the plan's rule, with its votes, the share of the winning label, and its status."""
    table = consensus(votes, plan)
    spread = votes.assign(label=votes["label"].astype(str)).groupby("item")["label"].agg(lambda v: " ".join(sorted(v)))
    table = table.assign(votes=table["item"].map(spread), label=[("" if label is None else str(label)) for label in table["label"]])
    return table[[*ITEM_COLUMNS, *SIDE_COLUMNS, "votes", "n_votes", "label", "share", "status"]]


def read_consensus(table: pd.DataFrame) -> str:
    decided = int((table["label"] != "").sum())
    whole = int(((table["share"] == 1) & (table["n_votes"] > 1)).sum())
    return f"{decided} of {len(table)} items have a label; on {whole} with two or more votes all votes agree."


def distribution_table(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family, setting and dimension: how many votes each declared answer got, A and B as the voter had them."""
    rows = []
    for keys, own in votes.groupby(KEYS, sort=True):
        turned = own["swapped"] & (plan.families[str(keys[0])].pairs is True)
        counts = own["label"].mask(turned, 0 - own.loc[turned, "label"]).value_counts()
        declared = plan.scales[plan.families[str(keys[0])].scale].categories
        for answer, category in zip(declared, plan.categories(str(keys[0])), strict=True):
            n = int(counts.get(category, 0))
            rows.append({**dict(zip(KEYS, keys, strict=True)), "answer": answer, "votes": n, "share": n / len(own)})
    return pd.DataFrame(rows)


def read_distribution(table: pd.DataFrame, plan: Plan) -> str:
    top = table.loc[table["share"].idxmax()]
    unused = table[table["votes"] == 0]
    names, shown = row_names(table), ", A and B as the voter saw them" if plan.families[top["family"]].pairs else ""
    text = f"The most frequent answer is {top['answer']} for {names[top.name]} ({top['share']:.0%} of its votes{shown})."
    named = [f"{r['answer']} ({names[place]})" for place, r in unused.iterrows()]
    return text + (f" Nobody answered {listing(named, 6)}." if named else "")
