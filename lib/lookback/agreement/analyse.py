"""The whole analysis: from votes, scores and a declared plan to the papers' tables with their readings.

Every table carries `attrs`: title, unit, reading (what the table supports and cannot show), footnote (with the plan's hash),
plan_hash, and the plan's confidence and alpha. The table "readings" lists them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd

from lookback.agreement import ceiling, comparison, overview, reading
from lookback.agreement.frozen import Standing
from lookback.agreement.joins import check_joins, dropped_words, excluded_words, exclusion_table, join_table, read_joins
from lookback.agreement.looks import NOT_COUNTED
from lookback.agreement.plan import Plan
from lookback.agreement.scores import attach_scores, check_scores
from lookback.agreement.tables import annotators, design, human, influence, metric, models, ratings, study
from lookback.agreement.validation import check_ratings
from lookback.agreement.votes import analysis_units, judgeable_votes
from lookback.errors import ContractError
from lookback.registry import BENCHMARKS

Tables = dict[str, pd.DataFrame]
# columns and words of tables that claim something at the plan's level; a benchmark's own tables repeat claims in words alone
CLAIMS = {"claim", "verdict", "letters"}
CLAIMING = re.compile(r"\b(supported|contradicted|open) for\b|\bHolm\b", re.IGNORECASE)


class Analysis:
    """Collects the tables that have rows. `units` are the labels that are compared, with their scores where there are any."""

    def __init__(self, votes: pd.DataFrame, units: pd.DataFrame, exclusions: pd.DataFrame, plan: Plan, standing: Standing | None):
        self.votes, self.units, self.exclusions, self.plan, self.standing = votes, units, exclusions, plan, standing
        self.footnote = f"{plan.footnote}; {standing.footnote if standing else NOT_COUNTED}"
        self.declared = {"plan_hash": plan.hash, "confidence": plan.confidence, "alpha": plan.level}
        self.tables: Tables = {}
        self.quality = pd.DataFrame()  # of the annotators, also of those who were left out
        self.dropped = ""  # a sentence about single votes that were left out

    def add(self, name: str, title: str, unit: str, table: pd.DataFrame, read: Callable[[], str]) -> None:
        if table.empty:
            return
        sentence = f"{read()}{reading.simulated_note(self.votes)}"
        if self.standing and self.standing.look and (CLAIMS & set(table) or CLAIMING.search(sentence)):
            sentence += self.standing.look.warning
        table.attrs = {"title": title, "unit": unit, "reading": sentence, "footnote": self.footnote, **self.declared}
        self.tables[name] = table

    def left_out(self, *kinds: str, benchmark: str = "", people_alone: bool = False) -> str:
        """The sentence about the items of these kinds (all kinds without any), of one benchmark or all, that do not enter."""
        own = self.exclusions
        own = own[own["kind"].isin(kinds)] if kinds else own
        if benchmark:
            own = own[[self.plan.families[name].benchmark == benchmark for name in own["family"]]]
        if own.empty:
            return ""
        return f" {excluded_words(own, self.plan, people_alone)}".rstrip() + self.dropped

    def has(self, benchmark: str, kind: str | None = None) -> bool:
        own = self.votes[self.votes["benchmark"] == benchmark]
        return len(own) > 0 if kind is None else bool((own["kind"] == kind).any())


def analyse(
    votes: pd.DataFrame,
    scores: pd.DataFrame | None,
    plan: Plan,
    clips: pd.DataFrame | None = None,
    standing: Standing | None = None,
    same_run: bool = False,
    gold: pd.DataFrame | None = None,
) -> Tables:
    """The tables of `analysed`, by name."""
    return analysed(votes, scores, plan, clips, standing, same_run, gold).tables


def analysed(
    votes: pd.DataFrame,
    scores: pd.DataFrame | None,
    plan: Plan,
    clips: pd.DataFrame | None = None,
    standing: Standing | None = None,
    same_run: bool = False,
    gold: pd.DataFrame | None = None,
) -> Analysis:
    """The whole analysis; see the module's description. `clips` adds the check for unknown clips and the event-factor tables.

    `votes` are tidy votes (`read_ratings`), `scores` the tidy items table; without scores only people are analysed. `standing` is
    what is known about the plan (`frozen.standing`). Votes that find no score are an error, as the plan says; with `same_run` the
    votes and scores are known to be of the same clips, and they are only counted. `gold` are answers to items with a known answer
    (`read_gold`). Tables: exclusions, joins, study_design, agreement, reliability, annotators, models, comparisons, ceiling,
    ranking, win_ratios, bridge, rating_metric, disagreements, trigger, judgeability, vqa, correlations, event_cells, event_factors,
    mixed_model, those of each benchmark's paper, main, sensitivity, influence, distributions, consensus.
    """
    valid = check_ratings(votes, plan, clips)
    dropped, valid.attrs = dropped_words(valid.attrs["dropped"]), {}  # pandas copies attrs with every column that is taken
    checks = "annotators" in plan.estimands or plan.annotators.flags
    quality = annotators.annotators_table(valid, plan, gold) if checks else pd.DataFrame()
    gone = annotators.left_out(valid, quality, gold, plan)
    kept = valid.drop(gone.index).reset_index(drop=True)
    if kept.empty:
        raise ContractError("no vote is left: the plan's rule leaves out every annotator; check its key annotators")
    checked, refused = judgeable_votes(kept, plan)
    if checked.empty:
        raise ContractError("no vote is left: people called every item not judgeable; check the plan's judgeable keys")
    units = analysis_units(checked, plan)
    known = None if scores is None or scores.empty else check_scores(scores)
    joins = pd.DataFrame()
    if known is not None:
        units = attach_scores(units, known, plan)
        joins = join_table(units, known)
        if not same_run:
            check_joins(joins, plan)
    result = Analysis(checked, units, exclusion_table(units, checked, refused, gone), plan, standing)
    result.dropped, result.quality = dropped, quality
    result.add("exclusions", "Items that do not enter, and why", "item", result.exclusions, lambda: result.left_out().strip())
    result.add("joins", "Scores that the votes ask for", "score", joins, lambda: read_joins(joins))
    designed = overview.design_table(valid, kept, plan)
    result.add("study_design", "Design of the study", "vote", designed, lambda: overview.read_design(designed, plan))
    if "annotators" in plan.estimands:
        read = lambda: annotators.read_annotators(quality)  # noqa: E731
        result.add("annotators", "Quality of the annotators", "annotator", quality, read)
    _people(result)
    _models(result)
    if known is not None:
        _ceiling(result)
        _metrics(result)
        _judges(result)
        if "design" in plan.estimands:
            _design(result, known, clips)
    for benchmark in BENCHMARKS:
        if result.has(benchmark.name):
            benchmark.agreement_tables(result)
    _for_the_journal(result)
    rows = [
        {"table": name, **{k: t.attrs[k] for k in ("title", "unit", "reading", "footnote")}} for name, t in result.tables.items()
    ]
    readings = pd.DataFrame(rows, columns=["table", "title", "unit", "reading", "footnote"])
    readings.attrs = {"title": "Readings", "unit": "table", "reading": "", "footnote": result.footnote, "plan_hash": plan.hash}
    result.tables["readings"] = readings
    return result


def _people(result: Analysis) -> None:
    votes, plan = result.votes, result.plan
    if "agreement" in plan.estimands:
        table = human.agreement_table(votes, plan)
        read = lambda: reading.read_agreement(table, plan) + result.left_out(people_alone=True)  # noqa: E731
        result.add("agreement", "Agreement among annotators", "item", table, read)
    if "rating" in plan.estimands and (votes["kind"] == "rating").any():
        reliable = ratings.reliability_table(votes, plan)
        result.add("reliability", "Reliability of ratings (ICC)", "item", reliable, lambda: ratings.read_reliability(reliable))


def _models(result: Analysis) -> None:
    """Models compared by people alone; this needs no scores."""
    votes, units, plan = result.votes, result.units, result.plan
    ranked, compared = comparison.model_tables(units, votes, plan)
    result.add("models", "Models ranked by people, with ties", "model", ranked, lambda: comparison.read_models(ranked, plan))
    title = "Differences between models"
    result.add("comparisons", title, "pair of models", compared, lambda: comparison.read_comparisons(compared, plan))


def _ceiling(result: Analysis) -> None:
    table = ceiling.ceiling_table(result.votes, result.units, result.plan)
    title = "Judge and metric beside people on the same items"
    result.add("ceiling", title, "item", table, lambda: ceiling.read_ceiling(table))


def _metrics(result: Analysis) -> None:
    votes, units, plan = result.votes, result.units, result.plan
    if "ranking" in plan.estimands:
        table = metric.ranking_table(units, votes, plan)
        title = "Model-level rank agreement of metric and people"
        result.add("ranking", title, "model", table, lambda: reading.read_ranking(table, plan) + result.left_out("preference"))
        ratios = models.win_ratio_table(units, plan)
        result.add("win_ratios", "Win ratios of people and metric", "model", ratios, lambda: reading.read_win_ratios(ratios, plan))
    if "bridge" in plan.estimands:
        pairs = metric.bridge_table(units, plan)
        title = "Pair-level bridge of metric and people"
        result.add("bridge", title, "pair", pairs, lambda: reading.read_bridge(pairs, plan) + result.left_out("preference"))
    if "rating" in plan.estimands:
        rated = ratings.rating_metric_table(units, votes, plan)
        title = "Metric against mean ratings"
        result.add(
            "rating_metric", title, "item", rated, lambda: reading.read_rating_metric(rated, plan) + result.left_out("rating")
        )
    wrong = models.disagreements_table(units[units["kind"] != "rating"])
    result.add(
        "disagreements", "Where people and the automatic answer differ", "item", wrong, lambda: reading.read_disagreements(wrong)
    )


def _judges(result: Analysis) -> None:
    units, plan = result.units, result.plan
    if "trigger" in plan.estimands:
        trigger = metric.trigger_table(units, plan)
        title = "Trigger judge against the majority"
        result.add("trigger", title, "clip", trigger, lambda: reading.read_trigger(trigger) + result.left_out("trigger"))
    if "judgeability" in plan.estimands:
        evidence = metric.judgeability_table(units, plan)
        title = "Judgeability of returns"
        result.add(
            "judgeability", title, "item", evidence, lambda: reading.read_judgeability(evidence) + result.left_out("judgeability")
        )
    if "vqa" in plan.estimands:
        answers = metric.vqa_table(units, plan)
        title = "VQA answers against the majority"
        result.add("vqa", title, "question", answers, lambda: reading.read_vqa(answers) + result.left_out("vqa"))


def _for_the_journal(result: Analysis) -> None:
    votes, plan = result.votes, result.plan
    if "agreement" in result.tables:
        main = study.main_table(result.tables, result.units, plan)
        result.add("main", "Main table", "item", main, lambda: study.read_main(main, plan) + result.left_out())
    if "decision" in result.units:
        rules = study.sensitivity_table(votes, result.units, plan)
        result.add("sensitivity", "Sensitivity to the rules", "item", rules, lambda: study.read_sensitivity(rules))
        alone = influence.influence_table(votes, result.units, result.quality, plan)
        title = "The main measure without one annotator, scene or model"
        result.add("influence", title, "item", alone, lambda: influence.read_influence(alone))
    answers = study.distribution_table(votes, plan)
    result.add("distributions", "Distribution of the votes", "vote", answers, lambda: study.read_distribution(answers, plan))
    labels = study.consensus_table(votes, plan)
    result.add("consensus", "Consensus label of every item", "item", labels, lambda: study.read_consensus(labels))


def _design(result: Analysis, scores: pd.DataFrame, clips: pd.DataFrame | None) -> None:
    plan = result.plan
    table = design.correlation_table(scores, plan)
    result.add("correlations", "Correlations between metrics", "model", table, lambda: reading.read_correlations(table, plan))
    if clips is None or "event_level" not in clips:
        return
    events = design.event_scores(scores, clips)
    cells = design.cell_table(events)
    result.add("event_cells", "Scores by event level and model", "model", cells, lambda: reading.read_cells(cells))
    factors = design.factor_table(events, plan)
    result.add("event_factors", "Event factors (2x2)", "model", factors, lambda: reading.read_factors(factors, plan))
    mixed = design.mixed_table(events, plan)
    result.add("mixed_model", "Mixed model of the event factors", "cell", mixed, lambda: reading.read_mixed(mixed))
