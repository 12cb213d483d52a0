"""Ratings on a scale: ICC against pingouin and lme4, Kendall's tau against scipy and plain resampling."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pingouin
import pytest
from lookback.errors import NotScorable
from lookback.stats.rating_scales import icc, kendall
from scipy import stats as scipy_stats


def rated(items: int, raters: int, seed: int, scenes: int = 8, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Ratings 1-5 of items in scenes, and each item's scene."""
    rng = np.random.default_rng(seed)
    scene = np.arange(items) % scenes
    truth = rng.normal(0, spread, items) + rng.normal(0, 0.5, scenes)[scene]
    seen = 3 + truth[:, None] + rng.normal(0, 0.4, raters) + rng.normal(0, 0.8, (items, raters))
    return np.clip(np.round(seen), 1, 5), scene


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_complete_ratings_give_pingouins_icc(seed):
    table, _ = rated(30, 4, seed)
    long = pd.DataFrame(table).rename_axis("item").reset_index().melt("item", var_name="rater")
    expected = pingouin.intraclass_corr(long, "item", "rater", "value").set_index("Type")["ICC"]
    found = icc(table)
    names = {name.replace(" ", ""): value for name, value in expected.items()}
    single = names["ICC2"] if "ICC2" in names else names["ICC(A,1)"]
    average = names["ICC2k"] if "ICC2k" in names else names["ICC(A,k)"]
    assert (found.single.value, found.average.value) == pytest.approx((single, average), abs=1e-10)
    assert (found.k, found.complete) == (4, True)


def test_missing_votes_give_the_likelihood_of_lme4():
    table, _ = rated(24, 4, 5)
    rng = np.random.default_rng(5)
    table[rng.random(table.shape) < 0.25] = np.nan
    found = icc(table)
    # lme4 1.1-31, lmer(v ~ 1 + (1|item) + (1|rater), REML = TRUE)
    assert (found.item, found.rater, found.error) == pytest.approx((0.877541379, 0.012102185, 0.456363747), abs=1e-6)
    assert found.single.value == pytest.approx(0.651958850, abs=1e-6)
    assert not found.complete
    assert found.k == pytest.approx(scipy_stats.hmean(np.isfinite(table).sum(axis=1)))


def test_the_likelihood_agrees_with_the_mean_squares_where_no_vote_is_missing():
    from lookback.stats.rating_scales import _likelihood, _mean_squares

    table, _ = rated(40, 4, 0)
    assert min(_mean_squares(table)) > 0
    np.testing.assert_allclose(_likelihood(table), _mean_squares(table), rtol=1e-5)


def test_the_interval_needs_two_clusters_and_follows_them():
    table, scene = rated(60, 3, 1, scenes=10)
    by_scene, by_item = icc(table, clusters=scene).single, icc(table).single
    assert by_scene.low < by_scene.value < by_scene.high
    assert (by_scene.high - by_scene.low) != pytest.approx(by_item.high - by_item.low)
    few = icc(table, clusters=scene % 2).single
    assert few.low < by_scene.low and few.high > by_scene.high
    one = icc(table, clusters=scene * 0).single
    assert (one.low, one.note) == (None, "one cluster only: nothing to resample, no interval")


def test_the_jackknife_covers_the_true_icc():
    # variances 1 (item), 0.16 (rater, given: the same in every study), 0.64 (error): ICC(2,1) over these raters
    raters = np.array([-0.4, 0.0, 0.4])
    truth = 1 / (1 + raters.var(ddof=1) + 0.64)
    rng, hits = np.random.default_rng(3), 0
    for _ in range(200):
        table = rng.normal(size=(40, 1)) + raters + rng.normal(0, 0.8, (40, 3))
        found = icc(table, clusters=np.arange(40) // 2).single
        hits += found.low <= truth <= found.high
    assert 0.90 <= hits / 200 <= 0.99


def test_perfect_agreement_is_one_with_and_without_missing_votes():
    complete = np.tile(np.array([[1.0], [2], [3], [4], [5], [1], [2]]), 3)
    missing = complete.copy()
    missing[[0, 2, 6], [2, 1, 2]] = np.nan
    for table in (complete, missing):
        found = icc(table)
        for form in (found.single, found.average):
            assert (form.value, form.low, form.high) == (1.0, None, None)
            assert "no interval" in form.note
        assert (found.item, found.rater, found.error) == pytest.approx((complete[:, 0].var(ddof=1), 0, 0), abs=1e-12)


def test_missing_votes_may_be_pandas_own():
    table = pd.DataFrame([[1, 2], [3, None], [5, 5], [2, 2], [4, 4], [1, 1]])
    assert icc(table.astype("Int64")) == icc(table)


@pytest.mark.parametrize("bad", [np.full((6, 3), 4.0), np.array([[1.0, np.nan], [np.nan, 2.0]]), np.array([[1.0, 2.0]])])
def test_ratings_without_an_icc_say_why(bad):
    with pytest.raises(NotScorable):
        icc(bad)


def test_tau_equals_scipy_and_plain_resampling():
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    y, scene = np.round(x + rng.normal(size=60)), np.arange(60) % 12
    found = kendall(x, y, clusters=scene, resamples=400, seed=1)
    assert found.value == pytest.approx(scipy_stats.kendalltau(x, y).statistic, abs=1e-12)
    drawn = np.random.default_rng(1).integers(0, 12, size=(400, 12))
    rows = [np.concatenate([np.flatnonzero(scene == g) for g in draw]) for draw in drawn]
    plain = np.sort([scipy_stats.kendalltau(x[r], y[r]).statistic for r in rows])
    assert plain[0] <= found.low <= np.quantile(plain, 0.05)
    assert np.quantile(plain, 0.95) <= found.high <= plain[-1]
    with pytest.raises(NotScorable, match="constant"):
        kendall(x, np.ones(60))
