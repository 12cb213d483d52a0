"""Text that a journal asks for: how the study was done, why it has this size, and a checklist with what the tool cannot know."""

from __future__ import annotations

import numpy as np

import lookback
from lookback.agreement.analyse import Analysis
from lookback.agreement.comparison import comparison_methods
from lookback.agreement.frozen import Standing
from lookback.agreement.plan import Plan
from lookback.agreement.reading import main_coefficient, span
from lookback.names import counted, listing

ASKED = {
    "preference": "said which of two clips is better",
    "rating": "rated clips on a scale",
    "trigger": "answered whether the challenge happened",
    "judgeability": "answered whether there is something to judge",
    "vqa": "answered yes-or-no questions",
}
AUTHORS = "**to be stated by the authors**"


def journal_page(study: Analysis) -> str:
    """Methods, sample size and checklist as Markdown."""
    standing = study.standing or Standing("It is not known whether the plan was frozen before the votes.")
    parts = ["# For the paper", "", "## Methods", "", methods(study), "", standing.words, ""]
    parts += ["## Sample size", "", sample_size(study), "", "## Checklist", ""]
    parts += [f"- {question} {answer}" for question, answer in checklist(study).items()]
    if standing.amendments:
        parts += ["", "## Amendments to the plan", "", *(f"- {line}" for line in standing.amendments)]
    return "\n".join([*parts, "", f"*{study.footnote}*", ""])


def methods(study: Analysis) -> str:
    """The methods paragraph: votes, rules, statistics, software. It states what the data and the plan show, nothing else."""
    plan, votes = study.plan, study.votes
    parts = [_asked(study, name) for name in plan.families if (votes["family"] == name).any()]
    parts += [_rule(plan, set(votes["kind"])), study.left_out().strip(), _statistics(plan, set(votes["kind"]), study)]
    parts.append(f"Analysed with lookback {lookback.__version__}, plan {plan.hash[:16]}, seed {plan.seed}.")
    return " ".join(parts)


def _asked(study: Analysis, name: str) -> str:
    own, family = study.votes[study.votes["family"] == name], study.plan.families[name]
    scale = study.plan.scales[family.scale]
    per_item = own.groupby("item").size()
    models = set(own["model_a"]) | set(own["model_b"]) - {""}
    what = "pairs of clips" if family.pairs else "items"
    text = f"{name}: {own['annotator'].nunique()} annotators {ASKED[family.kind]}"
    if family.kind == "rating" and family.pairs:
        text = f"{name}: {own['annotator'].nunique()} annotators compared two clips on a scale"
    text += f" ({', '.join(scale.categories)}; {scale.level}). {len(own)} votes on {len(per_item)} {what} of {len(models)} models "
    text += (
        f"in {own['scene'].nunique()} scenes, {span(per_item.min(), per_item.max())} votes per item, median {per_item.median():g}."
    )
    simulated = int(own["simulated"].sum())
    return text + (f" {simulated} of these votes are simulated." if simulated else "")


def _rule(plan: Plan, kinds: set[str]) -> str:
    parts = []
    if kinds - {"rating"}:
        if plan.aggregate == "votes":
            parts.append("Every vote was compared by itself.")
        else:
            rule = "more than half of its votes" if plan.majority.rule == "majority" else "more votes than any other label"
            split = "were left out" if plan.majority.split == "exclude" else "counted as ties (preferences) or were left out"
            parts.append(f"An item's label is the one with {rule}; items without one {split}.")
            parts.append(f"Items under {plan.majority.min_votes} votes were left out.")
    if "rating" in kinds:
        parts.append(f"An item's rating is the mean of its votes; items under {plan.majority.min_votes} votes were left out.")
    if "preference" in kinds:
        ties = "a tie counts as half a win for both models" if plan.win_ratio_ties == "half" else "ties are left out of win ratios"
        sides = "every pair enters in both orders" if plan.orientation == "symmetric" else "sides enter as the votes name them"
        parts.append(f"Of preferences, {ties}, and {sides}.")
    return " ".join(parts)


def _statistics(plan: Plan, kinds: set[str], study: Analysis) -> str:
    unit = plan.clusters.agreement
    names = " and ".join(_coefficients(kinds))
    parts = [
        f"Agreement among people is Gwet's {names}, with Krippendorff's alpha beside it; {plan.confidence:.0%} intervals",
        f"of Gwet's coefficients use their linearised variance over {unit}s (t, on the logit scale between -1 and 1), those of",
        f"alpha a bootstrap of {unit}s ({plan.resamples} resamples; percentiles, or t under ten {unit}s).",
        "These intervals are about these annotators. Only alpha decides whether people agree more than by chance.",
    ]
    if "rating" in kinds:
        parts.append("Beside AC2, ratings have ICC(2,1) and ICC(2,k): two-way random effects, absolute agreement.")
    if "models" in study.tables:
        parts.append(comparison_methods(study.tables["models"], plan))
    if "ranking" in study.tables:
        parts.append("The metric's ranking of the models is compared by Spearman's rho of win ratios, with a permutation test.")
    if "bridge" in study.tables:
        parts.append(f"Differences of scores are compared with preferences by {_association(plan)}.")
    if "rating_metric" in study.tables:
        parts.append(f"The metric is compared with mean ratings by {_association(plan)}; Kendall's tau-b is reported as well.")
    if "trigger" in study.tables:
        parts.append("The judge is compared with the majority by accuracy, precision, recall, specificity, Cohen's kappa and AC1.")
    correction = (
        "Holm's correction over the declared dimensions" if plan.multiplicity == "holm" else "no correction for several tests"
    )
    parts.append(f"Level {plan.level:g}, {correction}. A single {unit} gives no interval and no claim.")
    return " ".join(parts)


