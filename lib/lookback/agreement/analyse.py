"""The whole analysis: from votes, scores and a declared plan to the papers' tables with their readings.

Every table carries `attrs`: title, unit, reading (what the table supports and cannot show), footnote (with the plan's hash),
plan_hash, and the plan's confidence and alpha. The table "readings" lists them all.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from lookback.agreement import ceiling, comparison, overview, reading
from lookback.agreement.plan import Plan
from lookback.agreement.scores import attach_scores, check_scores
from lookback.agreement.tables import design, human, metric, models
from lookback.agreement.validation import check_ratings
from lookback.agreement.votes import analysis_units
from lookback.registry import BENCHMARKS

Tables = dict[str, pd.DataFrame]


class Analysis:
    """Collects the tables that have rows."""

    def __init__(self, votes: pd.DataFrame, plan: Plan):
        self.votes, self.plan = votes, plan
        self.tables: Tables = {}

    def add(self, name: str, title: str, unit: str, table: pd.DataFrame, read: Callable[[], str]) -> None:
        if table.empty:
            return
        sentence = read() + reading.simulated_note(self.votes)
        declared = {"plan_hash": self.plan.hash, "confidence": self.plan.confidence, "alpha": self.plan.alpha}
        table.attrs = {"title": title, "unit": unit, "reading": sentence, "footnote": self.plan.footnote, **declared}
        self.tables[name] = table

    def has(self, benchmark: str, kind: str | None = None) -> bool:
        own = self.votes[self.votes["benchmark"] == benchmark]
        return len(own) > 0 if kind is None else bool((own["kind"] == kind).any())


def analyse(ratings: pd.DataFrame, scores: pd.DataFrame | None, plan: Plan, clips: pd.DataFrame | None = None) -> Tables:
    """Tables by name; see the module's description. `clips` adds the check for unknown clips and the event-factor tables.

    `ratings` are tidy votes (`read_ratings`), `scores` the tidy items table; without scores only people are analysed. Names:
    study_design, agreement, annotators, strengths, power, models, comparisons, ceiling, ranking, win_ratios, bridge, disagreements,
    trigger, judgeability, vqa, correlations, event_cells, event_factors, mixed_model, and the tables of each benchmark's paper.
    """
    votes = check_ratings(ratings, plan, clips)
    checked = None if scores is None or scores.empty else check_scores(scores)
    units = analysis_units(votes, plan)
    result = Analysis(votes, plan)
    made = overview.design_table(votes, plan)
    result.add("study_design", "Design of the study", "vote", made, lambda: overview.read_design(made, plan))
    _people(result, units)
    _models(result, units)
    if checked is not None:
        scored = attach_scores(units, checked, plan)
        _ceiling(result, scored)
        _metrics(result, scored)
        _judges(result, scored)
        if "design" in plan.estimands:
            _design(result, checked, clips)
    for benchmark in BENCHMARKS:
        benchmark.agreement_tables(result)
    rows = [
        {"table": name, **{k: t.attrs[k] for k in ("title", "unit", "reading", "footnote")}} for name, t in result.tables.items()
    ]
    readings = pd.DataFrame(rows, columns=["table", "title", "unit", "reading", "footnote"])
    readings.attrs = {"title": "Readings", "unit": "table", "reading": "", "footnote": plan.footnote, "plan_hash": plan.hash}
    return {**result.tables, "readings": readings}


def _people(result: Analysis, units: pd.DataFrame) -> None:
    votes, plan = result.votes, result.plan
    if "agreement" in plan.estimands:
        table = human.agreement_table(votes, plan)
        result.add("agreement", "Agreement among annotators", "item", table, lambda: reading.read_agreement(table, plan))
    if "annotators" in plan.estimands:
        quality = human.annotators_table(votes, plan)
        result.add("annotators", "Quality of the annotators", "annotator", quality, lambda: reading.read_annotators(quality))
    if "ranking" in plan.estimands:
        strengths = models.strengths_table(votes, plan)
        result.add(
            "strengths", "Davidson strengths from every vote", "model", strengths, lambda: reading.read_strengths(strengths, plan)
        )
    if "power" in plan.estimands:
        needed = models.votes_table(units, plan)
        result.add("power", "Pairs needed to tell two models apart", "pair", needed, lambda: reading.read_power(needed))


def _models(result: Analysis, units: pd.DataFrame) -> None:
    """Models compared by people alone; this needs no scores."""
    votes, plan = result.votes, result.plan
    if "ranking" not in plan.estimands:
        return
    ranked, compared = comparison.model_tables(units, votes, plan)
    result.add("models", "Models ranked by people, with ties", "model", ranked, lambda: comparison.read_models(ranked, plan))
    title = "Differences between models"
    result.add("comparisons", title, "pair of models", compared, lambda: comparison.read_comparisons(compared, plan))


def _ceiling(result: Analysis, units: pd.DataFrame) -> None:
    plan = result.plan
    table = ceiling.ceiling_table(result.votes, units, plan)
    title = "Judge and metric beside people on the same items"
    result.add("ceiling", title, "item", table, lambda: ceiling.read_ceiling(table, plan))


def _metrics(result: Analysis, units: pd.DataFrame) -> None:
    votes, plan = result.votes, result.plan
    if "ranking" in plan.estimands:
        table = metric.ranking_table(units, votes, plan)
        result.add(
            "ranking", "Model-level rank agreement of metric and people", "model", table, lambda: reading.read_ranking(table, plan)
        )
        ratios = models.win_ratio_table(units, plan)
        result.add("win_ratios", "Win ratios of people and metric", "model", ratios, lambda: reading.read_win_ratios(ratios))
    if "bridge" in plan.estimands:
        pairs = ceiling.lower_ceilings(metric.bridge_table(units, plan), result.tables.get("ceiling", pd.DataFrame()))
        result.add("bridge", "Pair-level bridge of metric and people", "pair", pairs, lambda: reading.read_bridge(pairs, plan))
    wrong = models.disagreements_table(units)
    result.add(
        "disagreements", "Where people and the automatic answer differ", "item", wrong, lambda: reading.read_disagreements(wrong)
    )


def _judges(result: Analysis, units: pd.DataFrame) -> None:
    plan = result.plan
    if "trigger" in plan.estimands:
        trigger = metric.trigger_table(units, plan)
        result.add("trigger", "Trigger judge against the majority", "clip", trigger, lambda: reading.read_trigger(trigger))
    if "judgeability" in plan.estimands:
        evidence = metric.judgeability_table(units, plan)
        result.add("judgeability", "Judgeability of returns", "item", evidence, lambda: reading.read_judgeability(evidence))
    if "vqa" in plan.estimands:
        answers = metric.vqa_table(units, plan)
        result.add("vqa", "VQA answers against the majority", "question", answers, lambda: reading.read_vqa(answers))


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
