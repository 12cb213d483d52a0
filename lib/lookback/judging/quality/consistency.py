"""Do judges give stable answers? Agreement with themselves (test-retest), with each other, and bias from how a question is put.

Intervals are over clips, because the questions about one clip belong together. Except for test-retest, only the first repeat is
read: a repeat is not another clip.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from lookback.clips import KEYS
from lookback.errors import NotScorable, Reason
from lookback.registry import BENCHMARKS
from lookback.stats import Estimate, bootstrap_ci, cohen_kappa, gwet_ac1, gwet_ac2, percent_agreement, proportion
from lookback.stats.decisions import ratio_measure
from lookback.stats.intervals import CORRELATION, SHARE

QUESTION = [*KEYS, "task", "question_id"]
YES_NO = ["no", "yes"]
RATINGS = ["1", "2", "3", "4", "5"]
RATED = ("state_progress", "progress_correctness")
ESTIMATE = ["measure", "value", "low", "high", "n", "reason"]
RESAMPLES = 2000
PLACE = "Spearman(place, passed) within clip and dimension"


def answered(judgements: pd.DataFrame) -> pd.DataFrame:
    """The rows that have an answer."""
    return judgements[judgements["reason"] == ""]


def first_repeat(judgements: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first repeat that have an answer."""
    rows = answered(judgements)
    return rows[rows["repeat"] == 0]


def clip_names(rows: pd.DataFrame) -> pd.Series:
    """The clip of each row as one label. Intervals over questions resample these clusters."""
    return pd.Series(["/".join(key) for key in rows[KEYS].itertuples(index=False)], index=rows.index, dtype=object)


def polarity(task: str, question_id: str) -> str:
    """positive or negative; empty where the question has no polarity."""
    return next((found for benchmark in BENCHMARKS if (found := benchmark.polarity(task, question_id))), "")


def scale(task: str) -> list[str]:
    """The answers a task may have."""
    return RATINGS if task in RATED else YES_NO


def estimate_row(make: Callable[[], Estimate]) -> dict[str, object]:
    """The value, interval and n of an estimate, or the reason why there is none."""
    try:
        estimate = make()
    except NotScorable as missing:
        return {"value": None, "low": None, "high": None, "n": 0, "reason": str(missing.reason)}
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n, "reason": ""}


def test_retest(judgements: pd.DataFrame) -> pd.DataFrame:
    """Does a judge answer the same question the same way twice? One row per judge, task and measure.

    Measures: the share of agreeing repeats, AC1 (yes/no) or AC2 (ratings), and the mean spread of the value. Every repeat counts
    as a rater of the same questions. A question with only one answer is left out.
    """
    rows = []
    for (judge, task), part in answered(judgements).groupby(["judge", "task"], sort=True):
        table = part.pivot_table(index=QUESTION, columns="repeat", values="answer", aggfunc="first", sort=True)
        if table.shape[1] < 2:
            continue
        categories = scale(task)
        votes = table.where(table.isin(categories), None)
        name, coefficient = ("AC1", gwet_ac1) if len(categories) == 2 else ("AC2", gwet_ac2)
        clips = clip_names(votes.reset_index())
        measures = {
            "agreement": estimate_row(partial(percent_agreement, votes, categories, clusters=clips)),
            name: estimate_row(partial(coefficient, votes, categories, clusters=clips)),
            "spread of value": _spread(part),
        }
        rows += [{"judge": judge, "task": task, "measure": name, **row} for name, row in measures.items()]
    return pd.DataFrame(rows, columns=["judge", "task", *ESTIMATE])


def _spread(part: pd.DataFrame) -> dict[str, object]:
    """The standard deviation of a question's values, averaged over the questions with two or more answers."""
    values = part.groupby(QUESTION)["value"]
    spread = values.std(ddof=0)[values.count() > 1]
    value, reason = (float(spread.mean()), "") if len(spread) else (None, str(Reason.TOO_FEW_VALUES))
    return {"value": value, "low": None, "high": None, "n": len(spread), "reason": reason}


test_retest.__test__ = False  # type: ignore[attr-defined]  # pytest must not take this statistic for a test


