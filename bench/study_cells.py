"""What is simulated: the cells of docs/statistics.md, and how a drawn study is analysed and compared with its truth.

A study goes through `lookback.agreement.analyse.analyse` with a plan, as a user's does, and its printed tables are read. Where a
metric is compared with people, the functions that make the one table are called: the whole analysis also repeats it without every
annotator, scene and model, which would only cost time here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import study_generators as made
from lookback.agreement.analyse import analyse
from lookback.agreement.ceiling import ABOVE, BELOW, UNTESTED, ceiling_table
from lookback.agreement.comparison import ALIKE, BETTER, LIKE, THESE
from lookback.agreement.plan import Plan
from lookback.agreement.scores import attach_scores, check_scores
from lookback.agreement.tables.metric import bridge_table
from lookback.agreement.tables.ratings import rating_metric_table
from lookback.agreement.validation import check_ratings
from lookback.agreement.votes import analysis_units
from lookback.stats import bootstrap_ci
from study_generators import Truth

KEY = {"task": "asked", "benchmark": "own", "setting": "", "dimension": "realism"}
SIDES = {"supported": 1, "contradicted": -1}
CLIPS, PAIRS = "rated clips", "compared pairs"
READINGS = {
    "within": "within models, other scenes",
    "between": "between models like these",
    "pooled": "models and scenes like these",
}
ALPHA = 0.05


@dataclass(frozen=True)
class Outcome:
    """One printed estimate with its truth. `claim` is the side that is claimed (0 none), `side` the true one; NaN: not known."""

    estimate: str
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    truth: float = np.nan
    claim: float = np.nan
    side: float = np.nan


Study = Callable[[np.random.Generator], list[Outcome]]


@dataclass(frozen=True)
class Cell:
    """One simulated situation. A costly one may be given a `share` of the studies."""

    kind: str
    situation: str
    size: str
    study: Study
    share: float = 1.0

    @property
    def name(self) -> str:
        return f"{self.kind} | {self.situation} | {self.size}"


# from arrays to the files that a user would bring


def tidy(columns: dict[str, Any], votes: Any, nested: bool = False) -> pd.DataFrame:
    """Votes (..., raters) as a table; `columns` are arrays over the items, or one value for all."""
    items, raters = votes[..., 0].size, votes.shape[-1]
    names = np.char.add("rater", np.arange(items * raters if nested else raters).astype(str))
    table = {name: np.repeat(value, raters) if isinstance(value, np.ndarray) else value for name, value in columns.items()}
    annotator = names if nested else np.tile(names, items)
    return pd.DataFrame({**KEY, **table, "annotator": annotator, "label": votes.ravel().astype(str)})


def scenes_of(count: int) -> Any:
    return np.char.add("scene", np.arange(count).astype(str))


def models_of(count: int) -> Any:
    return np.char.add("model", np.arange(count).astype(str))


def clip_table(votes: Any, nested: bool = False) -> pd.DataFrame:
    """Votes on clips (models x scenes x raters)."""
    m, s = votes.shape[:2]
    scene = np.tile(scenes_of(s), m)
    return tidy({"model_a": np.repeat(models_of(m), s), "clip_a": scene, "scene": scene}, votes, nested)


def pair_table(first: Any, second: Any, votes: Any) -> pd.DataFrame:
    """Votes on pairs (pairs x scenes x raters); every other one is shown the other way round."""
    pairs, scenes = votes.shape[:2]
    turned = np.add.outer(np.arange(pairs), np.arange(scenes)) % 2 == 1
    a, b = np.where(turned, second[:, None], first[:, None]), np.where(turned, first[:, None], second[:, None])
    names, scene = models_of(int(second.max()) + 1), np.tile(scenes_of(scenes), pairs)
    sides = {"model_a": names[a.ravel()], "model_b": names[b.ravel()], "clip_a": scene, "clip_b": scene, "scene": scene}
    return tidy(sides, np.where(turned[..., None], -votes, votes))


def score_table(score: Any) -> pd.DataFrame:
    m, s = score.shape
    clip = {"model_id": np.repeat(models_of(m), s), "clip_id": np.tile(scenes_of(s), m)}
    return pd.DataFrame({"benchmark": "own", "setting": "", **clip, "metric": "score", "value": score.ravel(), "reason": ""})


def plan_of(kind: str, estimands: tuple[str, ...], raters: int, *, better: bool = True, annotators: str = "these") -> Plan:
    """The plan of a study with one dimension; with one vote an item, one vote is enough."""
    scales = {"rating": (["1", "2", "3", "4", "5"], "ordinal"), "preference": (["-1", "0", "1"], "ordinal")}
    categories, level = scales.get(kind, (["no", "yes"], "nominal"))
    family: dict[str, Any] = {"benchmark": "own", "task": "asked", "kind": kind, "scale": "answers"}
    if kind == "trigger":
        family |= {"judge": "score", "dimensions": {"realism": {}}}
    else:
        family["dimensions"] = {"realism": {"metric": "score", "higher_is_better": better}}
    return Plan.model_validate(
        {
            "scales": {"answers": {"categories": categories, "level": level}},
            "families": {"asked": family},
            "estimands": estimands,
            "majority": {"min_votes": min(2, raters)},
            "population": {"annotators": annotators},
            "resamples": 400,
        }
    )


def forms(truth: Truth, form: str, rng: np.random.Generator) -> tuple[made.Drawn, pd.DataFrame, str]:
    """A drawn study, its votes in this form, and the kind of question."""
    drawn = made.drawn_study(truth, rng)
    if form == CLIPS:
        return drawn, clip_table(made.rated(truth, drawn, rng), truth.nested), "rating"
    return drawn, pair_table(*made.compared(truth, drawn, rng)), "preference"


def with_scores(votes: pd.DataFrame, score: Any, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Checked votes, and the labels that are compared with their scores."""
    checked = check_ratings(votes, plan)
    return checked, attach_scores(analysis_units(checked, plan), check_scores(score_table(score)), plan)


