"""Readings in plain language: what each table supports, and what its sample cannot show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement.claims import (
    CONTRADICTED,
    DEALT,
    OPEN,
    OTHER_MODELS,
    PRIMARY,
    READINGS,
    SAMPLES,
    UNTESTED,
    claimed,
    population_words,
)
from lookback.agreement.plan import Plan
from lookback.names import counted, listing
from lookback.stats.jackknife import FEWEST_ANNOTATORS

ROUNDING = 1e-9
SETTINGS = {"T": "text", "A": "action"}


def number(value: float, digits: int = 2) -> str:
    return "none" if value is None or not np.isfinite(value) else f"{value:z.{digits}f}"


def interval(low: float, high: float) -> str:
    return "no interval" if not (np.isfinite(low) and np.isfinite(high)) else f"{low:z.2f} to {high:z.2f}"


def rho_and_ceiling(row: pd.Series, rho: str) -> str:
    """A rho and the estimated rho of a perfect metric on the same items, which is no bound for it; or why there is none."""
    ceiling = f"no ceiling ({row['rho_ceiling_note'].split(': ', 1)[-1]})"
    if np.isfinite(row["rho_ceiling"]):
        ceiling = f"estimated ceiling {number(row['rho_ceiling'])} ({interval(row['rho_ceiling_low'], row['rho_ceiling_high'])})"
    return f"{number(row[rho])} ({interval(row[f'{rho}_low'], row[f'{rho}_high'])}) with {ceiling}"


def span(low: float, high: float) -> str:
    """A range of whole numbers, or the one number."""
    return f"{int(low)}" if int(low) == int(high) else f"{int(low)} to {int(high)}"


def simulated_note(votes: pd.DataFrame) -> str:
    count = int(votes["simulated"].sum())
    which = "All" if count == len(votes) else f"{count} of {len(votes)}"
    return "" if count == 0 else f" {which} votes are simulated: these numbers say nothing about people."


def row_names(table: pd.DataFrame) -> pd.Series:
    """What a sentence calls each row: its dimension, and [family setting] as far as they tell dimensions of one name apart."""
    keys = table[["family", "setting", "dimension"]].drop_duplicates()
    twins = keys[keys["dimension"].duplicated(keep=False)]
    telling = [name for name in ("family", "setting") if twins[name].nunique() > 1]
    places = table[telling].replace({"setting": SETTINGS}).astype(str).agg(" ".join, axis=1).str.strip() if telling else ""
    shared = table["dimension"].isin(twins["dimension"]) & (places != "")
    return table["dimension"].mask(shared, table["dimension"] + " [" + places + "]")


def main_coefficient(agreement: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The agreement table with `coefficient` and `people` (with bounds): AC2 for ratings, where near answers count, else AC1."""
    rated = agreement["family"].map(lambda name: plan.families[name].kind == "rating")
    columns: dict[str, pd.Series] = {"coefficient": rated.map({True: "AC2", False: "AC1"})}
    for end in ("", "_low", "_high", "_others_low", "_others_high"):
        first, second = (agreement.get(f"{name}{end}", pd.Series(np.nan, agreement.index)) for name in ("ac1", "ac2"))
        columns[f"people{end}"] = first.mask(rated, second)
    return agreement.assign(**columns)


def coefficient_ends(table: pd.DataFrame, describe: Callable[[pd.Series], str]) -> str:
    """The smallest and the largest value of each coefficient, after `main_coefficient`."""
    parts = []
    for name, own in table.groupby("coefficient", sort=True):
        ends = dict.fromkeys(describe(own.loc[place]) for place in (own["people"].idxmin(), own["people"].idxmax()))
        parts.append(f"{name} {' to '.join(ends)}{' (ratings)' if name == 'AC2' else ''}")
    return " and ".join(parts)


