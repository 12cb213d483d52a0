"""The quality of each annotator: checks against the others, who fails them, and whom the plan leaves out.

A flag needs a clear difference: all checks of a family together flag somebody in at most 5 % of studies whose annotators are alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.votes import annotator_matrix, both_orders, clusters_of
from lookback.errors import NotScorable, UsageError
from lookback.names import counted, listing
from lookback.stats import Estimate, dawid_skene, gwet_ac1, leave_one_annotator_out
from lookback.stats.annotator_checks import (
    Statistic,
    against_the_others,
    answers_of_others,
    fewer_right,
    fisher_z,
    largest_share,
    mean_of_others,
    rank_terms,
    seconds_taken,
    share_of,
    unlike_the_others,
)
from lookback.stats.ratings import Flags, Floats

FALSE_FLAGS = 0.05
WORDS = {
    "agreement": "agrees less with the others",
    "side": "prefers the first side more or less often",
    "same_answer": "gives one answer more often",
    "speed": "takes less than half the others' time",
    "gold": "has fewer gold items right",
}


def annotators_table(votes: pd.DataFrame, plan: Plan, gold: pd.DataFrame | None = None) -> pd.DataFrame:
    """Per family and annotator: what each check found, and `flags`, the checks that clearly fail.

    agreement: how often an answer equals the majority of the others; of ratings rank_agreement, Spearman's rho with the mean of the
    others. first_side: how often the clip shown first (A) was preferred. top_answer: the share of the most used answer. seconds:
    the geometric mean time of an answer. Each `_others` is the mean of the others. Beside them: AC1 without the annotator,
    Dawid-Skene accuracy, circular triads.
    """
    taken = pd.Series(seconds_taken(votes["annotator"], votes["time"]), votes.index)
    parts = []
    for family, own in votes.groupby("family", sort=True):
        table = _left_out(own, plan, str(family))
        checked, tests = _checks(own.reset_index(drop=True), taken[own.index].to_numpy(), plan, str(family))
        table = table.merge(checked, on="annotator")
        if gold is not None:
            counts = gold.groupby("annotator")["right"].agg(["sum", "size"]).reindex(table["annotator"], fill_value=0)
            table["gold_right"], table["gold_asked"] = counts["sum"].to_numpy(dtype=int), counts["size"].to_numpy(dtype=int)
            tests["gold"] = partial(fewer_right, table["gold_right"].to_numpy(), table["gold_asked"].to_numpy())
        failed = unlike_the_others(tests, len(table), FALSE_FLAGS / (len(tests) * len(table)))
        cycles = circular_triads(own) if plan.families[str(family)].kind == "preference" else pd.Series(dtype=int)
        table["circular_triads"] = table["annotator"].map(cycles).fillna(0).astype(int)
        parts.append(table.assign(family=family, flags=[", ".join(names) for names in failed]))
    result = pd.concat(parts, ignore_index=True)
    return result[["family", *[c for c in result if c not in ("family", "flags", "reason")], "flags", "reason"]]


def _left_out(votes: pd.DataFrame, plan: Plan, family: str) -> pd.DataFrame:
    """Agreement with the majority of the others, AC1 without each annotator, and Dawid-Skene accuracy."""
    categories, matrix, turned = plan.categories(family), annotator_matrix(votes), plan.turns(family)
    try:
        statistic = _symmetric_ac1 if turned else gwet_ac1
        clusters = clusters_of(votes, matrix.index, plan.clusters.agreement)
        table = leave_one_annotator_out(matrix, categories, statistic=statistic, clusters=clusters, confidence=plan.confidence)
        table = table.rename(columns={"without": "ac1_without", "change": "ac1_change"})
        fit = dawid_skene(both_orders(matrix) if turned else matrix, categories)
        quality = fit.accuracy[["annotator", "accuracy"]].rename(columns={"accuracy": "dawid_skene"})
        table = table.merge(quality, on="annotator")
        if not fit.converged:
            unsettled = f"dawid_skene: no maximum after {fit.iterations} steps"
            table["reason"] = table["reason"].map(lambda text: "; ".join(filter(None, (text, unsettled))))
        return table
    except NotScorable as missing:
        counts = votes["annotator"].value_counts().sort_index()
        table = pd.DataFrame({"annotator": counts.index, "n_votes": counts.to_numpy(), "n_compared": 0})
        empty = dict.fromkeys(("agreement", "low", "high", "ac1_without", "ac1_change", "dawid_skene"), np.nan)
        return table.assign(**empty, reason=str(missing))


def _symmetric_ac1(labels: np.ndarray, categories: list[Any]) -> Estimate:
    return gwet_ac1(both_orders(pd.DataFrame(labels)), categories)


Tests = dict[str, Callable[[Flags], Floats]]


def _checks(votes: pd.DataFrame, taken: Floats, plan: Plan, family: str) -> tuple[pd.DataFrame, Tests]:
    """Per annotator (by name): values with bounds and the others' means; and the test of each check."""
    categories, paired = plan.categories(family), plan.families[family].pairs is True
    who, names = pd.factorize(votes["annotator"], sort=True)
    items = pd.factorize(votes["item"])[0]
    clusters = pd.factorize(votes["item" if plan.clusters.agreement == "item" else "scene"])[0]
    as_shown = votes["label"].mask(votes["swapped"], 0 - votes["label"]) if paired else votes["label"]
    codes, shown = (pd.Categorical(labels, categories=categories).codes.astype(int) for labels in (votes["label"], as_shown))
    one, everybody = np.ones(len(votes)), np.ones(len(names), dtype=bool)
    parts, tests = [pd.DataFrame({"annotator": names})], {}

    def check(name: str, kept: Flags, terms: Floats, statistic: Statistic, p: str, margin: float = 0.0) -> pd.DataFrame:
        """Sets the annotators of the votes `kept` against each other; those without such a vote have empty cells."""
        if not kept.any():
            return pd.DataFrame()
        present, own = np.unique(who[kept], return_inverse=True)
        groups = np.unique(clusters[kept], return_inverse=True)[1]

        def compared(pool: Flags) -> pd.DataFrame:
            found = against_the_others(terms, own, groups, statistic, confidence=plan.confidence, margin=margin, pool=pool[present])
            return found.set_index(present).reindex(range(len(names)))

        tests[name] = lambda pool: compared(pool)[p].to_numpy()
        return compared(everybody)

    if plan.families[family].kind == "rating":
        numbers = votes["label"].to_numpy(dtype=float)
        others = mean_of_others(numbers, items)
        kept = np.isfinite(others)
        found = check("agreement", kept, rank_terms(numbers[kept], others[kept], who[kept]), fisher_z, "p_below")
        parts.append(_columns("rank_agreement", found, np.tanh))
    else:
        said = answers_of_others(codes, items, len(categories))
        check("agreement", said >= 0, np.column_stack([one, said == codes])[said >= 0], share_of, "p_below")
    if paired:
        signs = as_shown.to_numpy(dtype=float)
        found = check("side", signs != 0, np.column_stack([one, signs > 0])[signs != 0], share_of, "p_either")
        parts.append(_columns("first_side", found))
    found = check("same_answer", one > 0, np.eye(len(categories))[shown], largest_share, "p_above")
    parts.append(_columns("top_answer", found))
    kept = np.isfinite(taken)
    found = check("speed", kept, np.column_stack([one, np.log(taken)])[kept], share_of, "p_below", margin=np.log(2))
    parts.append(_columns("seconds", found, np.exp))
    return pd.concat(parts, axis=1), tests


