"""The gate funnel: all -> departed -> hidden -> returned -> judgeable."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd

from lookback.clips import KEYS
from lookback.judging.quality.shared import answered

STEPS = ("all", "departed", "hidden", "returned", "judgeable")
FACTS = {"departed": "camera_departed", "hidden": "subject_hidden", "returned": "subject_returned", "judgeable": "return_judgeable"}


def gate_funnel(judgements: pd.DataFrame, judge: str, by: str = "model_id") -> pd.DataFrame:
    """Clips that reach each step, per model (or another key column). A clip counts at a step only if it passed those before it.

    From the measuring judge's `timeline` answers. `unknown` counts the clips where a step before the last has no answer: they stay
    where they are and go no further.
    """
    rows = judgements[(judgements["task"] == "timeline") & (judgements["judge"] == judge) & (judgements["repeat"] == 0)]
    if rows.empty:
        return pd.DataFrame(columns=[by, *STEPS, "unknown"])
    said = answered(rows).pivot_table(index=KEYS, columns="question_id", values="answer", aggfunc="first")
    everything = rows[KEYS].drop_duplicates().set_index(KEYS).index
    said = said.reindex(everything)
    reached = pd.DataFrame({"all": True}, index=said.index)
    unknown = pd.Series(False, index=said.index)
    for before, step in pairwise(STEPS):
        column = said[FACTS[step]] if FACTS[step] in said else pd.Series(None, index=said.index, dtype=object)
        unknown |= reached[before] & column.isna()
        reached[step] = reached[before] & (column == "yes")
    counts = reached.assign(unknown=unknown).groupby(level=by, sort=True).sum().astype(int)
    return counts.reset_index()
