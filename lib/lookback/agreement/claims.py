"""What a table may claim: corrected for the number of tests, and only what the sample could have shown at all."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.stats import holm

SUPPORTED, NOT_SUPPORTED, IMPOSSIBLE, UNTESTED = "supported", "not supported", "cannot be supported by this sample", "not tested"


def add_claims(table: pd.DataFrame, plan: Plan, p: str) -> pd.DataFrame:
    """Adds n_tests, p_corrected, smallest_corrected_p (where `smallest_p` is known) and claim; corrected by family and setting.

    Every dimension the plan declares with a metric counts as a test, also one without votes or whose p could not be computed:
    leaving a dimension out never helps the others.
    """
    declared = [_declared_tests(plan, family, setting) for family, setting in zip(table["family"], table["setting"], strict=True)]
    sizes = pd.Series(declared if plan.multiplicity == "holm" else 1, index=table.index, dtype=int)
    result = table.assign(n_tests=sizes, p_corrected=np.nan, claim=UNTESTED)
    for _, group in result.groupby(["family", "setting"], sort=False):
        tested = group.index[group[p].notna()]
        if len(tested) == 0:
            continue
        values, size = result.loc[tested, p], int(group["n_tests"].iloc[0])
        result.loc[tested, "p_corrected"] = holm(values, family_size=size) if plan.multiplicity == "holm" else values
    tested = result["p_corrected"].notna()
    result.loc[tested, "claim"] = np.where(result.loc[tested, "p_corrected"] < plan.alpha, SUPPORTED, NOT_SUPPORTED)
    if "smallest_p" in result:
        # Holm's most favourable step divides alpha by the family size for the first rejection
        result["smallest_corrected_p"] = np.minimum(1.0, result["smallest_p"] * sizes)
        hopeless = tested & (result["smallest_corrected_p"] >= plan.alpha) & (result["claim"] != SUPPORTED)
        result.loc[hopeless, "claim"] = IMPOSSIBLE
    return result


def _declared_tests(plan: Plan, family: str, setting: str) -> int:
    return sum(axis.metric_of(setting) is not None for axis in plan.families[family].dimensions.values())
