"""What a test allows to be claimed: the five words, Holm's correction over the declared dimensions, and the sentence.

A metric is declared to rise with people's answers (`higher_is_better` has turned it where it falls), so every claim has a
direction. The test is two-sided and the claim follows the side: a clear value above zero supports it, one below contradicts it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.names import listing
from lookback.stats import holm
from lookback.stats.intervals import FEWEST_CLUSTERS

SUPPORTED, CONTRADICTED, OPEN = "supported", "contradicted", "open"
IMPOSSIBLE, UNTESTED = "cannot be decided by this sample", "not tested"


# the reading of score against people that a plan's population of inference makes the primary one, and its name in a sentence
PRIMARY = {"scenes": "within", "models": "between", "models_and_scenes": "pooled"}
READINGS = {"within": "rho within models", "between": "rho between models", "pooled": "pooled rho"}
SAMPLES = {"scene": "in other scenes", "item": "on other items"}
OTHER_MODELS = "for other models like these"
DEALT = "votes dealt anew to the items"


def population_words(plan: Plan) -> str:
    """The population of a claim about score and people, as it ends a sentence."""
    sample = SAMPLES[plan.clusters.units]
    words = {"scenes": f"{sample} for these models", "models": OTHER_MODELS, "models_and_scenes": f"{sample} {OTHER_MODELS}"}
    return words[plan.population.claims]


def add_claims(table: pd.DataFrame, plan: Plan, *, p: str, value: str, smallest_p: str = "smallest_p") -> pd.DataFrame:
    """Adds n_tests, p_corrected, smallest_corrected_p (where `smallest_p` is known) and claim; corrected by family and setting.

    `p` names the two-sided p, `value` the estimate whose sign is the side. Every dimension that the plan declares with a metric
    counts as a test, even without votes or without a p. So leaving a dimension out never helps the others.
    """
    declared = [_declared_tests(plan, family, setting) for family, setting in zip(table["family"], table["setting"], strict=True)]
    sizes = pd.Series(declared if plan.multiplicity == "holm" else 1, index=table.index, dtype=int)
    result = table.assign(n_tests=sizes, p_corrected=np.nan, claim=UNTESTED)
    testable = result[p].notna() & (result["n_clusters"] >= FEWEST_CLUSTERS)
    for _, group in result[testable].groupby(["family", "setting"], sort=False):
        values, size = group[p], int(group["n_tests"].iloc[0])
        result.loc[group.index, "p_corrected"] = holm(values, family_size=size) if plan.multiplicity == "holm" else values
    side = np.where(result[value] > 0, SUPPORTED, CONTRADICTED)
    claim = np.where(result["p_corrected"] < plan.level, side, OPEN)
    if smallest_p in result:
        # Holm's most favourable step divides alpha by the family size for the first rejection
        result["smallest_corrected_p"] = np.minimum(1.0, result[smallest_p] * sizes)
        claim = np.where((claim == OPEN) & (result["smallest_corrected_p"] >= plan.level), IMPOSSIBLE, claim)
    return result.assign(claim=np.where(testable, claim, UNTESTED))


def _declared_tests(plan: Plan, family: str, setting: str) -> int:
    return sum(axis.metric_of(setting) is not None for axis in plan.families[family].dimensions.values())


def claimed(table: pd.DataFrame, describe: Callable[[pd.Series], str], population: str) -> str:
    """One sentence for each kind of claim in the table; each names the `population` that it is about."""
    parts = []
    for claim, lead, tail in (
        (SUPPORTED, "Supported", ""),
        (CONTRADICTED, "Contradicted", ": the metric runs against people"),
        (OPEN, "Open", ""),
        (IMPOSSIBLE, "Cannot be decided by this sample", ""),
    ):
        rows = table[table["claim"] == claim]
        if len(rows):
            parts.append(f"{lead} for {listing([describe(r) for _, r in rows.iterrows()])}, {population}{tail}.")
    return " ".join(parts)