def read_agreement(table: pd.DataFrame, plan: Plan) -> str:
    """Agreement of these annotators, whether it exceeds chance, where the two part, and what other annotators would do."""
    known = main_coefficient(table, plan).assign(name=row_names(table))
    known = known[known["people"].notna()]
    if known.empty:
        return "No dimension has items with two votes, so agreement among people cannot be observed."
    text = f"Agreement of these annotators: {coefficient_ends(known, _bounded('people'))}. The most frequent answer has "
    both_orders = " (each pair in both orders)" if any(plan.turns(name) for name in known["family"]) else ""
    text += f"{_percents(known['prevalence'])} of the votes{both_orders}. "
    text += read_chance(known, plan, lambda r: f"{r['name']} ({number(r['alpha'])}, {interval(r['alpha_low'], r['alpha_high'])})")
    without = int(known["people_low"].isna().sum())
    if without:
        alone = plan.clusters.agreement
        text += f" No interval for {without} of {counted(len(known), 'row')} (one {alone}, or votes that do not vary)."
    sided = known["note"].str.contains(DEALT) & (known["alpha"] > 0)
    if sided.any():
        text += (
            f" For {listing(known.loc[sided, 'name'].tolist())} {DEALT}, each side as it was shown, give such an alpha, too: "
            "annotators who favour one side agree on it without regard to the clips."
        )
    parted = known[(known["people_low"] > 0) & known["claim"].isin([OPEN, CONTRADICTED]) & ~sided]
    for name, own in parted.groupby("coefficient", sort=True):
        near = " and on near ones" if name == "AC2" else ""
        text += (
            f" {name} is above 0 and alpha is not for {listing(own['name'].tolist())}, where the most frequent answer has "
            f"{_percents(own['prevalence'])} of the votes: {name} credits agreement on the answer that most votes give "
            f"anyway{near}. Use {name} for how uniform the answers are, and alpha for whether they tell the items apart."
        )
    return text + read_others(known)


def read_chance(table: pd.DataFrame, plan: Plan, describe: Callable[[pd.Series], str]) -> str:
    """Whether these annotators agree more than by chance, by the claims of alpha."""
    parts = [
        f"{claim} for {listing([describe(row) for _, row in own.iterrows()])}" for claim, own in table.groupby("claim", sort=False)
    ]
    where = SAMPLES[plan.clusters.agreement]
    return f"Above chance (Krippendorff's alpha above 0) {where}, for these annotators: {'; '.join(parts)}."


def read_others(table: pd.DataFrame) -> str:
    """What holds for annotators like these, where there are enough of them."""
    text, known = "", table[table["people_others_low"].notna()]
    if len(known):
        text += f" For other annotators like these: {coefficient_ends(known, _bounded('people', 'people_others'))}."
    if (table["n_annotators"] < FEWEST_ANNOTATORS).any():
        text += " Where fewer than five annotators voted, nothing is said about others."
    return text


def _bounded(value: str, bounds: str = "") -> Callable[[pd.Series], str]:
    """Describes a row as 0.62 (fluency, 0.52 to 0.71)."""
    low, high = f"{bounds or value}_low", f"{bounds or value}_high"
    return lambda row: f"{number(row[value])} ({row['name']}, {interval(row[low], row[high])})"


def _percents(shares: pd.Series) -> str:
    """The smallest and the largest share, or the one share."""
    return " to ".join(dict.fromkeys(f"{share:.0%}" for share in (shares.min(), shares.max())))


def read_ranking(table: pd.DataFrame, plan: Plan) -> str:
    """Per setting: the claims after Holm, and what so few models cannot show."""
    if table.empty:
        return "No preference votes with a metric: rank agreement was not computed."
    parts = [
        "Does the metric rank the models as these annotators do? Spearman's rho of win ratios, permutation test, "
        + (f"{plan.multiplicity.capitalize()} over the declared dimensions" if plan.multiplicity == "holm" else "uncorrected")
        + f", level {plan.level:g}."
    ]
    for (family, setting), own in table.groupby(["family", "setting"], sort=False):
        tested = own[own["p_rho"].notna()]
        several = [str(family)] * (table["family"].nunique() > 1)
        place = " ".join([*several, SETTINGS.get(str(setting), str(setting))]).strip()
        if tested.empty:
            name = f"{place}: " if place else ""
            parts.append(f"{name}no dimension could be tested ({listing(own['reason'].unique().tolist(), 2)}).")
            continue
        described = claimed(
            tested,
            lambda r: f"{r['dimension']} (rho {number(r['rho'])}, {interval(r['rho_low'], r['rho_high'])})",
            OTHER_MODELS,
        )
        models = int(tested["n_models"].max())
        smallest = float(tested["smallest_p"].min())
        tests = int(tested["n_tests"].max())
        limit = min(1.0, smallest * tests) if plan.multiplicity == "holm" else smallest
        parts.append(f"{place + ', ' if place else ''}{models} models: {described}".rstrip())
        untested = tested[tested["claim"] == UNTESTED]
        parts += [f"No claim for {listing(own['dimension'].tolist())}: {why}." for why, own in untested.groupby("note", sort=True)]
        parts.append(
            f"With {models} models the smallest attainable p is {smallest:.2g}, {limit:.2g} after correction for "
            f"{counted(tests, 'test')}."
        )
    return " ".join([*parts, "More models narrow these intervals; more scenes do not."])


