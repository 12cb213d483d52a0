"""Few clusters, one cluster, clusters that do not vary: an interval that means something, or none and a reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lookback.stats import (
    bootstrap_ci,
    bradley_terry,
    bridge,
    cohen_kappa,
    gwet_ac1,
    judgeability_agreement,
    krippendorff_alpha,
    model_ceiling,
    percent_agreement,
    rank_agreement_pairs,
    spearman,
    trigger_validation,
    win_ratios,
)
from lookback.stats.intervals import MOST_RESAMPLES, Estimate, enough_resamples, share
from lookback.stats.model_agreement import noise_covariance
from scipy import stats as scipy_stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint


def compared(scenes: int, models: int = 3, per_pair: int = 4, ties: bool = False, seed: int = 0) -> pd.DataFrame:
    """Votes on all pairs of models in each scene; the better index wins more often."""
    rng = np.random.default_rng(seed)
    rows = []
    for scene in range(scenes):
        for i in range(models):
            for j in range(i):
                for d in 0.4 * (i - j) + rng.normal(size=per_pair) + rng.normal(0, 0.5):
                    label = 0 if ties and abs(d) < 0.4 else int(np.sign(d))
                    rows.append({"scene": f"s{scene}", "model_a": f"m{i}", "model_b": f"m{j}", "label": label})
    return pd.DataFrame(rows)


def test_strengths_of_one_scene_have_no_standard_errors_and_say_why():
    result = bradley_terry(compared(1, per_pair=30, ties=True), cluster="scene")
    assert result.table["log_strength"].notna().all()
    assert result.table[["se", "low", "high"]].isna().all(axis=None)
    assert result.covariance.isna().all(axis=None)
    assert result.note == "no standard errors by scene: one cluster only: nothing to resample, no interval"


def test_strengths_with_no_more_clusters_than_parameters_are_called_rough():
    result = bradley_terry(compared(5, models=6), cluster="scene")
    assert "rough: 5 clusters (scene) for 5 free parameters" in result.note
    assert result.table["se"].notna().all()


def test_a_strength_rests_on_the_scenes_of_its_model():
    pairs = compared(12, models=4, ties=True)
    late = pairs["scene"].isin([f"s{k}" for k in range(6, 12)])
    for missing, seen in ((late, 6), (pairs["scene"] != "s0", 1)):
        result = bradley_terry(pairs[~(missing & (pairs["model_a"] == "m3"))], cluster="scene")
        rows = result.table.set_index("model")
        half = (rows["high"] - rows["log_strength"]) / rows["se"]
        assert half[["m0", "m1", "m2"]].tolist() == pytest.approx([scipy_stats.t.ppf(0.975, 11)] * 3)
        if seen == 6:
            assert (half["m3"], result.note) == (pytest.approx(scipy_stats.t.ppf(0.975, 5)), "")
        else:
            assert rows.loc["m3", ["se", "low", "high"]].isna().all() and rows.loc["m3", "log_strength"] > 0
            assert "no standard error of m3, which one cluster (scene) alone shows" in result.note


def test_values_that_do_not_vary_have_no_interval_whatever_their_size():
    for value in (1.0, 12345.678, 0.1):
        for statistic in ("mean", "median"):
            found = bootstrap_ci([value] * 30, statistic, clusters=np.repeat(np.arange(10), 3), resamples=200)
            assert (found.value, found.low, found.high, found.se) == (pytest.approx(value), None, None, None)
            assert "same value" in found.note


def estimates(scenes: int, rng: np.random.Generator) -> dict[str, Estimate]:
    """Each kind of formula on one study whose scenes differ: three yes/no votes and a score on eight items of each scene."""
    scene = np.repeat(np.arange(scenes), 8)
    level = 0.7 * rng.normal(size=scenes)[scene] + 0.7 * rng.normal(size=8 * scenes)
    votes = (level[:, None] + rng.normal(size=(8 * scenes, 3)) > -0.3).astype(int)
    score = 0.8 * level + rng.normal(size=8 * scenes)
    common = {"clusters": scene, "resamples": 400}
    return {
        "percent": percent_agreement(votes, [0, 1], clusters=scene),
        "AC1": gwet_ac1(votes, [0, 1], clusters=scene),
        "alpha": krippendorff_alpha(votes, [0, 1], **common),
        "kappa": cohen_kappa(votes[:, 0], votes[:, 1], [0, 1], **common),
        "share": share("x", votes[:, 0] == 1, scene),
        "rho": spearman(score, votes.mean(axis=1), **common),
        "mean": bootstrap_ci(score, **common),
    }


def test_one_cluster_has_no_interval_whatever_its_formula():
    for estimate in estimates(1, np.random.default_rng(1)).values():
        assert (estimate.low, estimate.high, estimate.p) == (None, None, None), estimate
        assert "one cluster only" in estimate.note
    strengths = bradley_terry(compared(1, per_pair=30), cluster="scene").table
    assert strengths[["se", "low", "high"]].isna().all(axis=None)
    assert win_ratios(compared(1), cluster="scene")[["low", "high"]].isna().all(axis=None)
    assert gwet_ac1([[0, 1, 1]], [0, 1]).low is None


@pytest.fixture(scope="module")
def truth() -> dict[str, float]:
    return {name: estimate.value for name, estimate in estimates(4000, np.random.default_rng(0)).items()}


@pytest.mark.parametrize("scenes", [2, 4])
def test_intervals_of_a_few_scenes_hold_the_truth(truth, scenes):
    rng = np.random.default_rng(scenes)
    studies = [estimates(scenes, rng) for _ in range(150)]
    for name, value in truth.items():
        bounds = [(study[name].low, study[name].high) for study in studies if study[name].low is not None]
        assert len(bounds) >= 120, name
        # three Monte Carlo errors (0.018) below 0.95, since fourteen shares are checked at once
        assert np.mean([low <= value <= high for low, high in bounds]) >= 0.896, name


def test_the_interval_of_a_mean_of_few_clusters_is_students():
    values = np.array([1.0, 2.0, 4.0, 8.0])
    found = bootstrap_ci(values, resamples=20_000)
    half = scipy_stats.t.ppf(0.975, 3) * values.std(ddof=1) / 2
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), rel=0.03)


def test_rank_agreement_of_one_scene_has_a_note_for_an_interval():
    table = compared(1, models=5).assign(human=lambda d: d["label"], metric=lambda d: d["label"])
    result = rank_agreement_pairs(table, cluster="scene", resamples=200)
    assert (result.rho_low, result.tau_high, result.bootstrap_low) == (None, None, None)
    assert "nothing to resample" in result.note


def test_noise_of_few_scenes_leaves_no_direction_free_of_noise():
    # the plain covariance of G scenes has rank G - 1; what the interval uses must not
    rng = np.random.default_rng(1)
    points, played = rng.integers(0, 2, (40, 12)).astype(float), np.ones((40, 12))
    clusters = np.repeat(np.arange(5), 8)
    noise = noise_covariance(points, played, clusters, sides=2)
    sums = np.stack([(points - points.mean(axis=0))[clusters == g].sum(axis=0) for g in range(5)]) / 40
    plain = sums.T @ sums * 5 / 4
    assert np.linalg.matrix_rank(plain) == 4
    assert np.linalg.eigvalsh(noise).min() > 0.1 * np.diag(plain).mean()
    assert np.diag(noise).mean() == pytest.approx(np.diag(plain).mean(), rel=0.02)
    # with many scenes it is the plain covariance
    mixed = np.array([[1, 0.8, 0.3, 0], [0, 0.4, 0.2, 0.5], [0, 0, 0.9, 0], [0, 0, 0, 0.3]])
    points, played, clusters = rng.random((4000, 4)) @ mixed, np.ones((4000, 4)), np.arange(4000)
    plain = np.cov(points.T) / 4000
    np.testing.assert_allclose(noise_covariance(points, played, clusters, sides=2), plain, atol=0.02 * plain.max())


def test_a_share_of_one_has_wilsons_interval_over_the_clusters():
    result = share("recall", [True] * 15, np.repeat(np.arange(5), 3))
    assert (result.low, result.high) == pytest.approx(proportion_confint(5, 5, method="wilson"))


def test_a_share_of_clusters_of_one_case_is_wilsons():
    hits = [True, True, False, True, False]
    assert share("x", hits, list("abcde")) == share("x", hits)


def test_wilsons_interval_holds_a_share_of_none_and_of_all():
    for n in range(2, 40):
        none, every = share("x", [False] * n), share("x", [True] * n)
        assert none.low <= 0.0 and every.high >= 1.0


def test_a_clustered_share_counts_effective_cases():
    # by hand: copies of one case four times over are worth one each; t over the clusters widens further (Korn & Graubard 1998)
    cases = np.array([1, 1, 1, 0, 1, 0, 1, 1, 0, 1], dtype=bool)
    result = share("x", np.repeat(cases, 4), np.repeat(np.arange(10), 4))
    value = 0.7
    variance = 10 / 9 * (7 * 0.3**2 + 3 * 0.7**2) / 100
    effective = value * (1 - value) / variance * (scipy_stats.t.ppf(0.975, 39) / scipy_stats.t.ppf(0.975, 9)) ** 2
    assert (result.low, result.high) == pytest.approx(proportion_confint(value * effective, effective, method="wilson"))
    assert result.n == 40


def test_clusters_with_the_same_share_count_all_cases_and_lose_by_t_alone():
    result = share("x", [True, False] * 6, np.repeat(np.arange(6), 2))
    effective = 12 * (scipy_stats.t.ppf(0.975, 11) / scipy_stats.t.ppf(0.975, 5)) ** 2
    assert (result.low, result.high) == pytest.approx(proportion_confint(effective / 2, effective, method="wilson"))


def test_two_large_clusters_that_contradict_each_other_count_as_one_case_at_least():
    result = share("x", [True] * 50 + [False] * 50 + [True, False, True], [0] * 50 + [1] * 50 + [2, 3, 4])
    assert result.method.endswith("count as 1.0")


def test_clustered_shares_cover_and_independent_ones_do_not():
    rng = np.random.default_rng(2)
    scenes = np.repeat(np.arange(8), 8)
    covered, naive = [], []
    for _ in range(400):
        hits = (rng.random((8, 8)) < rng.beta(1.6, 2.4, 8)[:, None]).ravel()
        for clusters, found in ((scenes, covered), (None, naive)):
            result = share("x", hits, clusters)
            found.append(result.low <= 0.4 <= result.high)
    assert np.mean(covered) > 0.93
    assert np.mean(naive) < 0.87


def test_one_cluster_has_no_bounds_and_the_row_says_so():
    rows = trigger_validation(["yes", "no", "yes"], ["yes", "no", "no"], clusters=["s", "s", "s"])
    assert rows[["low", "high"]].isna().all(axis=None)
    counts = rows["measure"].str.startswith(("true_", "false_"))
    assert rows.loc[counts, "value"].tolist() == [1, 0, 1, 1]
    assert rows.loc[~counts, "reason"].str.contains("one cluster only").all()


def test_a_judge_that_is_always_right_has_no_zero_width_interval():
    human = ["yes", "no"] * 8
    for rows in (trigger_validation(human, human, clusters=np.repeat(np.arange(8), 2)), judgeability_agreement(human, human)):
        rows = rows[~rows["measure"].str.startswith(("true_", "false_"))]
        bounded = rows[rows["low"].notna()]
        assert len(bounded) >= 3
        assert (bounded["high"] - bounded["low"] > 0.15).all()
        assert rows.loc[rows["low"].isna(), "reason"].str.contains("same value|do not vary").all()


def test_a_model_that_wins_everything_has_a_win_ratio_with_width():
    table = pd.DataFrame({"model_a": ["x"] * 12, "model_b": ["y"] * 12, "label": 1, "scene": np.repeat(np.arange(6), 2)})
    best = win_ratios(table, cluster="scene").set_index("model").loc["x"]
    assert (best["low"], best["high"]) == pytest.approx(proportion_confint(6, 6, method="wilson"))
    assert "6 clusters" in best["reason"]


def test_bridge_rates_know_their_scenes():
    # ten scenes of eight pairs; the metric is right on whole scenes or on none: ten independent cases, not eighty
    right = np.repeat(np.array([1, 1, 0, 1, 0, 1, 1, 0, 1, 1]), 8)
    labels = np.tile([1, -1, 1, 0, -1, 1, 0, -1], 10)
    delta = np.where(right, labels, -np.where(labels == 0, 1, labels)) * 0.3
    scenes = np.repeat(np.arange(10), 8)
    clustered, naive = bridge(labels, delta, 0.05, clusters=scenes), bridge(labels, delta, 0.05)
    for name in ("exact", "strict", "tie", "reversal_rate"):
        one, many = getattr(clustered, name), getattr(naive, name)
        assert one.value == many.value
        assert one.high - one.low > 1.3 * (many.high - many.low), name
    exact = clustered.exact
    assert exact.low < proportion_confint(7, 10, method="wilson")[0]
    assert clustered.as_row()["note"] == ""
    alone = bridge(labels[:8], delta[:8], 0.05, clusters=scenes[:8]).as_row()
    assert alone["note"].count("one cluster only") == 1


def test_clustered_kappa_equals_a_loop_over_resampled_scenes():
    rng = np.random.default_rng(3)
    people = rng.integers(0, 2, 120)
    judge = np.where(rng.random(120) < 0.8, people, 1 - people)
    scenes = np.sort(rng.integers(0, 15, 120))
    result = cohen_kappa(people, judge, [0, 1], clusters=scenes, resamples=400, seed=4)
    assert result.value == pytest.approx(cohen_kappa_score(people, judge))
    order = sorted(set(scenes))
    members = [np.flatnonzero(scenes == s) for s in order]
    loop = []
    for row in np.random.default_rng(4).integers(0, len(order), size=(400, len(order))):
        index = np.concatenate([members[g] for g in row])
        loop.append(cohen_kappa_score(people[index], judge[index]))
    g = len(order)
    tail = scipy_stats.norm.cdf(np.sqrt(g / (g - 1)) * scipy_stats.t.ppf(0.025, g - 1))
    np.testing.assert_allclose([result.low, result.high], np.quantile(loop, [tail, 1 - tail]), atol=1e-12)


def test_perfect_kappa_and_rho_have_no_zero_width_interval():
    x, scenes = np.arange(24) % 4, np.repeat(np.arange(6), 4)
    for result in (cohen_kappa(x, x, [0, 1, 2, 3], clusters=scenes), spearman(x, x, clusters=scenes)):
        assert result.value == pytest.approx(1)
        assert result.low is None
        assert "same value" in result.note


def test_the_model_ceiling_counts_the_odd_vote():
    # three votes a pair: the ceiling is the correlation of the true win ratios with those of three votes, here by simulation
    rng = np.random.default_rng(6)
    m, reached, said = 30, [], []
    a, b = np.triu_indices(m, 1)
    chosen = rng.permutation(len(a))[:150]
    a, b = a[chosen], b[chosen]
    strength = rng.normal(0, 0.5, m)
    chance = scipy_stats.norm.cdf(strength[a] - strength[b])
    played = np.bincount(a, minlength=m) + np.bincount(b, minlength=m)

    def ratios(points: np.ndarray) -> np.ndarray:
        return (np.bincount(a, points, m) + np.bincount(b, 1 - points, m)) / played

    for _ in range(20):
        votes = np.where(rng.random((len(a), 3)) < chance[:, None], 1, -1)
        reached.append(scipy_stats.spearmanr(ratios(chance), ratios((votes.mean(axis=1) + 1) / 2)).statistic)
        estimate = model_ceiling(votes, a.astype(str), b.astype(str), splits=40)
        said.append(estimate.value)
        r = float(estimate.note.split()[-1])
        assert estimate.value == pytest.approx(np.sqrt(3 * r / (1 + 2 * r)), abs=1e-3)
    assert np.mean(said) == pytest.approx(np.mean(reached), abs=0.012)


def test_percentiles_have_resamples_beyond_them():
    assert [enough_resamples(100, clusters, 0.95) for clusters in (5, 10, 40)] == [100, 585, 247]
    assert enough_resamples(100, 10, 0.9999) == MOST_RESAMPLES
    assert "585 resamples" in bootstrap_ci(np.arange(10.0), resamples=100).method