# metric against people


def metric_study(truth: Truth, form: str, direction: int = 1) -> Study:
    """The three readings of one metric; with direction -1 it is entered the wrong way round."""
    side = {"within": np.sign(truth.within), "between": np.sign(truth.follows), "pooled": np.sign(truth.within + truth.follows)}

    def known() -> dict[str, float]:
        """Truths as numbers, where the reading's population has one."""
        found = {name: 0.0 for name in READINGS if side[name] == 0}
        if truth.preference or truth.careless:
            return found
        truths = made.rated_truths(truth) if form == CLIPS else made.compared_truths(truth)
        if truth.drawn:
            between = 6 / np.pi * np.arcsin(truth.follows / 2)  # Spearman's rho of two normal levels
            return {"between": float(between), "pooled": truths["pooled"], **found}
        return {"within": truths["within"], **found}

    def study(rng: np.random.Generator) -> list[Outcome]:
        drawn, votes, kind = forms(truth, form, rng)
        plan = plan_of(kind, ("rating", "bridge"), truth.raters, better=direction > 0)
        checked, units = with_scores(votes, drawn.score, plan)
        table = rating_metric_table(units, checked, plan) if form == CLIPS else bridge_table(units, plan)
        row = table.iloc[0]
        return [_reading(row, name, direction * known().get(name, np.nan), direction * side[name]) for name in READINGS]

    return study


def _reading(row: pd.Series, name: str, truth: float, side: float) -> Outcome:
    """One reading of one metric, claimed by the side of its value where its p is below the level."""
    value, low, high, p = (float(row[f"{name}_rho{part}"]) for part in ("", "_low", "_high", "_p"))
    claim = np.nan if np.isnan(p) else float(np.sign(value) * (p < ALPHA))
    if row["primary"] == name and np.isfinite(claim) and SIDES.get(row["claim"], 0) != claim:
        raise AssertionError(f"the table says {row['claim']} of rho {value} with p {p}")
    return Outcome(READINGS[name], value, low, high, truth, claim, side)


# models against each other