def read_associations(table: pd.DataFrame, plan: Plan) -> str:
    """The claims of the primary reading of score against people, and why a dimension has none."""
    primary = PRIMARY[plan.population.claims]
    value = f"{primary}_rho"
    table = table.assign(name=row_names(table))
    described = claimed(
        table,
        lambda r: f"{r['name']} ({READINGS[primary]} {number(r[value])}, {interval(r[f'{value}_low'], r[f'{value}_high'])})",
        population_words(plan),
    )
    untested = table[table["claim"] == UNTESTED]
    told = [f"{r['name']} ({READINGS[primary]} {number(r[value])}, {r[f'{primary}_reason']})" for _, r in untested.iterrows()]
    return f"{described} {f'No claim for {listing(told)}.' if told else ''}".strip()


def read_bridge(table: pd.DataFrame, plan: Plan) -> str:
    """Rank alignment, decisions and reversals pair by pair."""
    known = table[table["pooled_rho"].notna()] if "pooled_rho" in table else table
    if len(known) == 0:
        reasons = table["pooled_reason"].unique().tolist() if len(table) else ["no pair has a label and two scores"]
        return f"Metric and people cannot be compared pair by pair: {listing(reasons, 2)}."
    known = known.assign(name=row_names(known))
    reversals = ", ".join(f"{r['name']} {int(r['reversals'])} of {int(r['n'])}" for _, r in known.iterrows())
    return (
        "Does the difference of the scores rise with the labels that these annotators gave, pair by pair? "
        f"{read_associations(known, plan)} Opposite decisions outside the tie band: {reversals}. "
        "The table `ceiling` has the rho with the mean vote and its estimated ceiling. "
        f"The rho of the held-out scenes ({plan.holdout.fraction:.0%}, in the CSV) checks the direction only."
    )


def read_rating_metric(table: pd.DataFrame, plan: Plan) -> str:
    known = table[table["pooled_rho"].notna()]
    if known.empty:
        return f"Metric and ratings cannot be compared: {listing(table['pooled_reason'].unique().tolist(), 2)}."
    known = known.assign(name=row_names(known))
    ceilings = [f"{r['name']} {rho_and_ceiling(r, 'pooled_rho')}" for _, r in known.iterrows()]
    return (
        f"Does the score rise with the mean rating that these annotators gave? {read_associations(known, plan)} "
        f"Pooled rho, beside what a perfect score is estimated to reach with these ratings: {listing(ceilings)}."
    )


