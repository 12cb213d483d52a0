"""The whole analysis: votes and scores under a declared plan, to the papers' tables with their readings.

Every table carries `attrs`: title, unit, reading (what it supports and what the sample cannot), footnote (with the plan's hash),
plan_hash, and the plan's confidence and alpha. The table "readings" lists them all.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from lookback.agreement import reading
from lookback.agreement.plan import Plan
from lookback.agreement.scores import attach_scores, check_scores
from lookback.agreement.tables import design, human, metric, models, papers
from lookback.agreement.validation import check_ratings
from lookback.agreement.votes import analysis_units

Tables = dict[str, pd.DataFrame]


class Analysis:
    """Collects tables; each is kept only when it has rows."""

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
    agreement, annotators, strengths, power, ranking, win_ratios, bridge, disagreements, trigger, judgeability, vqa, correlations,
    event_cells, event_factors, mixed_model, and the papers' mbench_3, mbench_5, mbench_6, wrbench_5, wrbench_14, wrbench_15,
    wrbench_16, memobench_agreement.
    """
    votes = check_ratings(ratings, plan, clips)
    checked = None if scores is None or scores.empty else check_scores(scores)
    units = analysis_units(votes, plan)
    result = Analysis(votes, plan)
    _people(result, units)
    if checked is not None:
        scored = attach_scores(units, checked, plan)
        _metrics(result, scored)
        _judges(result, scored)
        if "design" in plan.estimands:
            _design(result, checked, clips)
    _papers(result)
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
        pairs = metric.bridge_table(units, plan)
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


def _papers(result: Analysis) -> None:
    """The papers' tables, from the tidy ones that were computed."""
    votes, plan, tables = result.votes, result.plan, result.tables
    if "ranking" in tables and result.has("mbench", "preference"):
        ranking = tables["ranking"][tables["ranking"]["benchmark"] == "mbench"]
        table = papers.mbench_3(ranking, plan)
        title = "MBench table 3: metric-human correlation"
        result.add("mbench_3", title, "model", table, lambda: reading.read_ranking(ranking, plan))
    if result.has("mbench"):
        counts = papers.mbench_5(votes)
        result.add("mbench_5", "MBench table 5: annotation statistics", "vote", counts, lambda: reading.read_counts(counts))
    if "trigger" in tables and result.has("mbench", "trigger"):
        trigger = tables["trigger"]
        title = "MBench table 6: trigger judge against people"
        result.add("mbench_6", title, "clip", papers.mbench_6(trigger), lambda: reading.read_trigger(trigger))
    if result.has("wrbench"):
        registry = papers.wrbench_14(votes, plan)
        result.add("wrbench_14", "WRBench table 14: annotation registry", "vote", registry, lambda: reading.read_counts(registry))
    if "agreement" in tables and result.has("wrbench", "preference"):
        _wrbench(result)
    if "vqa" in tables:
        answers = tables["vqa"]
        title = "MemoBench figure 4: agreement of answers with people"
        result.add("memobench_agreement", title, "question", papers.memobench_agreement(answers), lambda: reading.read_vqa(answers))


def _wrbench(result: Analysis) -> None:
    plan, tables, empty = result.plan, result.tables, pd.DataFrame(columns=["benchmark"])
    people = tables["agreement"][
        (tables["agreement"]["benchmark"] == "wrbench") & (tables["agreement"]["alpha_level"] != "nominal")
    ]
    main = people[people["role"] == "main"]
    bridges = tables.get("bridge", empty)
    bridges = bridges[bridges["benchmark"] == "wrbench"]
    people, main, bridges = (_in_plan_order(table, plan) for table in (people, main, bridges))
    snapshot, coefficients = papers.wrbench_5(main, bridges), papers.wrbench_15(people)

    def both() -> str:
        return f"{reading.read_agreement(main, plan)} {reading.read_bridge(bridges, plan)}"

    result.add("wrbench_5", "WRBench table 5: human calibration snapshot", "pair", snapshot, both)
    title = "WRBench table 15: human agreement by dimension"
    result.add("wrbench_15", title, "pair", coefficients, lambda: reading.read_agreement(people, plan))
    if not bridges.empty:
        evidence = tables.get("judgeability", pd.DataFrame())
        table = papers.wrbench_16(bridges, evidence)
        tail = "" if evidence.empty else " " + reading.read_judgeability(evidence)
        title = "WRBench table 16: world-state evaluator-human bridge"
        result.add("wrbench_16", title, "pair", table, lambda: reading.read_bridge(bridges, plan) + tail)


def _in_plan_order(table: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Rows in the order in which the plan declares the dimensions, which is the papers' order."""
    if table.empty:
        return table
    declared = list(dict.fromkeys(name for family in plan.families.values() for name in family.dimensions))
    return table.sort_values("dimension", key=lambda names: names.map(declared.index), kind="stable", ignore_index=True)


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
