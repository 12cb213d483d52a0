"""A planned study's power under its plan, in words."""

from __future__ import annotations

import numpy as np

from lookback.agreement.plan import Plan
from lookback.errors import UsageError
from lookback.stats.jackknife import FEWEST_ANNOTATORS
from lookback.stats.power import SURE, Power, StudyRules


def rules_of(plan: Plan, raters: int) -> StudyRules:
    """The plan's rules about labels and tests, for so many raters."""
    if plan.clusters.metric != "scene":
        raise UsageError(
            f"study power simulates errors by scene, and the plan has clusters: {{metric: {plan.clusters.metric}}}; write scene"
        )
    majority = plan.majority
    return StudyRules(
        rule=majority.rule,
        min_votes=majority.min_votes,
        split=majority.split,
        ties=plan.win_ratio_ties,
        every_vote=plan.aggregate == "votes",
        level=plan.level,
        holm=plan.multiplicity == "holm",
        like_these=plan.population.annotators == "like_these" and raters >= FEWEST_ANNOTATORS,
    )


def power_lines(found: Power, share: float, plan: Plan) -> list[str]:
    """What the design holds, the power for a few differences, and the answer, each on its line."""
    study, rules = found.plan, found.plan.rules
    shown_pairs = study.pairs_per_scene or study.comparisons
    people = "as annotators like these would see them" if rules.like_these else "as these annotators see them"
    units = "scene, by annotator and by both" if rules.like_these else "scene"
    aside = ", which are tested as these annotators see them" if rules.like_these else ""
    lines = [
        f"Design: {study.models} models, {study.scenes} scenes, {study.raters} vote{'s' * (study.raters > 1)} on each pair",
        f"  pairs   {study.pairs} ({shown_pairs} of {study.comparisons} pairs of models in each scene)",
        f"  votes   {study.votes}, worth about {study.votes / found.vote_effect:.0f} independent ones, "
        "since votes on one pair and pairs of one scene are alike",
        f"  labels  {_labels(found)}",
        f"Power of the test that the analysis makes, two-sided at level {rules.level:g}{_looks(plan)}:",
        f"the difference of two log strengths, from every vote, errors by {units}; where strengths do not exist",
        f"(somebody won everything), that of win ratios. The second column is for win ratios alone{aside}.",
        f"{study.studies} simulated studies a row:",
        "                                 log strengths          win ratios of labels",
        f"  share of votes   win ratio   one pair   {f'all {study.comparisons}':>8}   one pair   {f'all {study.comparisons}':>8}",
    ]
    shown = found.table[(found.table["power_corrected"].shift(fill_value=0) < SURE) | (found.table["share"] == share)]
    for row in shown.itertuples():
        mark = "  <- asked for" if row.share == share else ""
        lines.append(
            f"  {row.share:14.2f}   {row.win_ratio:9.2f}   {row.power:8.0%}   {row.power_corrected:8.0%}"
            f"   {row.label_power:8.0%}   {row.label_power_corrected:8.0%}{mark}"
        )
    asked = found.table.set_index("share").loc[share]
    alone, corrected = (_found(found, value) for value in (found.smallest, found.smallest_corrected))
    how = "at the first step of Holm's correction" if rules.holm else "without correction"
    return [
        *lines,
        f"All {study.comparisons} pairs of models are tested {how}.",
        f"Two equal models are called different in {found.false_alarms:.1%} of the studies.{_whose(found, plan)}",
        f"Assumed: {study.ties:.0%} ties between equal models, a correlation of {study.agreement:g} between two votes on one pair, "
        f"raters' own preferences of {study.tastes:g} log strengths (sd), {study.missing:.0%} of votes missing or excluded.",
        f"Answer, in other scenes like these, {people}: a share of votes of {share:g} (win ratio {asked['win_ratio']:.2f}) "
        f"is found with a power of {asked['power']:.0%} in one planned comparison, {asked['power_corrected']:.0%} when all pairs "
        f"of models are tested. With a power of {study.power:.0%} it finds {alone} in one comparison and {corrected} in all.",
    ]


def _labels(found: Power) -> str:
    study, rules = found.plan, found.plan.rules
    if rules.every_vote:
        return f"{study.votes}: every vote is one (aggregate: votes), about {found.tied_labels:.0f} of them ties"
    text = f"about {found.labels:.0f}, of these {found.tied_labels:.0f} ties; "
    how = f"{rules.rule} of at least {rules.min_votes} votes" if rules.min_votes > 1 else rules.rule
    split = "left out" if rules.split == "exclude" else "ties"
    return text + f"the other {study.pairs - found.labels:.0f} pairs have none (the plan: {how}; split votes are {split})"


def _looks(plan: Plan) -> str:
    return f" ({plan.alpha:g} shared by {plan.looks} looks)" if plan.looks > 1 else ""


def _whose(found: Power, plan: Plan) -> str:
    """For whom the models are equal, where raters differ or the plan asks for more raters than there are."""
    study = found.plan
    if plan.population.annotators == "like_these" and not study.rules.like_these:
        return f" The plan asks about annotators like these; with fewer than {FEWEST_ANNOTATORS} the test is about these only."
    if study.tastes and not study.rules.like_these:
        return " Equal for people at large: these annotators may well prefer one, and the test speaks of these annotators only."
    return ""


def _found(found: Power, share: float | None) -> str:
    if share is None:
        return "no share of votes up to 0.95"
    ratio = float(np.interp(share, found.table["share"], found.table["win_ratio"]))
    return f"shares of votes from {share:.2f} (win ratios from {ratio:.2f})"