def judged_parts(table: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """A judges' table by family and setting, where it has these columns, with their names; else the table."""
    keys = [name for name in ("family", "setting") if name in table]
    for values, own in table.groupby(keys, sort=False) if keys else [((), table)]:
        yield dict(zip(keys, values, strict=True)), own


def each_judge(table: pd.DataFrame, read: Callable[[pd.DataFrame], str]) -> str:
    """The reading of every part of a judges' table, with its family and setting in front where there are several."""
    return " ".join(f"{_place(named)}: {read(own)}".removeprefix(": ") for named, own in judged_parts(table))


def _place(named: Mapping[str, Any]) -> str:
    return " ".join(str(named[name]) for name in ("family", "setting") if named.get(name))


def read_trigger(table: pd.DataFrame) -> str:
    return each_judge(table, _read_trigger)


def _read_trigger(table: pd.DataFrame) -> str:
    known = table[table["value"].notna()].set_index(["subset", "measure"])
    if ("overall", "recall") not in known.index:
        return "The trigger judge cannot be validated: " + listing(table["reason"].unique().tolist(), 2) + "."
    recall, accuracy = known.loc[("overall", "recall")], known.loc[("overall", "accuracy")]
    subsets = known.xs("recall", level="measure").drop(index="overall", errors="ignore")
    text = (
        f"The judge finds {recall['value']:.0%} of the clips that most of these annotators call triggered "
        f"({interval(recall['low'], recall['high'])}, n {int(recall['n'])}) and agrees with them on {accuracy['value']:.0%} of all."
    )
    if len(subsets):
        weakest = subsets["value"].idxmin()
        low = subsets.loc[weakest]
        text += f" Recall is lowest for {weakest} ({low['value']:.2f}, {interval(low['low'], low['high'])}, n {int(low['n'])})."
        wide = [str(s) for s, r in subsets.iterrows() if r["high"] - r["low"] > 0.2]
        if wide:
            text += f" Too few clips to rank the subsets: the interval is wider than 0.2 for {listing(wide)}."
    return text


def read_judgeability(table: pd.DataFrame) -> str:
    rows = table[table["measure"] == "balanced"]
    parts = [
        f"{_place(r)} {r['dimension']}: ".lstrip()
        + (
            f"balanced {number(r['value'])} ({interval(r['low'], r['high'])}, n {int(r['n'])})"
            if np.isfinite(r["value"])
            else r["reason"]
        )
        for _, r in rows.iterrows()
    ]
    return "Agreement on whether there is anything to judge, both answers weighted alike: " + "; ".join(parts) + "."


def read_vqa(table: pd.DataFrame) -> str:
    return each_judge(table, _read_vqa)


def _read_vqa(table: pd.DataFrame) -> str:
    overall = table[(table["scene"] == "all") & (table["dimension"] == "all")].iloc[0]
    if overall["n"] == 0:
        return "No question has both a human majority and an answer of the plan's judge, so there is no agreement to read."
    text = f"People's majority equals the answer on {overall['agreement']:.1%} of {int(overall['n'])} questions"
    text += f" ({interval(overall['low'], overall['high'])}); Cohen's kappa {number(overall['kappa'])}"
    text += f" ({interval(overall['kappa_low'], overall['kappa_high'])})."
    cells = table[(table["scene"] != "all") & (table["dimension"] != "all")]
    if len(cells):
        text += f" A cell rests on {span(cells['n'].min(), cells['n'].max())} questions: single cells carry no claim."
    return text


def read_win_ratios(table: pd.DataFrame, plan: Plan) -> str:
    wide = float((table["high_human"] - table["low_human"]).median())
    width = "there are too few scenes for intervals" if np.isnan(wide) else f"people's intervals are {wide:.2f} wide in the median"
    ties = "a tie counts half" if plan.win_ratio_ties == "half" else "ties are left out"
    return f"Win ratios of people's labels and of the metric over the same pairs; {ties}; {width}."


def read_disagreements(table: pd.DataFrame) -> str:
    count = int(table["reversal"].sum())
    return (
        f"{counted(len(table), 'item')} on which people and the automatic answer differ, {count} of them reversals; "
        "the clearest come first."
    )


def read_correlations(table: pd.DataFrame, plan: Plan) -> str:
    known = table[table["r"].notna()]
    if known.empty:
        return "Too few models for correlations between metrics."
    strong = known[known["p_holm"] < plan.level]
    models = span(known["n"].min(), known["n"].max())
    shown = [
        f"{r['metric_a']} with {r['metric_b']} ({r['r']:.2f})"
        for _, r in strong.sort_values("r", key=abs, ascending=False).iterrows()
    ]
    return f"Model-level Pearson correlations over {models} models. Different from zero after Holm: {listing(shown, 6)}."


def read_cells(table: pd.DataFrame) -> str:
    return f"Mean scores of {table['model_id'].nunique()} models under the four event levels; a description, the tests are apart."


def read_factors(table: pd.DataFrame, plan: Plan) -> str:
    known = table[table["p"].notna()]
    if known.empty:
        return "No metric has models with all four event cells."
    shown = [f"{r['contrast']} on {r['metric']} ({r['mean']:+.3f})" for _, r in known[known["p_holm"] < plan.level].iterrows()]
    smallest = f"{known['smallest_p'].min():.2g} to {known['smallest_p'].max():.2g}"
    return (
        f"Paired Wilcoxon over models, Holm within each metric: {listing(shown, 8)} differ from zero. "
        f"With this many models the smallest attainable p before correction is {smallest}."
    )


def read_mixed(table: pd.DataFrame) -> str:
    fixed = table[(table["kind"] == "fixed") & (table["term"] != "Intercept")]
    failed = table[table["reason"] != ""]
    shown = [f"{r['term']} on {r['metric']} ({r['estimate']:+.3f}, {interval(r['low'], r['high'])})" for _, r in fixed.iterrows()]
    text = f"Mixed model with scene and model as random effects: {listing(shown, 6)}."
    return text + (
        f" Not fitted: {listing((failed['metric'] + ' (' + failed['reason'] + ')').tolist(), 3)}." if len(failed) else ""
    )


def read_counts(table: pd.DataFrame) -> str:
    total = int(table.iloc[-1]["records"]) if "records" in table else int(table["rows"].sum())
    return f"{total} votes by kind of task; a description of the sample, no test."
