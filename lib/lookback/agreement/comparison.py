"""Models compared by people's votes alone: a ranking with ties, and every difference with its interval.

One scale makes the verdicts: log strengths from every vote for preferences, mean ratings for ratings of clips. Win ratios of the
labels are shown with the strengths and decide only where strengths do not exist.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.reading import row_names
from lookback.agreement.tables.metric import GROUP
from lookback.errors import NotScorable
from lookback.names import counted, listing
from lookback.stats import bradley_terry, ranking_with_ties, win_ratios
from lookback.stats.comparisons import differences, estimated_win_ratios, mean_ratings
from lookback.stats.jackknife import FEWEST_ANNOTATORS, Estimates

RATIO, STRENGTH, RATING = "win ratio", "log strength", "mean rating"
BETTER, ALIKE, UNTESTED, BESIDE = "first is better", "not told apart", "not tested", "second scale: no verdict"
THESE, LIKE = "these", "like these"
NUMBERS = ("difference", "se", "low", "high", "p", "p_holm")


def model_tables(units: pd.DataFrame, votes: pd.DataFrame, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(models, comparisons) per family, setting and dimension of preferences and of ratings of single clips."""
    asked = {"preference": "ranking" in plan.estimands, "rating": "rating" in plan.estimands}
    cast = votes[votes["kind"].map(asked).eq(True) & ((votes["kind"] == "preference") | (votes["clip_b"] == ""))]
    parts = []
    for keys, own in cast.groupby(GROUP, sort=True):
        labelled = units[units["label"].notna() & (units[GROUP] == list(keys)).all(axis=1)]
        one = _preferences if own["kind"].iloc[0] == "preference" else _ratings
        named = dict(zip(GROUP, keys, strict=True))
        parts.append([table.assign(**named) for table in one(labelled, own, plan)])
    models, comparisons = ([table for table in tables if len(table)] for tables in zip(*parts, strict=True)) if parts else ([], [])
    return _joined(models), _joined(comparisons)


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    if not parts:
        return pd.DataFrame()
    table = pd.concat(parts, ignore_index=True)
    return table[[*GROUP, *[c for c in table if c not in GROUP]]]


