"""Agreement between judges, and where to look when they differ."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import pandas as pd

from lookback.judging.quality.shared import QUESTION, clip_names, estimate_row, first_repeat, scale
from lookback.stats import cohen_kappa, gwet_ac1, gwet_ac2, percent_agreement

COLUMNS = ["task", "judge_a", "judge_b", "measure", "value", "low", "high", "n", "reason"]


def judge_agreement(judgements: pd.DataFrame) -> pd.DataFrame:
    """Per task and pair of judges over the questions both answered: share of equal answers, AC1 or AC2, Cohen's kappa.

    n counts questions; intervals are over clips, whose questions go together.
    """
    rows = []
    for task, part in first_repeat(judgements).groupby("task", sort=True):
        table = part.pivot_table(index=QUESTION, columns="judge", values="answer", aggfunc="first", sort=True)
        categories = scale(task)
        for first, second in combinations(sorted(table.columns), 2):
            votes = table[[first, second]].dropna()
            votes = votes[votes.isin(categories).all(axis=1)]
            if votes.empty:
                continue
            name, coefficient = ("AC1", gwet_ac1) if len(categories) == 2 else ("AC2", gwet_ac2)
            clips = clip_names(votes.reset_index())
            measures = {
                "agreement": partial(percent_agreement, votes, categories, clusters=clips),
                name: partial(coefficient, votes, categories, clusters=clips),
                "kappa": partial(cohen_kappa, votes.iloc[:, 0], votes.iloc[:, 1], categories, clusters=clips),
            }
            pair = {"task": task, "judge_a": first, "judge_b": second}
            rows += [{**pair, "measure": measure, **estimate_row(make)} for measure, make in measures.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def disagreements(judgements: pd.DataFrame) -> pd.DataFrame:
    """Questions two judges answer differently, those with the widest gap between their values first.

    Columns: the question's key, both judges with answer, value and words, and the gap.
    """
    rows = first_repeat(judgements)
    columns = [*QUESTION, "judge", "answer", "value", "verbatim", "question"]
    pairs = rows[columns].merge(rows[columns], on=[*QUESTION, "question"], suffixes=("_a", "_b"))
    pairs = pairs[(pairs["judge_a"] < pairs["judge_b"]) & (pairs["answer_a"] != pairs["answer_b"])].copy()
    pairs["gap"] = (pairs["value_a"] - pairs["value_b"]).abs()
    return pairs.sort_values(["gap", *QUESTION], ascending=[False, *[True] * len(QUESTION)], kind="stable").reset_index(drop=True)
