"""What an MBench dataset holds: table 4, samples by subset."""

from __future__ import annotations

import pandas as pd

SUBSETS = ("human", "object", "environment", "causal")


def composition(clips: pd.DataFrame) -> pd.DataFrame:
    """Table 4: number of evaluation samples per subset in A and in T, with totals."""
    samples = clips.drop_duplicates(["setting", "subset", "sample_id"])
    counts = pd.crosstab(samples["subset"], samples["setting"]).reindex(index=list(SUBSETS), columns=["A", "T"], fill_value=0)
    counts["total"] = counts.sum(axis=1)
    counts.loc["total"] = counts.sum()
    return counts.rename_axis(columns=None).reset_index(names="subset")
