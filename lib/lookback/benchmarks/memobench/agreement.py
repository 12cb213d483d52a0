"""MemoBench's figure 4: how often the answers to its questions agree with people's."""

from __future__ import annotations

import pandas as pd

from lookback.agreement import reading
from lookback.agreement.analyse import Analysis
from lookback.agreement.tables.metric import vqa_table


def add_tables(analysis: Analysis) -> None:
    """Figure 4 as a table, where people answered the questions too."""
    if "vqa" in analysis.tables:
        answers = vqa_table(analysis.units[analysis.units["benchmark"] == "memobench"], analysis.plan)
        if answers.empty:
            return
        title = "MemoBench figure 4: agreement of answers with people"
        table, left_out = memobench_agreement(answers), analysis.left_out("vqa", benchmark="memobench")
        analysis.add("memobench_agreement", title, "question", table, lambda: reading.read_vqa(answers) + left_out)


def memobench_agreement(vqa: pd.DataFrame) -> pd.DataFrame:
    """Rows: scenes and all; columns: dimensions and all; cells: share of questions on which people's majority equals the answer.

    Families and settings have rows of their own, where there are several.
    """
    parts = [_scenes(answers).assign(**named) for named, answers in reading.judged_parts(vqa)]
    table = pd.concat(parts, ignore_index=True)
    first, last = [name for name in ("family", "setting", "scene") if name in table], ["all", "n"]
    return table[[*first, *[name for name in table if name not in (*first, *last)], *[name for name in last if name in table]]]


def _scenes(vqa: pd.DataFrame) -> pd.DataFrame:
    wide = vqa.pivot(index="scene", columns="dimension", values="agreement")
    scenes = [*[s for s in wide.index if s != "all"], "all"]
    counts = vqa[vqa["dimension"] != "all"].groupby("scene")["n"].sum()
    return wide.loc[scenes].assign(n=counts.reindex(scenes).fillna(0).astype(int)).rename_axis(columns=None).reset_index()
