"""The 2x2 event design: main effects and interaction, paired within models (WRBench figure 6, table 8).

Per model, with cell means m_fs (f: first factor, s: second factor):
    first       = ((m_10 - m_00) + (m_11 - m_01)) / 2
    second      = ((m_01 - m_00) + (m_11 - m_10)) / 2
    interaction = (m_11 - m_01) - (m_10 - m_00)
each tested over models by the paired Wilcoxon test, Holm-corrected over the three.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lookback.errors import ContractError, NotScorable, Reason, UsageError
from lookback.stats.holm import holm
from lookback.stats.wilcoxon import paired_wilcoxon


def factor_contrasts(
    table: pd.DataFrame,
    *,
    first: str,
    second: str,
    value: str = "value",
    unit: str = "model_id",
    confidence: float = 0.95,
) -> pd.DataFrame:
    """One row per contrast (first, second, interaction): n units, mean, Hodges-Lehmann shift and interval, p, p_holm, effect size.

    `table` has one row per clip; the factor columns hold 0/1 or booleans. Units without all four cells are left out and counted in
    `n_incomplete`. Rows whose value is missing are not used.
    """
    lacking = [c for c in (first, second, value, unit) if c not in table]
    if lacking:
        raise UsageError(f"the table lacks the column(s) {', '.join(lacking)}")
    used = table.loc[table[value].notna(), [first, second, value, unit]]
    for factor in (first, second):
        odd = sorted({repr(v) for v in used[factor].unique() if v not in (0, 1)})
        if odd:
            raise ContractError(f"factor {factor!r} must hold 0/1 or booleans, found {', '.join(odd[:5])}")
    cells = used.astype({first: int, second: int}).groupby([unit, first, second])[value].mean().unstack([first, second])
    cells = cells.reindex(columns=pd.MultiIndex.from_product([[0, 1], [0, 1]]))
    complete = cells.dropna()
    if len(complete) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"no {unit} has values in all four cells of {first} x {second}")
    m00, m01, m10, m11 = (complete[c].to_numpy() for c in ((0, 0), (0, 1), (1, 0), (1, 1)))
    contrasts = {
        first: ((m10 - m00) + (m11 - m01)) / 2,
        second: ((m01 - m00) + (m11 - m10)) / 2,
        "interaction": (m11 - m01) - (m10 - m00),
    }
    rows = [_row(name, values, len(cells) - len(complete), confidence) for name, values in contrasts.items()]
    result = pd.DataFrame(rows)
    tested = result["p"].notna()
    result["p_holm"] = np.nan
    result.loc[tested, "p_holm"] = holm(result.loc[tested, "p"], family_size=len(rows))
    return result


def _row(name: str, values: np.ndarray, incomplete: int, confidence: float) -> dict[str, Any]:
    row: dict[str, Any] = {"contrast": name, "n": len(values), "n_incomplete": incomplete, "mean": float(values.mean())}
    # cell means differ by rounding alone where nothing differs
    values = np.where(np.abs(values) < 1e-12, 0.0, values)
    try:
        test = paired_wilcoxon(values, confidence=confidence)
    except NotScorable as missing:
        empty = dict.fromkeys(("shift", "low", "high", "p", "rank_biserial", "smallest_p"), np.nan)
        return {**row, **empty, "reason": str(missing)}
    bounds = {"low": np.nan if test.low is None else test.low, "high": np.nan if test.high is None else test.high}
    tested = {"shift": test.shift, **bounds, "p": test.p, "rank_biserial": test.rank_biserial, "smallest_p": test.smallest_p}
    return {**row, **tested, "reason": ""}


def stars(p: float) -> str:
    """WRBench's notation: * p < 0.05, ** p < 0.01, *** p < 0.001, n.s. otherwise."""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else "n.s."