ASSOCIATIONS = {
    "scenes": "the correlation of ranks within models (the models' levels removed; jackknife over {unit}s, t test)",
    "models": "Spearman's rho of the models' values (permutation test over models; interval of Bonett and Wright 2000)",
    "models_and_scenes": "Spearman's rho over all items (jackknife clustered by models and by {unit}s, t test)",
}


def _association(plan: Plan) -> str:
    return ASSOCIATIONS[plan.population.claims].format(unit=plan.clusters.metric)


WHY = {
    "AC1": "AC1 for how uniform the answers are; alpha for whether annotators agree more than by chance.",
    "AC2": "AC2 with ordinal weights for ratings, because near answers agree in part; ICC(2,1) and ordinal alpha are reported too.",
}


def _coefficients(kinds: set[str]) -> list[str]:
    """The main coefficients of these kinds of votes, as `reading.main_coefficient` chooses them."""
    named = {"AC1": bool(kinds - {"rating"}), "AC2 (ordinal weights, for ratings)": "rating" in kinds}
    return [name for name, used in named.items() if used]


def sample_size(study: Analysis) -> str:
    """Numbers of everything, the reason the plan gives, and the precision that was reached."""
    votes, plan = study.votes, study.plan
    text = f"{len(votes)} votes of {votes['annotator'].nunique()} annotators on {votes['item'].nunique()} items in "
    text += f"{votes['scene'].nunique()} scenes. "
    text += (
        f"Reason given in the plan: {plan.sample_size}"
        if plan.sample_size
        else f"Why this size: {AUTHORS} (plan: sample_size; `lookback study power` says what a size can find)."
    )
    if "agreement" not in study.tables:
        return text
    for name, own in main_coefficient(study.tables["agreement"], plan).groupby("coefficient", sort=True):
        half = (own["people_high"] - own["people_low"]).median() / 2
        if np.isfinite(half):
            text += f" Half the width of the intervals of {name} is {half:.2f} in the median."
    return text


def checklist(study: Analysis) -> dict[str, str]:
    """What readers of a study of agreement need (after GRRAS, Kottner et al. 2011, J. Clin. Epidemiol. 64:96-106)."""
    votes, plan, standing = study.votes, study.plan, study.standing
    shared = votes.groupby("item").size()
    crossed = votes.groupby(["family", "item"]).size().groupby("family").nunique().eq(1).all()
    return {
        "Who are the annotators, how were they recruited, trained and paid?": AUTHORS,
        "Which instructions did they see?": AUTHORS,
        "Did they vote independently and without knowing the models?": AUTHORS,
        "How were clips and pairs chosen, and the sides of a pair assigned?": AUTHORS,
        "Ethics approval and consent:": AUTHORS,
        "Scales, with all answers declared:": listing([f"{n} ({', '.join(s.categories)})" for n, s in plan.scales.items()]) + ".",
        "Votes per item:": f"{span(shared.min(), shared.max())}{', the same number for every item' if crossed else ''}.",
        "Missing, split and left-out items:": study.left_out().strip(),
        "Which coefficient, and why this one:": " ".join(WHY[name[:3]] for name in _coefficients(set(votes["kind"]))),
        "Unit of the intervals:": f"{plan.clusters.agreement}s for agreement, {plan.clusters.metric}s for the metric.",
        "Several tests:": f"{'Holm' if plan.multiplicity == 'holm' else 'no correction'}, level {plan.level:g}.",
        "Plan fixed before the votes:": standing.words if standing else "not known.",
        "Registered at:": plan.preregistration or AUTHORS + " (or not registered)",
        "Annotators checked, and left out:": _annotators(study),
        "Sensitivity to the rules, and to single annotators, scenes and models:": "tables `sensitivity` and `influence`."
        if "sensitivity" in study.tables
        else "no scores, so no such table.",
        "Data and code:": "the exported votes, `recompute.R` and this folder's manifest; where they are published: " + AUTHORS,
    }


def _annotators(study: Analysis) -> str:
    """Who is clearly unlike the others, what the plan's rule is, and whose votes it left out."""
    rule = study.plan.annotators.model_dump(mode="json", exclude_defaults=True)
    fixed = "; ".join(f"{key} {value}" for key, value in rule.items()) or "none"
    flagged = study.quality[study.quality["flags"] != ""] if len(study.quality) else study.quality
    named = listing([f"{row.annotator} ({row.family}: {row.flags})" for row in flagged.itertuples()])
    gone = int(study.exclusions["votes_left_out"].sum())
    return f"clearly unlike the others: {named}. Rule of the plan: {fixed}; {counted(gone, 'vote')} left out by it."
