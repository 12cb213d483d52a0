"""Bias of the form of a question: does a judge say Yes too readily, and does the place in the list matter?

The first repeat alone is read, and intervals are over clips: a repeat is no second clip, and a clip's questions go together.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from lookback.clips import KEYS
from lookback.judging.quality.shared import clip_names, estimate_row, first_repeat, polarity
from lookback.stats import Estimate, bootstrap_ci, proportion
from lookback.stats.decisions import ratio_measure

COLUMNS = ["judge", "task", "measure", "value", "low", "high", "n", "reason"]
RESAMPLES = 2000
PLACE = "Spearman(place, passed) within clip and dimension"


def polarity_bias(judgements: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Per judge and task: yes rate and pass rate by polarity, and their difference; n counts answers.

    A positive question passes with Yes, a negative one with No. Over clips that are asked both, a judge without acquiescence bias
    has equal pass rates; `yes bias` = pass rate (positive) - pass rate (negative), above 0 when it says Yes too readily.
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
    return pd.DataFrame(rows, columns=COLUMNS)


def position_bias(judgements: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Per judge: the mean Spearman's rho between a VQA question's place in the bank and whether it passes; 0 without position bias.

    One rho per clip and dimension, because a bank lists its questions dimension by dimension and some are harder than others; n
    counts those where some questions pass and some fail.
    """
    rows = []
    for judge, part in _with_polarity(judgements[judgements["task"] == "vqa"]).groupby("judge", sort=True):
        place = pd.to_numeric(part["question_id"].str.rpartition(".")[2], errors="coerce")
        placed = part.assign(place=place, dimension=part["question_id"].str.partition(".")[0]).dropna(subset="place")
        groups = [group for _, group in placed.groupby([*KEYS, "dimension"], sort=True) if group["passed"].nunique() == 2]
        rhos = [float(spearmanr(group["place"], group["passed"]).statistic) for group in groups]
        clips = [clip_names(group).iat[0] for group in groups]
        row = estimate_row(partial(bootstrap_ci, rhos, clusters=clips, resamples=RESAMPLES, seed=seed))
        rows.append({"judge": judge, "task": "vqa", "measure": PLACE, **row})
    return pd.DataFrame(rows, columns=COLUMNS)


def _with_polarity(judgements: pd.DataFrame) -> pd.DataFrame:
    """Yes/no answers to questions with a polarity, and whether each passes."""
    rows = first_repeat(judgements)
    sides = [polarity(task, name) for task, name in zip(rows["task"], rows["question_id"], strict=True)]
    rows = rows.assign(polarity=sides, passed=(rows["answer"] == "yes") == (pd.Series(sides, index=rows.index) == "positive"))
    return rows[(rows["polarity"] != "") & rows["answer"].isin(["yes", "no"])]


def _share(hits: pd.Series, clips: pd.Series, seed: int) -> Estimate:
    """The share of hits; where all answers are alike there is nothing to resample, and Wilson's interval counts clips as cases."""
    if hits.nunique() < 2:
        n_clips = clips.nunique()
        return replace(proportion("share", n_clips if hits.any() else 0, n_clips), n=len(hits))
    return bootstrap_ci(hits.to_numpy(np.float64), clusters=clips, resamples=RESAMPLES, seed=seed)


def _yes_bias(part: pd.DataFrame, seed: int) -> Estimate:
    positive, passed = (part["polarity"] == "positive").to_numpy(), part["passed"].to_numpy()
    cells = np.column_stack([passed & positive, positive, passed & ~positive, ~positive]).astype(np.float64)
    return ratio_measure("yes bias", cells, _difference, clip_names(part), RESAMPLES, 0.95, seed)


def _difference(totals: np.ndarray) -> np.ndarray:
    return totals[:, 0] / totals[:, 1] - totals[:, 2] / totals[:, 3]