def judge_agreement(judgements: pd.DataFrame) -> pd.DataFrame:
    """Per task and pair of judges, over the questions that both answered: share of equal answers, AC1 or AC2, Cohen's kappa.

    n counts questions.
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
    return pd.DataFrame(rows, columns=["task", "judge_a", "judge_b", *ESTIMATE])


def disagreements(judgements: pd.DataFrame) -> pd.DataFrame:
    """The questions that two judges answer differently, the largest gap between their values first.

    Columns: the key of the question, the answer, value and words of both judges, and the gap.
    """
    rows = first_repeat(judgements)
    columns = [*QUESTION, "judge", "answer", "value", "verbatim", "question"]
    pairs = rows[columns].merge(rows[columns], on=[*QUESTION, "question"], suffixes=("_a", "_b"))
    pairs = pairs[(pairs["judge_a"] < pairs["judge_b"]) & (pairs["answer_a"] != pairs["answer_b"])].copy()
    pairs["gap"] = (pairs["value_a"] - pairs["value_b"]).abs()
    return pairs.sort_values(["gap", *QUESTION], ascending=[False, *[True] * len(QUESTION)], kind="stable").reset_index(drop=True)


def polarity_bias(judgements: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Does a judge say Yes too often? Per judge and task: yes rate and pass rate by polarity, and their difference.

    A positive question passes with Yes, a negative one with No. Over clips that are asked both, a judge without bias has equal
    pass rates. `yes bias` = pass rate (positive) - pass rate (negative); above 0 the judge says Yes too often. n counts answers.
    """
    rows = []
    for (judge, task), part in _with_polarity(judgements).groupby(["judge", "task"], sort=True):
        measures = {}
        for side in ("positive", "negative"):
            chosen = part[part["polarity"] == side]
            measures[f"yes rate, {side}"] = partial(_share, chosen["answer"] == "yes", clip_names(chosen), seed)
            measures[f"pass rate, {side}"] = partial(_share, chosen["passed"], clip_names(chosen), seed)
        measures["yes bias"] = partial(_yes_bias, part, seed)
        rows += [{"judge": judge, "task": task, "measure": name, **estimate_row(make)} for name, make in measures.items()]
    return pd.DataFrame(rows, columns=["judge", "task", *ESTIMATE])


def position_bias(judgements: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Does the place of a VQA question in the bank matter? Per judge: mean Spearman's rho of place and passing; 0 without bias.

    There is one rho per clip and dimension, because a bank lists its questions by dimension and some dimensions are harder. n
    counts the clips and dimensions where some questions pass and some fail.
    """
    rows = []
    for judge, part in _with_polarity(judgements[judgements["task"] == "vqa"]).groupby("judge", sort=True):
        place = pd.to_numeric(part["question_id"].str.rpartition(".")[2], errors="coerce")
        placed = part.assign(place=place, dimension=part["question_id"].str.partition(".")[0]).dropna(subset="place")
        groups = [group for _, group in placed.groupby([*KEYS, "dimension"], sort=True) if group["passed"].nunique() == 2]
        rhos = [float(spearmanr(group["place"], group["passed"]).statistic) for group in groups]
        clips = [clip_names(group).iat[0] for group in groups]
        row = estimate_row(partial(bootstrap_ci, rhos, clusters=clips, bounds=CORRELATION, resamples=RESAMPLES, seed=seed))
        rows.append({"judge": judge, "task": "vqa", "measure": PLACE, **row})
    return pd.DataFrame(rows, columns=["judge", "task", *ESTIMATE])


def _with_polarity(judgements: pd.DataFrame) -> pd.DataFrame:
    """The yes/no answers to questions with a polarity, and whether each answer passes."""
    rows = first_repeat(judgements)
    sides = [polarity(task, name) for task, name in zip(rows["task"], rows["question_id"], strict=True)]
    rows = rows.assign(polarity=sides, passed=(rows["answer"] == "yes") == (pd.Series(sides, index=rows.index) == "positive"))
    return rows[(rows["polarity"] != "") & rows["answer"].isin(["yes", "no"])]


def _share(hits: pd.Series, clips: pd.Series, seed: int) -> Estimate:
    """The share of hits. Where all answers are equal, resampling gives no interval; Wilson's interval over clips is used."""
    if hits.nunique() < 2:
        n_clips = clips.nunique()
        return replace(proportion("share", n_clips if hits.any() else 0, n_clips), n=len(hits))
    return bootstrap_ci(hits.to_numpy(np.float64), clusters=clips, bounds=SHARE, resamples=RESAMPLES, seed=seed)


def _yes_bias(part: pd.DataFrame, seed: int) -> Estimate:
    positive, passed = (part["polarity"] == "positive").to_numpy(), part["passed"].to_numpy()
    cells = np.column_stack([passed & positive, positive, passed & ~positive, ~positive]).astype(np.float64)
    return ratio_measure("yes bias", cells, _difference, clip_names(part), RESAMPLES, 0.95, seed)


def _difference(totals: np.ndarray) -> np.ndarray:
    return totals[:, 0] / totals[:, 1] - totals[:, 2] / totals[:, 3]