def _columns(name: str, found: pd.DataFrame, back: Callable[[pd.Series], pd.Series] = pd.Series) -> pd.DataFrame:
    """value, bounds and the others' mean as columns of this name; `back` undoes the scale of the test."""
    if found.empty:
        return found
    ends = {"value": name, "low": f"{name}_low", "high": f"{name}_high", "others": f"{name}_others"}
    return pd.DataFrame({heading: back(found[source]) for source, heading in ends.items()})


def circular_triads(votes: pd.DataFrame) -> pd.Series:
    """Per annotator, how often A beats B, B beats C and C beats A in one scene and dimension (Kendall & Babington Smith 1940)."""
    judged = votes[votes["label"] != 0]
    won = judged["label"] == 1
    group = ["annotator", "setting", "dimension", "scene"]
    edges = judged[group].assign(
        winner=judged["model_a"].where(won, judged["model_b"]), loser=judged["model_b"].where(won, judged["model_a"])
    )
    edges = edges.drop_duplicates()
    first = edges.rename(columns={"winner": "x", "loser": "y"})
    second = edges.rename(columns={"winner": "y", "loser": "z"})
    third = edges.rename(columns={"winner": "z", "loser": "x"})
    cycles = first.merge(second, on=[*group, "y"]).merge(third, on=[*group, "x", "z"])
    return (cycles.groupby("annotator").size() // 3).astype(int)


def _words(flags: Any) -> str:
    return ", ".join(WORDS[check] for check in str(flags).split(", "))


def read_annotators(table: pd.DataFrame) -> str:
    mean = table["rank_agreement"].dropna() if "rank_agreement" in table else table["agreement"].head(0)
    same = table["agreement"].drop(mean.index).dropna()
    parts = []
    if len(same):
        parts.append(f"Annotators agree with the majority of the others on {same.min():.0%} to {same.max():.0%} of shared items.")
    if len(mean):
        parts.append(
            f"Ratings of single annotators correlate with the mean of the others by rho {mean.min():.2f} to {mean.max():.2f}."
        )
    if not parts:
        return "No annotator shares items with others, so none can be checked."
    flagged = table[table["flags"] != ""]
    named = [f"{row.annotator} ({row.family}: {_words(row.flags)})" for row in flagged.itertuples()]
    if named:
        parts.append(f"Clearly unlike the others: {listing(named)}.")
    elif table.filter(regex="high$").notna().any(axis=None):
        parts.append("Nobody is clearly unlike the others.")
    else:
        parts.append("Too few scenes to say who is unlike the others.")
    cycles = int(table["circular_triads"].sum())
    return " ".join(
        [*parts, *([f"{counted(cycles, 'circular triad')} in all (A over B, B over C, C over A in one scene)."] if cycles else [])]
    )


def left_out(votes: pd.DataFrame, quality: pd.DataFrame, gold: pd.DataFrame | None, plan: Plan) -> pd.DataFrame:
    """The votes of annotators whom the plan leaves out, with `why`: by name and gold from every family, by flags from their own."""
    rule = plan.annotators
    why: dict[tuple[str, str], str] = {}
    if rule.flags:
        for row in quality.itertuples():
            failed = [check for check in str(row.flags).split(", ") if check in rule.flags]
            if failed:
                why[str(row.family), str(row.annotator)] = _words(", ".join(failed))
    everywhere = dict.fromkeys(rule.exclude, "named in the plan")
    if rule.gold is not None:
        if gold is None:
            raise UsageError("annotators.gold: there are no gold answers; name their file in the plan under files: gold")
        for name, right in gold.groupby("annotator")["right"]:
            if right.mean() < rule.gold:
                everywhere.setdefault(str(name), f"{int(right.sum())} of {len(right)} gold items right, {rule.gold:g} asked for")
    keys = zip(votes["family"], votes["annotator"], strict=True)
    reasons = [everywhere.get(who, why.get((family, who), "")) for family, who in keys]
    return votes.assign(why=reasons).loc[[reason != "" for reason in reasons]]