def _preferences(labelled: pd.DataFrame, votes: pd.DataFrame, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    pairs, votes = labelled.astype({"label": int}), votes.astype({"label": int})
    sample = _annotators(votes, plan)

    def strengths() -> Estimates:
        fit = bradley_terry(votes, cluster=plan.clusters.metric, annotator=sample, confidence=plan.confidence)
        assert fit.estimates is not None  # there is a cluster
        return fit.estimates

    ways = {STRENGTH: strengths, RATIO: lambda: estimated_win_ratios(pairs, "cluster", ties=plan.win_ratio_ties)}
    models, comparisons = _compared(ways, votes, plan, sample)
    columns = ["n", "win_ratio", "low", "high"]
    ratios = pd.DataFrame(columns=["model", *columns])
    if len(pairs):
        ratios = win_ratios(pairs, ties=plan.win_ratio_ties, cluster="cluster", **plan.drawn)[["model", *columns]]
    ratios = ratios.rename(columns={"n": "win_ratio_n", "low": "win_ratio_low", "high": "win_ratio_high"})
    models = models.merge(ratios, on="model", how="left").astype({"win_ratio": float})
    models = models.assign(win_ratio_n=models["win_ratio_n"].astype(float).fillna(0).astype(int))
    if models["scale"].iloc[0] == RATIO:
        models = models.assign(n=models["win_ratio_n"], low=models["win_ratio_low"], high=models["win_ratio_high"])  # inside 0 to 1
        return models, comparisons
    items = votes.drop_duplicates("item")  # pairs without a label enter, too
    return models.assign(n=models["model"].map(pd.concat([items["model_a"], items["model_b"]]).value_counts())), comparisons


def _ratings(labelled: pd.DataFrame, votes: pd.DataFrame, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of the items with as many votes as the plan asks for."""
    kept = votes[votes["item"].isin(labelled["item"])]
    sample = _annotators(kept, plan)
    models, comparisons = _compared(
        {RATING: lambda: mean_ratings(kept, plan.clusters.units, annotator=sample)}, votes, plan, sample
    )
    counts = labelled["model_a"].value_counts()
    return models.assign(n=models["model"].map(counts).fillna(0).astype(int)), comparisons


def _annotators(votes: pd.DataFrame, plan: Plan) -> str | None:
    """The column of the annotators where they are a sample too: the plan says so, and they are enough to speak for others."""
    wanted = plan.population.annotators == "like_these" and plan.clusters.metric != "annotator"
    return "annotator" if wanted and votes["annotator"].nunique() >= FEWEST_ANNOTATORS else None


def _compared(
    ways: dict[str, Callable[[], Estimates]], votes: pd.DataFrame, plan: Plan, sample: str | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Models and comparisons; the first scale that exists makes the verdicts."""
    known: dict[str, Estimates] = {}
    parts, missing = [], {}
    for scale, way in ways.items():
        try:
            known[scale] = way()
            table = differences(known[scale], plan.confidence)
        except NotScorable as reason:
            missing[scale] = str(reason)
            table = pd.DataFrame([{"first": "", "second": "", **dict.fromkeys(NUMBERS, np.nan), "reason": str(reason)}])
        first = len(known) <= 1
        parts.append(_verdicts(table, plan, first).assign(scale=scale, annotators=_sampled(scale, plan, sample)))
    comparisons = pd.concat(parts, ignore_index=True)
    comparisons["reason"] = comparisons["reason"].str.replace("cluster", plan.clusters.metric)
    comparisons = comparisons[["scale", "first", "second", *NUMBERS, "verdict", "annotators", "reason"]]
    reasons = [f"no {scale}: {why}" for scale, why in missing.items() if scale not in known]
    if not known:
        models = pd.unique(pd.concat([votes["model_a"], votes["model_b"]]))
        values = pd.DataFrame({"model": models[models != ""]}).assign(value=np.nan, low=np.nan, high=np.nan)
        scale, tested = next(iter(ways)), pd.DataFrame(columns=["first", "second", "p_holm"])
    else:
        scale, estimates = next(iter(known.items()))
        values = estimates.table(plan.confidence)[["model", "value", "low", "high"]]
        tested = comparisons[comparisons["scale"] == scale]
        reasons += [why for why in tested["reason"].unique() if why]
    places = ranking_with_ties(values.set_index("model")["value"], tested, alpha=plan.level).drop(columns="value")
    told = {"scale": scale, "annotators": _sampled(scale, plan, sample), "reason": "; ".join(reasons)}
    return values.merge(places, on="model", how="right").assign(**told), comparisons


def _verdicts(table: pd.DataFrame, plan: Plan, first: bool) -> pd.DataFrame:
    corrected = table["p_holm"] if plan.multiplicity == "holm" else table["p"]
    verdict = np.where(corrected < plan.level, BETTER, ALIKE) if first else BESIDE
    return table.assign(p_holm=corrected, verdict=np.where(corrected.isna(), UNTESTED, verdict))


def _sampled(scale: str, plan: Plan, sample: str | None) -> str:
    """A label belongs to all annotators of its item: win ratios are about these annotators, unless annotators are the clusters."""
    alone = plan.clusters.metric == "annotator" and scale != RATING
    return LIKE if alone or (sample and scale != RATIO) else THESE


def seen_by(annotators: str, scale: str, plan: Plan) -> str:
    """For whom a verdict holds."""
    cluster = plan.clusters.units if scale == RATING else plan.clusters.metric
    where = {"scene": "in scenes like these", "item": "on items like these", "annotator": "in these scenes"}[cluster]
    return f"{where}, as {'annotators like these would see' if annotators == LIKE else 'these annotators see'} them"


def read_models(table: pd.DataFrame, plan: Plan) -> str:
    """Per dimension: how many pairs of models are told apart, on which scale and for whom, and which models may be best."""
    named = table.assign(name=row_names(table))
    corrected = "Holm" if plan.multiplicity == "holm" else "uncorrected"
    text = f"Models that share a letter are not told apart (all pairs of models tested, {corrected}, level {plan.level:g})."
    bare: dict[str, list[str]] = {}
    without: list[str] = []
    dimensions = ["family", "setting", "dimension"]
    for (scale, annotators), part in named.groupby(["scale", "annotators"], sort=False):
        found: list[str] = []
        alike: list[str] = []
        for _, own in part.groupby(dimensions, sort=False):
            name, m = own["name"].iloc[0], len(own)
            if m == 1 or (own["low"].isna().all() and own["letters"].eq("a").all()):
                bare.setdefault(own["reason"].iloc[0], []).append(name)
                continue
            best = own.loc[own["place_low"] == 1, "model"].astype(str).tolist()
            apart = f"{int((m - own['place_high']).sum())} of {m * (m - 1) // 2} pairs of models"
            if len(best) == m:
                alike.append(name)
            else:
                found.append(f"{name} ({apart}; may be best: {listing(best, 3)})")
            if scale == RATIO:
                without.append(f"{name} ({own['reason'].iloc[0].removeprefix(f'no {STRENGTH}: ').split('; ')[0]})")
        if found or alike:
            told = [listing(found, 6)] * bool(found) + [f"no pair of models for {listing(alike, 6)}"] * bool(alike)
            text += f" Told apart by {scale}, {seen_by(str(annotators), str(scale), plan)}: {'; '.join(told)}."
    if without:
        text += f" No strengths, so letters by win ratio: {listing(without, 2)}."
    text += "".join(f" Nothing is told apart for {listing(names, 6)}: {why}." for why, names in bare.items())
    return text + _too_few_annotators(table, plan)


def _too_few_annotators(table: pd.DataFrame, plan: Plan) -> str:
    these = table[table["annotators"] == THESE]
    if plan.population.annotators == "these" or these.empty:
        return ""
    why = f"fewer than {FEWEST_ANNOTATORS} cannot speak for others" if (these["scale"] != RATIO).any() else "win ratios cannot tell"
    return f" The plan asks about annotators like these, but {why}: the verdicts are about these annotators alone."


def comparison_methods(table: pd.DataFrame, plan: Plan) -> str:
    """How the models were compared, for the methods section."""
    scales = {STRENGTH: "Davidson log strengths of every vote", RATIO: "win ratios of the labels", RATING: "mean ratings"}
    used = " and ".join(words for scale, words in scales.items() if table["scale"].eq(scale).any())
    drawn = "scene, annotator, and cell of both" if table["annotators"].eq(LIKE).any() else plan.clusters.metric
    corrected = "Holm's correction" if plan.multiplicity == "holm" else "no correction"
    return f"Models are compared by {used}; errors come from leaving out one {drawn} at a time, with {corrected} over all pairs."


def read_comparisons(table: pd.DataFrame, plan: Plan) -> str:
    parts = []
    for (scale, annotators), own in table[table["verdict"] != BESIDE].groupby(["scale", "annotators"], sort=False):
        tested = own[own["verdict"] != UNTESTED]
        if len(tested):
            apart = int((tested["verdict"] == BETTER).sum())
            whom = seen_by(str(annotators), str(scale), plan)
            parts.append(f"by {scale} the first model is better in {apart} of {counted(len(tested), 'tested pair')}, {whom}")
    text = f"All pairs of models: {'; '.join(parts) or 'none could be tested'}. "
    text += f"The {plan.confidence:.0%} intervals are of single comparisons"
    text += "; verdicts are corrected for all pairs of a ranking." if plan.multiplicity == "holm" else ", and so are the verdicts."
    if table["verdict"].eq(BESIDE).any():
        text += " Win ratios of the labels are listed too and decide nothing."
    untested = int((table["verdict"] == UNTESTED).sum())
    return text + (f" {counted(untested, 'row')} could not be tested; each says why." if untested else "")
