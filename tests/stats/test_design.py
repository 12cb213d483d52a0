"""Wilcoxon, Holm, 2x2 contrasts, correlation structure, mixed model, bootstrap."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pingouin
import pytest
from lookback.errors import ContractError, NotScorable, Reason, UsageError
from lookback.published import load
from lookback.stats import (
    bootstrap_ci,
    correlation_structure,
    factor_contrasts,
    holm,
    mixed_model,
    paired_wilcoxon,
    rank_agreement,
    smallest_attainable_p,
    stars,
)
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests

DIFFERENCES = [0.41, -0.12, 0.33, 0.05, 0.72, -0.08, 0.26, 0.51, 0.19, -0.31, 0.61, 0.44, 0.07]


def test_wilcoxon_equals_r_with_interval_and_pingouins_effect_size():
    # R 4.2.2, wilcox.test(d, conf.int = TRUE): V 77, p 0.0266113281, pseudomedian 0.245, 0.05 to 0.435
    result = paired_wilcoxon(DIFFERENCES)
    assert (result.w_plus, result.p) == pytest.approx((77, 0.0266113281))
    assert (result.shift, result.low, result.high) == pytest.approx((0.245, 0.05, 0.435))
    reference = pingouin.wilcoxon(np.array(DIFFERENCES), np.zeros(13))
    assert result.rank_biserial == pytest.approx(float(reference["RBC"].iloc[0]))


def test_wilcoxon_with_ties_is_exact_as_in_r_coin():
    # R coin 1.4-2, wilcoxsign_test(distribution = "exact", zero.method = "Wilcoxon")
    result = paired_wilcoxon([3, -1, 2, 2, -2, 5, 4, 1, 3, -1, 6, 2])
    assert result.p == pytest.approx(0.0185546875)
    assert result.exact


def test_wilcoxon_equals_scipy_exact_and_asymptotic():
    rng = np.random.default_rng(10)
    few, many = rng.normal(0.3, 1, 20), rng.normal(0.1, 1, 120)
    assert paired_wilcoxon(few).p == pytest.approx(scipy_stats.wilcoxon(few, method="exact").pvalue)
    large = paired_wilcoxon(many)
    assert not large.exact
    assert large.p == pytest.approx(scipy_stats.wilcoxon(many, method="asymptotic").pvalue)
    assert large.low < large.shift < large.high


def test_the_interval_of_many_differences_ends_at_the_pairwise_mean_of_the_normal_approximation():
    # Hollander & Wolfe, section 3.3: the C-th of the ordered means from either end, C = floor(n (n + 1) / 4 - z sd)
    differences = np.random.default_rng(4).normal(0.1, 1, 60)
    means = np.sort([(x + y) / 2 for i, x in enumerate(differences) for y in differences[i:]])
    last = int(60 * 61 / 4 - 1.959964 * np.sqrt(60 * 61 * 121 / 24))
    result = paired_wilcoxon(differences)
    assert (result.low, result.high) == pytest.approx((means[last - 1], means[-last]))


def test_differences_that_give_exactly_the_wanted_confidence_have_an_interval():
    # of 32 ways to sign five differences two leave 0 outside the smallest and the largest: 1 - 2/32
    result = paired_wilcoxon([1.0, 2, 3, 4, 5], confidence=0.9375)
    assert (result.low, result.high) == (1.0, 5.0)


def test_wilcoxon_drops_zeros_and_needs_one_difference():
    assert paired_wilcoxon([0, 0, 1, 2, 3]).n_zero == 2
    assert paired_wilcoxon([1.0, 2, 3]).smallest_p == paired_wilcoxon([1.0, 0, 0]).smallest_p == 0.25
    assert paired_wilcoxon([1.0, 2, 3]).low is None
    with pytest.raises(NotScorable) as missing:
        paired_wilcoxon([1, 2], [1, 2])
    assert missing.value.reason == Reason.UNDEFINED


def test_holm_equals_r_and_statsmodels():
    # R 4.2.2, p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.5), "holm")
    p = [0.01, 0.04, 0.03, 0.005, 0.5]
    np.testing.assert_allclose(holm(p), [0.040, 0.090, 0.090, 0.025, 0.500])
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])
    # a family of ten with five tests not computed counts those as p = 1
    np.testing.assert_allclose(holm(p, family_size=10), multipletests([*p, *[1.0] * 5], method="holm")[1][:5])
    named = holm(pd.Series(p, index=list("abcde")))
    assert named["d"] == pytest.approx(0.025)
    with pytest.raises(UsageError, match="between 0 and 1"):
        holm([0.1, np.nan])
    assert len(holm([])) == 0


@pytest.fixture
def events() -> pd.DataFrame:
    """13 models x 10 scenes x 2 x 2: moving adds 0.05, changing in place takes 0.10, and they do not interact."""
    rng = np.random.default_rng(11)
    quality, difficulty = rng.normal(0, 0.1, 13), rng.normal(0, 0.1, 10)
    rows = [
        (f"m{m}", f"s{s}", move, change, 0.6 + quality[m] + difficulty[s] + 0.05 * move - 0.10 * change + rng.normal(0, 0.05))
        for m in range(13)
        for s in range(10)
        for move in (0, 1)
        for change in (0, 1)
    ]
    return pd.DataFrame(rows, columns=["model_id", "scene", "spatial", "state", "value"])


def test_factor_contrasts_find_the_effects_put_in(events):
    table = factor_contrasts(events, first="spatial", second="state").set_index("contrast")
    assert table.loc["spatial", "mean"] == pytest.approx(0.05, abs=0.02)
    assert table.loc["state", "mean"] == pytest.approx(-0.10, abs=0.02)
    assert table.loc["state", "rank_biserial"] == -1.0
    assert table.loc["interaction", "p_holm"] > 0.05
    assert table.loc["state", "p_holm"] < 0.001
    # the interaction of the paper is a paired test of differences of differences: scipy on the same cells
    cells = events.groupby(["model_id", "spatial", "state"])["value"].mean().unstack(["spatial", "state"])
    expected = scipy_stats.wilcoxon((cells[(1, 1)] - cells[(0, 1)]) - (cells[(1, 0)] - cells[(0, 0)]), method="exact").pvalue
    assert table.loc["interaction", "p"] == pytest.approx(expected)


def test_units_without_all_cells_are_counted_not_filled(events):
    table = factor_contrasts(events[~((events["model_id"] == "m0") & (events["state"] == 1))], first="spatial", second="state")
    assert table["n"].tolist() == [12, 12, 12]
    assert table["n_incomplete"].tolist() == [1, 1, 1]
    with pytest.raises(NotScorable, match="all four cells"):
        factor_contrasts(events[events["state"] == 1], first="spatial", second="state")
    with pytest.raises(ContractError, match="spatial"):
        factor_contrasts(events.assign(spatial="moved"), first="spatial", second="state")


def test_constant_scores_have_no_test_and_say_so(events):
    table = factor_contrasts(events.assign(value=0.5), first="spatial", second="state")
    assert table["p"].isna().all()
    assert (table["reason"] != "").all()


def test_contrasts_without_a_test_still_count_in_the_correction():
    # the second factor changes nothing, so that one of three contrasts has a p: 2 / 2^6
    rows = [(f"m{m}", f, s, f * (m + 1) / 8) for m in range(6) for f in (0, 1) for s in (0, 1)]
    cells = pd.DataFrame(rows, columns=["model_id", "spatial", "state", "value"])
    table = factor_contrasts(cells, first="spatial", second="state")
    assert table["p"].notna().tolist() == [True, False, False]
    assert (table.loc[0, "p"], table.loc[0, "p_holm"]) == pytest.approx((1 / 32, 3 / 32))


def test_stars_follow_the_papers_notation():
    assert [stars(p) for p in (0.0005, 0.005, 0.03, 0.05)] == ["***", "**", "*", "n.s."]


def test_published_wrbench_correlations():
    # WRBench, text of figure 4: 0.97 and 0.94 inside the blocks, support -0.42 with visible spatial, -0.15 with integrity and
    # with re-observed state, visible to re-observed 0.60 to 0.79
    columns = ["visual_integrity", "reobs_support_pct", "visible_spatial", "visible_state", "reobs_spatial", "reobs_state"]
    table = correlation_structure(load("wrbench_table2")[columns]).set_index(["metric_a", "metric_b"])
    printed = {
        ("visible_spatial", "visible_state"): 0.97,
        ("reobs_spatial", "reobs_state"): 0.94,
        ("reobs_support_pct", "visible_spatial"): -0.42,
        ("visual_integrity", "reobs_support_pct"): -0.15,
        ("reobs_support_pct", "reobs_state"): -0.15,
    }
    for pair, r in printed.items():
        assert table.loc[pair, "r"] == pytest.approx(r, abs=0.0051), pair
        assert table.loc[pair, "n"] == 23
    across = [table.loc[(a, b), "r"] for a in ("visible_spatial", "visible_state") for b in ("reobs_spatial", "reobs_state")]
    assert (round(min(across), 2), round(max(across), 2)) == (0.60, 0.79)


def test_pairs_of_metrics_without_a_test_still_count_in_the_correction():
    values = pd.DataFrame({"a": [1.0, 2, 3, 4, 6], "b": [2.0, 1, 4, 3, 5], "constant": 0.5})
    row = correlation_structure(values).set_index(["metric_a", "metric_b"]).loc[("a", "b")]
    assert row["p_holm"] == pytest.approx(3 * row["p"])


def test_fisher_interval_equals_scipy_and_the_bootstrap_is_near():
    values = load("wrbench_table2")[["visible_spatial", "reobs_spatial"]]
    row = correlation_structure(values).iloc[0]
    reference = scipy_stats.pearsonr(values["visible_spatial"], values["reobs_spatial"])
    interval = reference.confidence_interval()
    assert (row["r"], row["p"], row["low"], row["high"]) == pytest.approx((reference.statistic, reference.pvalue, *interval))
    boot = correlation_structure(values, interval="bootstrap").iloc[0]
    assert boot["low"] < row["r"] < boot["high"]
    rank = correlation_structure(values, method="spearman").iloc[0]
    assert rank["r"] == pytest.approx(scipy_stats.spearmanr(values).statistic)


def test_a_constant_metric_has_a_reason():
    table = correlation_structure(pd.DataFrame({"a": [1.0, 2, 3, 4, 5], "b": [1.0] * 5, "c": [1, np.nan, np.nan, 2, 3]}))
    assert table["r"].isna().all()
    assert table["reason"].str.startswith((Reason.UNDEFINED, Reason.TOO_FEW_VALUES)).all()


def test_mixed_model_equals_lme4_on_penicillin(penicillin):
    # R lme4 1.1-31: lmer(diameter ~ 1 + (1|plate) + (1|sample)); the same figures are printed in Bates et al.'s lme4 book
    table = mixed_model(penicillin, value="diameter", fixed=[], random=["plate", "sample"]).set_index("term")
    assert table.loc["Intercept", ["estimate", "se"]].tolist() == pytest.approx([22.9722222222, 0.808595360929], rel=1e-3)
    found = table.loc[["plate", "sample", "residual"], "estimate"].tolist()
    assert found == pytest.approx([0.846702510215, 1.931613791087, 0.549922682091], rel=2e-3)


def test_mixed_model_finds_the_effects_put_in(events):
    table = mixed_model(events, fixed=["spatial", "state"], interactions=True).set_index("term")
    assert table.loc["spatial", "low"] < 0.05 < table.loc["spatial", "high"]
    assert table.loc["state", "low"] < -0.10 < table.loc["state", "high"]
    assert table.loc["spatial:state", "low"] < 0 < table.loc["spatial:state", "high"]
    assert table.loc["residual", "estimate"] == pytest.approx(0.05, rel=0.1)


def test_mixed_model_refuses_what_data_cannot_carry(events):
    with pytest.raises(NotScorable, match="scene has 2 level"):
        mixed_model(events[events["scene"].isin(["s0", "s1"])], fixed=["state"])
    with pytest.raises(NotScorable) as missing:
        mixed_model(events.assign(copy=events["state"]), fixed=["state", "copy"])
    assert missing.value.reason == Reason.UNDEFINED


def test_bootstrap_mean_equals_the_normal_theory_on_many_values():
    values = np.random.default_rng(13).normal(3, 2, 2000)
    result = bootstrap_ci(values, resamples=4000)
    theory = scipy_stats.norm.interval(0.95, values.mean(), values.std(ddof=1) / np.sqrt(2000))
    assert (result.low, result.high) == pytest.approx(theory, abs=0.01)


def test_bootstrap_is_seeded_and_clustered():
    values = np.repeat(np.random.default_rng(14).normal(size=30), 10)
    clusters = np.repeat(np.arange(30), 10)
    plain, clustered = bootstrap_ci(values), bootstrap_ci(values, clusters=clusters)
    assert clustered.high - clustered.low > 2.5 * (plain.high - plain.low)
    assert bootstrap_ci(values, clusters=clusters) == clustered
    assert bootstrap_ci(values, clusters=clusters, seed=1).low != clustered.low


def test_any_statistic_uses_the_same_resamples_as_the_fast_mean():
    values = np.random.default_rng(15).normal(size=40)
    fast, slow = bootstrap_ci(values, resamples=300), bootstrap_ci(values, lambda d: float(d.mean()), resamples=300)
    assert (fast.low, fast.high) == pytest.approx((slow.low, slow.high))
    assert bootstrap_ci(values, "median").value == np.median(values)


def test_bootstrap_of_nothing_one_value_and_nan():
    with pytest.raises(NotScorable):
        bootstrap_ci([])
    one = bootstrap_ci([2.0])
    assert (one.value, one.low) == (2.0, None)
    with pytest.raises(UsageError, match="finite"):
        bootstrap_ci([1.0, np.nan])


def test_zeros_are_dropped_for_the_test_and_for_its_interval():
    # R's wilcox.test drops zeros before both (`x <- x[x != 0]`); six positive differences: p = 2/64, so 0 lies outside the interval
    moved = np.array([0.3, 0.5, 0.8, 1.1, 1.7, 2.3])
    result = paired_wilcoxon(np.concatenate([np.zeros(6), moved]))
    alone = paired_wilcoxon(moved)
    assert (result.p, result.shift, result.low, result.high) == (alone.p, alone.shift, alone.low, alone.high)
    assert result.p < 0.05
    assert result.low > 0
    assert (result.n, result.n_zero) == (12, 6)


def test_contrasts_that_differ_by_rounding_alone_are_ties():
    # 3 x 0.1 is not 0.3 in floating point: the ranks of the effects must not depend on such a difference
    def contrasts(effects: list[float]) -> pd.DataFrame:
        rows = [
            {"model_id": k, "f": f, "s": s, "value": f * effect} for k, effect in enumerate(effects) for f in (0, 1) for s in (0, 1)
        ]
        return factor_contrasts(pd.DataFrame(rows), first="f", second="s").set_index("contrast")

    rounded, whole = contrasts([3 * 0.1, 0.3, -0.3, 0.1]), contrasts([3.0, 3.0, -3.0, 1.0])
    assert rounded.loc["f", ["p", "rank_biserial"]].tolist() == whole.loc["f", ["p", "rank_biserial"]].tolist()


def test_rounding_is_told_from_an_effect_at_any_scale():
    def p_of(scale: float, effect: float) -> float:
        # the moves of a cell's three clips cancel: their mean moves by `effect` alone
        rows = [
            {"model_id": k, "f": f, "s": s, "value": scale * (0.2 + f * (move + effect * (1 + k)))}
            for k in range(8)
            for f in (0, 1)
            for s in (0, 1)
            for move in (0.1, 0.2, -0.3)
        ]
        return factor_contrasts(pd.DataFrame(rows), first="f", second="s").set_index("contrast").loc["f", "p"]

    for scale in (1e-8, 1.0, 12345.678):
        assert np.isnan(p_of(scale, 0.0))
        assert p_of(scale, 1e-6) == 2 / 2**8


def test_rank_correlations_of_few_models_have_the_p_of_all_orders():
    table = pd.DataFrame({"a": [1.0, 2, 3, 4, 5], "b": [10.0, 20, 35, 90, 100], "c": [10.0, 20, 35, 100, 90]})
    found = correlation_structure(table, method="spearman").set_index(["metric_a", "metric_b"])
    for pair, row in found.iterrows():
        exact = rank_agreement(table[pair[0]], table[pair[1]])
        assert (row["r"], row["p"]) == pytest.approx((exact.rho, exact.p_rho))
        assert row["p"] >= smallest_attainable_p(5)
        if exact.rho < 1 - 1e-12:
            assert (row["low"], row["high"]) == pytest.approx((exact.population_low, exact.population_high))


@pytest.mark.parametrize("method", ["pearson", "spearman"])
@pytest.mark.parametrize("interval", ["fisher", "bootstrap"])
def test_a_correlation_of_one_has_no_interval_and_says_why(method, interval):
    table = pd.DataFrame({"a": np.arange(8.0), "b": 3 * np.arange(8.0) + 1, "c": -np.arange(8.0)})
    found = correlation_structure(table, method=method, interval=interval, resamples=200)
    assert found["r"].abs().to_numpy() == pytest.approx([1, 1, 1])
    assert found[["low", "high"]].isna().all(axis=None)
    assert (found["reason"] == "no interval: it needs a correlation short of 1").all()
    few = correlation_structure(table[:6].assign(b=[1, 3, 2, 4, 6, 5]), method=method, interval="bootstrap", resamples=200)
    assert -1 < few["low"].iloc[0] < few["r"].iloc[0] < few["high"].iloc[0] < 1


def test_metrics_that_vary_by_rounding_alone_have_no_correlation():
    table = pd.DataFrame({"a": [0.3, 3 * 0.1, 0.3, 0.3, 0.3], "b": [1.0, 2, 3, 4, 5]})
    assert correlation_structure(table)["reason"].tolist() == ["undefined: one of the two metrics is constant over the models"]


def test_an_infinite_value_is_not_called_constant():
    values = pd.DataFrame({"a": [1, 2, 3, 4, np.inf], "b": [1.0, 3, 2, 5, 4], "c": [2.0, 1, 4, 3, 5]})
    reasons = correlation_structure(values).set_index(["metric_a", "metric_b"])["reason"]
    assert reasons[("a", "b")].endswith("infinite for some model") and reasons[("b", "c")] == ""
