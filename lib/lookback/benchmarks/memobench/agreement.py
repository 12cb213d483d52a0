"""MemoBench's figure 4: how often the answers to its questions agree with people's."""

from __future__ import annotations

import pandas as pd

from lookback.agreement import reading
from lookback.agreement.analyse import Analysis


def add_tables(analysis: Analysis) -> None:
    """Figure 4 as a table, where people answered the questions too."""
    if "vqa" in analysis.tables:
        answers = analysis.tables["vqa"]
        title = "MemoBench figure 4: agreement of answers with people"
        table = memobench_agreement(answers)
        analysis.add("memobench_agreement", title, "question", table, lambda: reading.read_vqa(answers) + analysis.left_out("vqa"))


def memobench_agreement(vqa: pd.DataFrame) -> pd.DataFrame:
    """Rows: scenes and all; columns: dimensions and all; cells: share of questions on which people's majority equals the answer."""
    wide = vqa.pivot(index="scene", columns="dimension", values="agreement")
    scenes = [*[s for s in wide.index if s != "all"], "all"]
    dimensions = [*[d for d in wide.columns if d != "all"], *(["all"] if "all" in wide else [])]
    table = wide.loc[scenes, dimensions]
    counts = vqa[vqa["dimension"] != "all"].groupby("scene")["n"].sum()
    return table.assign(n=counts.reindex(scenes).fillna(0).astype(int)).rename_axis(columns=None).reset_index()
