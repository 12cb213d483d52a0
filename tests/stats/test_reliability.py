"""Reliability of mean votes: pingouin where raters cross or never meet, least squares in between, intervals against the truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pingouin
import pytest
import statsmodels.formula.api as smf
from lookback.errors import NotScorable
from lookback.stats import noise_ceiling
from lookback.stats.reliability import mean_vote_reliability
from scipy.stats import spearmanr

# Shrout & Fleiss (1979), table 2: six targets, four judges
SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
LEVELS = [1, 2, 3, 4, 5]


def nested(votes: np.ndarray) -> np.ndarray:
    """The same votes, each by a rater of its own."""
    table = np.full((len(votes), votes.size), np.nan)
    table[np.arange(len(votes))[:, None], np.arange(votes.size).reshape(votes.shape)] = votes
    return table


def test_it_is_icc_ck_where_raters_cross_items_and_icc_1k_where_every_item_has_its_own():
    long = pd.DataFrame(SHROUT_FLEISS).stack().rename_axis(["target", "judge"]).rename("score").reset_index()
    icc = pingouin.intraclass_corr(long, targets="target", raters="judge", ratings="score").set_index("Type")["ICC"]
    icc.index = icc.index.str.replace(r"\W", "", regex=True)
    crossed, one_way = (icc[icc.index.isin(names)].iloc[0] for names in (("ICC3k", "ICCCk"), ("ICC1k",)))
    assert mean_vote_reliability(SHROUT_FLEISS).value == pytest.approx(crossed)
    assert mean_vote_reliability(SHROUT_FLEISS, raters=False).value == pytest.approx(one_way)
    assert mean_vote_reliability(nested(SHROUT_FLEISS)).value == pytest.approx(one_way)


def test_with_missing_votes_it_follows_from_least_squares():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(20, 1)) + rng.normal(size=6) + rng.normal(size=(20, 6))
    table[rng.random(table.shape) < 0.5] = np.nan
    table[0], table[1, 1:] = np.nan, np.nan  # an item without votes, an item with one
    long = pd.DataFrame(table).stack().rename_axis(["item", "rater"]).rename("vote").dropna().reset_index()
    error = smf.ols("vote ~ C(item) + C(rater)", long).fit().mse_resid
    level = smf.ols("vote ~ C(item)", long).fit().mse_resid - error
    rated = table[np.isfinite(table).any(axis=1)]
    weights = np.nan_to_num(np.isfinite(rated) / np.isfinite(rated).sum(axis=1, keepdims=True))
    noise = level * weights.var(axis=0, ddof=1).sum() + error * (weights**2).sum(axis=1).mean()
    assert mean_vote_reliability(table).value == pytest.approx(1 - noise / np.nanmean(rated, axis=1).var(ddof=1))


def study(rng: np.random.Generator, bias: float, own: bool) -> tuple[np.ndarray, np.ndarray]:
    """(true quality, votes of three raters on five levels) of 6 models in 12 scenes; `own`: every item has its own raters."""
    quality = np.array([0.6, 0.4, 0.2, -0.1, -0.3, -0.7]) + 0.4 * rng.normal(size=(12, 1)) + 0.5 * rng.normal(size=(12, 6))
    hidden = 3 + quality.reshape(-1, 1) + bias * rng.normal(size=(72, 3) if own else 3) + rng.normal(size=(72, 3))
    return quality.ravel(), np.clip(np.rint(hidden), 1, 5)


@pytest.mark.parametrize(("own", "bias"), [(False, 0.0), (False, 0.8), (True, 0.4)])
def test_intervals_hold_what_a_perfect_metric_reaches_whatever_the_raters_levels(own, bias):
    rng, scenes = np.random.default_rng(3), np.repeat(np.arange(12), 6)
    reached, found = [], []
    for _ in range(150):
        quality, votes = study(rng, bias, own)
        reached.append(spearmanr(quality, votes.mean(axis=1)).statistic)
        found.append(noise_ceiling(votes, LEVELS, clusters=scenes, raters=not own))
    truth, (low, high) = np.mean(reached), np.array([(e.low, e.high) for e in found]).T
    assert np.mean([e.value for e in found]) == pytest.approx(truth, abs=0.02)
    assert ((low <= truth) & (truth <= high)).mean() > 0.88  # 95 % less four standard errors of 150 studies
    assert (np.array(reached) > high).mean() <= 0.05


def test_one_way_would_count_crossed_raters_levels_as_noise():
    # the check above has teeth
    rng = np.random.default_rng(3)
    votes = [study(rng, 0.4, own=False)[1] for _ in range(30)]
    one_way, two_way = (np.mean([mean_vote_reliability(v, raters=known).value for v in votes]) for known in (False, True))
    assert two_way - one_way > 0.04


def test_votes_that_never_differ_are_wholly_reliable_and_noise_has_a_reason():
    same = mean_vote_reliability(np.repeat([[1.0], [2.0], [2.0], [4.0]], 3, axis=1))
    assert (same.value, same.low, same.n) == (1.0, None, 4) and "do not differ" in same.note
    assert mean_vote_reliability([[1, 2, 3], [2, 3, 4], [5, 6, 7]]).value == 1.0  # raters differ by their levels alone
    with pytest.raises(NotScorable, match="the votes show no signal"):
        mean_vote_reliability([[0, 1], [1, 0], [0, 1]])
    with pytest.raises(NotScorable, match="two items with two votes"):
        mean_vote_reliability([[0, 1], [1, np.nan]])