def models_study(truth: Truth, form: str, annotators: str = "these") -> Study:
    """Every difference of two models; for `these` annotators their own liking is part of what is true."""

    def study(rng: np.random.Generator) -> list[Outcome]:
        drawn, votes, kind = forms(truth, form, rng)
        estimand = "rating" if form == CLIPS else "ranking"
        plan = plan_of(kind, (estimand,), truth.raters, annotators=annotators)
        table = analyse(votes, None, plan)["comparisons"]
        levels = {LIKE: drawn.levels, THESE: drawn.levels + drawn.liking.mean(axis=0)}
        place = {name: k for k, name in enumerate(models_of(truth.models))}
        found = []
        for row in table[table["first"] != ""].itertuples():
            a, b = place[row.first], place[row.second]
            level = levels[row.annotators]
            claim = {BETTER: float(np.sign(row.difference)), ALIKE: 0.0}.get(row.verdict, np.nan)
            value = np.nan
            if not truth.preference and not truth.drawn:
                values = made.model_truths(replace(truth, scenes=1))[row.scale]
                value = values[a] - values[b] if truth.spread else 0.0
            found.append(
                Outcome(
                    row.scale, row.difference, row.low, row.high, value, claim, float(np.sign(np.round(level[a] - level[b], 9)))
                )
            )
        return found

    return study


# agreement among people


