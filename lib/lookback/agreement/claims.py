"""What a table may claim: corrected for the number of tests, and only what the sample could have shown at all."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.stats import holm

SUPPORTED, NOT_SUPPORTED, IMPOSSIBLE, UNTESTED = "supported", "not supported", "cannot be supported by this sample", "not tested"


def add_claims(table: pd.DataFrame, plan: Plan, by: list[str], p: str) -> pd.DataFrame:
    """Adds n_tests, p_corrected, smallest_corrected_p (where `smallest_p` is known) and claim; corrected within groups `by`.

    Every row of a group counts as a test, also one whose p could not be computed: leaving a dimension out never helps the others.
    """
    sizes = table.groupby(by)[p].transform("size") if plan.multiplicity == "holm" else pd.Series(1, index=table.index)
    result = table.assign(n_tests=sizes.astype(int), p_corrected=np.nan, claim=UNTESTED)
    for _, group in result.groupby(by, sort=False):
        tested = group.index[group[p].notna()]
        if len(tested) == 0:
            continue
        values = result.loc[tested, p]
        result.loc[tested, "p_corrected"] = holm(values, family_size=len(group)) if plan.multiplicity == "holm" else values
    tested = result["p_corrected"].notna()
    result.loc[tested, "claim"] = np.where(result.loc[tested, "p_corrected"] < plan.alpha, SUPPORTED, NOT_SUPPORTED)
    if "smallest_p" in result:
        # Holm's most favourable step divides alpha by the family size for the first rejection
        result["smallest_corrected_p"] = np.minimum(1.0, result["smallest_p"] * sizes)
        hopeless = tested & (result["smallest_corrected_p"] >= plan.alpha) & (result["claim"] != SUPPORTED)
        result.loc[hopeless, "claim"] = IMPOSSIBLE
    return result