def _agreement(votes: Any, kind: str, truths: dict[str, float]) -> list[Outcome]:
    """The coefficients of votes on items (items x raters), six items a scene."""
    items, raters = votes.shape
    scene = scenes_of(items // 6)[np.arange(items) // 6]
    labels = votes + 1 if kind == "rating" else np.array(["no", "yes"])[votes]
    clip = np.char.add("clip", np.arange(items).astype(str))
    table = tidy({"model_a": "model0", "clip_a": clip, "scene": scene}, labels)
    row = analyse(table, None, plan_of(kind, ("agreement",), raters))["agreement"].iloc[0]
    found = []
    for name, truth in truths.items():
        column = name.lower().replace(", annotators like these", "_others")
        point = row.get(column.removesuffix("_others"), np.nan)
        claim, side = (SIDES.get(row["claim"], 0), np.sign(truth)) if name == "alpha" else (np.nan, np.nan)
        low, high = (float(row.get(f"{column}_{end}", np.nan)) for end in ("low", "high"))
        found.append(Outcome(name, float(point), low, high, truth, claim, side))
    return found


def independent_study(shares: tuple[float, ...], scenes: int, raters: int = 3) -> Study:
    """Votes that say nothing about the items."""
    kind, p = ("trigger" if len(shares) == 2 else "rating"), np.array(shares)
    truths = {"AC1": made.ac1_of(float((p**2).sum()), p), "alpha": 0.0}
    if kind == "rating":
        truths["AC2"] = made.independent_ac2(p)
    return lambda rng: _agreement(made.independent_votes(shares, 6 * scenes, raters, rng), kind, truths)


def seen_study(ac1: float, scenes: int) -> Study:
    """Three raters who see yes or no equally well."""
    accuracy = np.full(3, made.accuracy_for(ac1, 0.6))
    truths = {"AC1": ac1, "alpha": made.seen_alpha(0.6, accuracy)}
    return lambda rng: _agreement(made.seen_votes(0.6, accuracy, 6 * scenes, rng), "trigger", truths)


def new_raters_study(raters: int, scenes: int) -> Study:
    """Raters of unequal care, drawn anew: the AC1 of these, and of annotators like these."""
    like = made.seen_ac1(0.6, np.array([0.8, 0.8]))

    def study(rng: np.random.Generator) -> list[Outcome]:
        accuracy = rng.uniform(0.6, 1, raters)
        truths = {"AC1": made.seen_ac1(0.6, accuracy), "AC1, annotators like these": like}
        return _agreement(made.seen_votes(0.6, accuracy, 6 * scenes, rng), "trigger", truths)

    return study


# ceilings, judges, annotators, means


def ceiling_study(truth: Truth) -> Study:
    """The ceiling of ratings. A claim here is a perfect metric above the interval's upper end."""

    def study(rng: np.random.Generator) -> list[Outcome]:
        drawn = made.drawn_study(truth, rng)
        votes = made.rated(truth, drawn, rng)
        reached = made.spearman_of(drawn.quality.ravel(), votes.mean(axis=2).ravel())
        plan = plan_of("rating", ("rating",), truth.raters)
        checked, units = with_scores(clip_table(votes, truth.nested), drawn.score, plan)
        row = rating_metric_table(units, checked, plan).iloc[0]
        value, low, high = (float(row[f"rho_ceiling{end}"]) for end in ("", "_low", "_high"))
        above = float(reached > high) if np.isfinite(high) else np.nan
        return [Outcome("estimated ceiling", value, low, high, made.ceiling_truth(truth), above, 0.0)]

    return study


def annotators_study(truth: Truth, form: str) -> Study:
    """Who is flagged: to flag one who answers at random is right, any other is false."""

    def study(rng: np.random.Generator) -> list[Outcome]:
        drawn, votes, kind = forms(truth, form, rng)
        table = analyse(votes, None, plan_of(kind, ("annotators",), truth.raters))["annotators"].set_index("annotator")
        random = {f"rater{k}": float(careless) for k, careless in enumerate(drawn.careless)}
        return [Outcome("flagged", claim=float(bool(table.loc[name, "flags"])), side=side) for name, side in random.items()]

    return study


def judge_study(scenes: int, people: float, judge: float) -> Study:
    """A yes/no judge beside three people, six clips a scene; all see the truth with these accuracies."""

    def study(rng: np.random.Generator) -> list[Outcome]:
        every = made.seen_votes(0.6, np.array([people] * 3 + [judge]), 6 * scenes, rng).reshape(6, scenes, 4)
        votes, plan = clip_table(np.array(["no", "yes"])[every[..., :3]]), plan_of("trigger", ("trigger",), 3)
        row = ceiling_table(*with_scores(votes, every[..., 3].astype(float), plan), plan).iloc[0]
        value, low, high = (float(row[f"difference{end}"]) for end in ("", "_low", "_high"))
        claim = {ABOVE: 1.0, BELOW: -1.0, UNTESTED: np.nan}.get(row["verdict"], 0.0)
        return [Outcome("judge less people", value, low, high, np.nan if people != judge else 0.0, claim, np.sign(judge - people))]

    return study


def mean_study(scenes: int, skewed: bool) -> Study:
    """The mean of a metric over three clips a scene, whose scenes differ by a normal or a skewed (exponential) amount."""

    def study(rng: np.random.Generator) -> list[Outcome]:
        scene = np.repeat(np.arange(scenes), 3)
        level = rng.exponential(size=scenes) - 1 if skewed else rng.normal(size=scenes)
        found = bootstrap_ci(level[scene] + 0.5 * rng.normal(size=len(scene)), clusters=scene, resamples=1000)
        low, high = (np.nan if end is None else end for end in (found.low, found.high))
        return [Outcome("mean of a metric", found.value, low, high, 0.0)]

    return study


# the cells


def size(truth: Truth) -> str:
    return f"{truth.models} models x {truth.scenes} scenes x {truth.raters} raters"


def _metric(situation: str, truth: Truth, direction: int = 1, share: float = 1.0) -> Iterator[Cell]:
    for form in (CLIPS, PAIRS):
        study = metric_study(truth, form, direction)
        yield Cell(f"metric against people, {form}", situation, size(truth), study, share)


def _metric_cells() -> Iterator[Cell]:
    plain = Truth(drawn=True, score_spread=0.0)
    yield from _metric("models equal, unrelated metric", replace(plain, spread=0.0))
    for spread in (0.6, 1.0):
        for scenes in (12, 30):
            truth = replace(plain, spread=spread, score_spread=spread, scenes=scenes)
            yield from _metric(f"the metric only recognises the model, sd {spread}", truth)
    for liking in (0.3, 0.6):
        truth = replace(plain, score_spread=0.6, preference=liking)
        yield from _metric(f"the same, sd 0.6, raters with preferences, sd {liking}", truth)
    for scenes in (2, 3, 4, 5):
        yield from _metric("the same, sd 0.6, few scenes", replace(plain, score_spread=0.6, scenes=scenes))
    good = Truth(within=0.5, follows=1.0, score_spread=0.6)
    yield from _metric("true metric, wrong direction", good, -1)
    yield from _metric("true metric, one careless rater", replace(good, careless=1))
    for scenes in (2, 3, 4, 5):
        yield from _metric("true metric, few scenes", replace(good, scenes=scenes))
    sizes = ((6, 6, 1), (6, 12, 1), (6, 12, 3), (8, 20, 3), (10, 40, 5))
    for m, s, r in sizes:
        yield from _metric("true metric", replace(good, models=m, scenes=s, raters=r), share=0.4 if s == 40 else 1.0)
    for m, s, r in ((6, 12, 3), (10, 40, 5)):
        truth = Truth(m, s, r, drawn=True, within=0.5, follows=0.8, score_spread=0.6)
        yield from _metric("true metric, models drawn anew", truth, share=0.4 if s == 40 else 1.0)


def _model_cells() -> Iterator[Cell]:
    def cell(situation: str, truth: Truth, form: str = PAIRS, annotators: str = "these", share: float = 1.0) -> Cell:
        return Cell(f"models, {form}", situation, size(truth), models_study(truth, form, annotators), share)

    equal = Truth(spread=0.0)
    for m, s in ((6, 6), (6, 12), (8, 8), (8, 12), (10, 6), (10, 12)):
        yield cell("models equal", replace(equal, models=m, scenes=s))
    yield cell("models equal", replace(equal, raters=1))
    for s in (2, 3, 4, 5):
        yield cell("models equal, few scenes", replace(equal, scenes=s))
    for m, s in ((6, 12), (10, 12)):
        yield cell("models equal", replace(equal, models=m, scenes=s), CLIPS)
    for liking in (0.3, 0.6):
        for form in (PAIRS, CLIPS):
            liked = replace(equal, preference=liking, raters=5)
            yield cell(f"raters with preferences, sd {liking}; of these annotators", liked, form)
            for raters in (5, 8):
                like = replace(liked, raters=raters)
                yield cell(f"raters with preferences, sd {liking}; of annotators like these", like, form, "like_these")
    for form in (PAIRS, CLIPS):
        yield cell("models differ, sd 0.6", Truth(), form)
        yield cell("models differ, sd 0.6", Truth(10, 40, 5), form, share=0.3)
        yield cell("models differ, one careless rater", Truth(careless=1), form)


def _agreement_cells() -> Iterator[Cell]:
    kind = "agreement among people"
    drawn = {
        "independent votes, 95/5": (0.95, 0.05),
        "independent votes, 90/10": (0.9, 0.1),
        "independent votes, 5 levels": (0.05, 0.2, 0.5, 0.2, 0.05),
        "independent votes, 5 levels, most at the top": (0.02, 0.03, 0.1, 0.25, 0.6),
    }
    for situation, shares in drawn.items():
        yield Cell(kind, situation, "12 scenes x 3 raters", independent_study(shares, 12))
    for ac1 in (0.72, 0.94):
        for scenes in (2, 3, 5, 10, 20, 40):
            yield Cell(kind, f"true AC1 {ac1}", f"{scenes} scenes x 3 raters", seen_study(ac1, scenes))
    for raters in (5, 8):
        for scenes in (12, 40):
            yield Cell(
                kind, "raters of unequal care, drawn anew", f"{scenes} scenes x {raters} raters", new_raters_study(raters, scenes)
            )


def _other_cells() -> Iterator[Cell]:
    for nested in (False, True):
        for bias in (0.0, 0.4, 0.8):
            truth = Truth(noise=1.2, bias=bias, nested=nested, perfect=True)
            who = "other raters for every clip" if nested else "the same raters for every clip"
            yield Cell("ceiling of ratings", f"{who}, bias sd {bias}", size(truth), ceiling_study(truth))
    for form in (CLIPS, PAIRS):
        for raters, careless in ((3, 0), (5, 0), (3, 1), (5, 1)):
            truth, situation = Truth(raters=raters, careless=careless), "one answers at random" if careless else "all equal"
            yield Cell(f"annotators, {form}", situation, size(truth), annotators_study(truth, form))
    for scenes in (3, 5, 12, 40):
        yield Cell("judge beside people", "as good as a person", f"{scenes} scenes x 3 raters", judge_study(scenes, 0.85, 0.85))
    for scenes in (12, 40):
        yield Cell("judge beside people", "worse than a person", f"{scenes} scenes x 3 raters", judge_study(scenes, 0.85, 0.7))
    for skewed in (False, True):
        for scenes in (2, 3, 4, 5, 8, 12):
            situation = "skewed scenes" if skewed else "normal scenes"
            yield Cell("mean of a metric", situation, f"{scenes} scenes", mean_study(scenes, skewed))


CELLS = (*_metric_cells(), *_model_cells(), *_agreement_cells(), *_other_cells())
