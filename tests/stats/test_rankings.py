"""Win ratios, rank agreement, Bradley-Terry: models ranked by people and by metrics."""

from __future__ import annotations

from math import factorial

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from lookback.errors import ContractError, NotScorable, Reason, UsageError
from lookback.stats import (
    bradley_terry,
    rank_agreement,
    rank_agreement_pairs,
    rank_intervals,
    smallest_attainable_p,
    win_ratio_difference,
    win_ratios,
)
from scipy import stats as scipy_stats


@pytest.fixture
def pairs() -> pd.DataFrame:
    """60 scenes x all pairs of five models, the better model index winning more often, with ties."""
    rng = np.random.default_rng(4)
    rows = []
    for scene in range(60):
        for i in range(5):
            for j in range(i):
                d = 0.5 * (i - j) + rng.normal()
                rows.append(
                    {"scene": scene, "model_a": f"m{i}", "model_b": f"m{j}", "label": 0 if abs(d) < 0.3 else int(np.sign(d))}
                )
    return pd.DataFrame(rows)


def test_win_ratios_by_hand():
    table = pd.DataFrame({"model_a": list("xxy"), "model_b": list("yzz"), "label": ["a", "tie", "b"]})
    result = win_ratios(table).set_index("model")
    assert result["win_ratio"].to_dict() == {"x": 0.75, "y": 0.0, "z": 0.75}
    assert result.loc["x", ["wins", "ties", "losses", "n"]].tolist() == [1, 1, 0, 2]
    dropped = win_ratios(table, ties="drop").set_index("model")
    assert dropped["win_ratio"].to_dict() == {"x": 1.0, "y": 0.0, "z": 1.0}


def test_swapping_the_sides_changes_nothing(pairs):
    swapped = pairs.rename(columns={"model_a": "model_b", "model_b": "model_a"}).assign(label=-pairs["label"])
    pd.testing.assert_frame_equal(win_ratios(pairs, cluster="scene"), win_ratios(swapped, cluster="scene"))


def test_all_ties_give_one_half_or_a_reason():
    table = pd.DataFrame({"model_a": ["x"] * 4, "model_b": ["y"] * 4, "label": [0] * 4})
    assert win_ratios(table)["win_ratio"].tolist() == [0.5, 0.5]
    dropped = win_ratios(table, ties="drop")
    assert dropped["win_ratio"].isna().all()
    assert dropped["reason"].str.startswith(Reason.UNDEFINED).all()
    with pytest.raises(NotScorable, match="constant"):
        rank_agreement_pairs(table.assign(human=0, metric=1))


def test_a_model_against_itself_and_strange_labels_are_errors():
    table = pd.DataFrame({"model_a": ["x"], "model_b": ["x"], "label": [1]})
    with pytest.raises(ContractError, match="itself"):
        win_ratios(table)
    with pytest.raises(ContractError, match="'left'"):
        win_ratios(table.assign(model_b="y", label="left"))
    with pytest.raises(UsageError, match="lacks the column"):
        win_ratios(table.drop(columns="model_b"))


def test_win_ratio_difference_equals_the_difference_and_excludes_zero_when_clear(pairs):
    ratios = win_ratios(pairs).set_index("model")["win_ratio"]
    result = win_ratio_difference(pairs, "m4", "m0", cluster="scene")
    assert result.value == pytest.approx(ratios["m4"] - ratios["m0"])
    assert 0 < result.low < result.value < result.high
    with pytest.raises(UsageError, match="m9"):
        win_ratio_difference(pairs, "m4", "m9")


def test_exact_p_equals_r_cor_test():
    # R 4.2.2, cor.test(exact): 8 models Spearman 0.833333, p 0.015376984127; Kendall 0.642857, p 0.0311507936508
    result = rank_agreement([1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 4, 3, 7, 5, 8, 6])
    assert (result.rho, result.p_rho) == pytest.approx((0.833333333333, 0.015376984127))
    assert (result.tau, result.p_tau) == pytest.approx((0.642857142857, 0.0311507936508))
    # 6 models: Spearman 0.885714, p 0.0333333
    six = rank_agreement([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5])
    assert (six.rho, six.p_rho) == pytest.approx((0.885714285714, 0.0333333333333))


def test_exact_kendall_equals_scipy_and_tau_b_handles_ties():
    rng = np.random.default_rng(5)
    for m in (4, 6, 7):
        x, y = rng.random(m), rng.random(m)
        expected = scipy_stats.kendalltau(x, y, method="exact")
        result = rank_agreement(x, y)
        assert (result.tau, result.p_tau) == pytest.approx((expected.statistic, expected.pvalue))
    # R 4.2.2: cor(c(1,2,2,3,4), c(1,3,2,2,5), method = "kendall")
    assert rank_agreement([1, 2, 2, 3, 4], [1, 3, 2, 2, 5]).tau == pytest.approx(0.666666666667)


def test_many_models_use_random_orders_near_scipys_p():
    rng = np.random.default_rng(6)
    x = rng.random(14)
    y = x + rng.normal(0, 0.4, 14)
    result = rank_agreement(x, y)
    assert not result.exact
    assert result.p_rho == pytest.approx(scipy_stats.spearmanr(x, y).pvalue, abs=0.01)
    assert rank_agreement(x, y) == result


@pytest.mark.parametrize("m", [2, 3, 4, 6, 8])
def test_the_smallest_attainable_p_is_reached_by_perfect_agreement(m):
    perfect = rank_agreement(np.arange(m), np.arange(m))
    assert perfect.p_rho == pytest.approx(min(1.0, 2 / factorial(m)))
    assert perfect.smallest_p == pytest.approx(smallest_attainable_p(m))


def test_ties_raise_the_smallest_attainable_p():
    assert rank_agreement([1, 1, 2, 3], [1, 2, 3, 4]).smallest_p > smallest_attainable_p(4)


def test_rankings_are_matched_by_name_and_must_cover_the_same_models():
    by_name = rank_agreement({"a": 1, "b": 2, "c": 3}, pd.Series({"c": 30, "a": 10, "b": 20}))
    assert by_name.rho == 1.0
    with pytest.raises(UsageError, match="different models"):
        rank_agreement({"a": 1, "b": 2}, {"a": 1, "c": 2})
    with pytest.raises(NotScorable, match="at least two models"):
        rank_agreement([1], [1])
    with pytest.raises(NotScorable, match="constant"):
        rank_agreement([1, 1, 1], [1, 2, 3])


def test_pair_level_rank_agreement_uses_the_win_ratios(pairs):
    rng = np.random.default_rng(7)
    metric = np.where(rng.random(len(pairs)) < 0.8, pairs["label"], -pairs["label"])
    table = pairs.rename(columns={"label": "human"}).assign(metric=metric)
    result = rank_agreement_pairs(table, cluster="scene", resamples=500)
    human = win_ratios(table, label="human").set_index("model")["win_ratio"]
    machine = win_ratios(table, label="metric").set_index("model")["win_ratio"]
    assert result.rho == pytest.approx(scipy_stats.spearmanr(human.sort_index(), machine.sort_index()).statistic)
    assert (result.n_pairs, result.n_clusters, result.n_models) == (600, 60, 5)
    assert result.rho_low <= result.rho <= result.rho_high <= 1
    assert rank_agreement_pairs(table, cluster="scene", resamples=500) == result


def test_one_scene_has_no_interval_and_says_so(pairs):
    table = pairs.rename(columns={"label": "human"}).assign(metric=lambda d: d["human"])
    result = rank_agreement_pairs(table[table["scene"] == 0], cluster="scene")
    assert result.rho_low is None
    assert "nothing to resample" in result.note


def test_bradley_terry_equals_r_on_the_citations():
    # Agresti's citations between statistics journals; R BradleyTerry2 1.1-2: estimates against Biometrika and standard errors
    counts = [
        ("Biometrika", "Comm Statist", 730, 33),
        ("Biometrika", "JASA", 498, 320),
        ("Biometrika", "JRSS-B", 221, 284),
        ("Comm Statist", "JASA", 68, 813),
        ("Comm Statist", "JRSS-B", 17, 276),
        ("JASA", "JRSS-B", 142, 325),
    ]
    rows = [(a, b, label) for a, b, first, second in counts for label, n in (("a", first), ("b", second)) for _ in range(n)]
    result = bradley_terry(pd.DataFrame(rows, columns=["model_a", "model_b", "label"]))
    strength = result.table.set_index("model")["log_strength"]
    expected = {"Comm Statist": -2.949072496844, "JASA": -0.479569769752, "JRSS-B": 0.268954055819}
    errors = {"Comm Statist": 0.1025453353699, "JASA": 0.0605887292396, "JRSS-B": 0.0708299651057}
    for journal, value in expected.items():
        assert strength[journal] - strength["Biometrika"] == pytest.approx(value)
        c = result.covariance
        variance = c.loc[journal, journal] + c.loc["Biometrika", "Biometrika"] - 2 * c.loc[journal, "Biometrika"]
        assert np.sqrt(variance) == pytest.approx(errors[journal])
    assert result.tie == 0.0
    assert strength.sum() == pytest.approx(0, abs=1e-9)


def test_davidson_equals_its_loglinear_form_fitted_by_statsmodels(pairs):
    # Davidson's model is a Poisson log-linear model with a nuisance mean per pair (Fienberg 1979): an independent fit
    result = bradley_terry(pairs)
    models = sorted(set(pairs["model_a"]) | set(pairs["model_b"]))
    counts = pairs.groupby(["model_a", "model_b", "label"]).size().rename("n")
    met = list(dict.fromkeys((a, b) for a, b, _ in counts.index))
    rows = []
    for k, (a, b) in enumerate(met):
        for label in (1, 0, -1):
            row = dict.fromkeys([*models, "tie"], 0.0) | {f"pair{i}": float(i == k) for i in range(len(met))}
            row[a] += {1: 1, 0: 0.5, -1: 0}[label]
            row[b] += {1: 0, 0: 0.5, -1: 1}[label]
            row["tie"] = float(label == 0)
            row["n"] = counts.get((a, b, label), 0)
            rows.append(row)
    design = pd.DataFrame(rows)
    fit = sm.GLM(design["n"], design.drop(columns=["n", models[0]]), family=sm.families.Poisson()).fit(tol=1e-12)
    strength = result.table.set_index("model")["log_strength"]
    for model in models[1:]:
        assert strength[model] - strength[models[0]] == pytest.approx(fit.params[model], abs=1e-6)
    assert np.log(result.tie) == pytest.approx(fit.params["tie"], abs=1e-6)
    c = result.covariance
    variance = c.loc["m4", "m4"] + c.loc["m0", "m0"] - 2 * c.loc["m4", "m0"]
    assert np.sqrt(variance) == pytest.approx(fit.bse["m4"], rel=1e-5)


def test_a_model_that_wins_everything_has_no_strength():
    table = pd.DataFrame({"model_a": list("xxy"), "model_b": list("yzz"), "label": ["a", "a", "tie"]})
    with pytest.raises(NotScorable, match="x won everything"):
        bradley_terry(table)
    with pytest.raises(NotScorable, match="every comparison is a tie"):
        bradley_terry(table.assign(label="tie"))


def test_clustered_strengths_are_less_certain_when_scenes_repeat(pairs):
    copies = pd.concat([pairs] * 4, ignore_index=True)
    naive, clustered = bradley_terry(copies).table, bradley_terry(copies, cluster="scene").table
    np.testing.assert_allclose(naive["log_strength"], clustered["log_strength"])
    assert (clustered["se"] > 1.5 * naive["se"]).all()


def test_places_hold_for_all_models_at_once_and_percentiles_of_draws_do_not():
    # eight models, four of them nearly tied, 600 studies; the tolerance is four standard errors of a coverage of 95 %
    rng = np.random.default_rng(11)
    true, error = np.array([0.0, 0.001, 0.002, 0.003, 0.2, 0.4, 0.6, 0.8]), np.linspace(0.02, 0.04, 8)
    place = scipy_stats.rankdata(-true)
    covered, naive, widths = [], [], []
    for _ in range(600):
        seen = true + error * rng.standard_normal(8)
        sets = rank_intervals(seen, error)
        covered.append(((sets["low"] <= place) & (place <= sets["high"])).all())
        widths.append((sets["high"] - sets["low"]).iloc[-1])
        drawn = scipy_stats.rankdata(-(seen + error * rng.standard_normal((200, 8))), axis=1)
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0, method="closest_observation")
        naive.append(((low <= place) & (place <= high)).all())
    assert np.mean(covered) > 0.95 - 4 * (0.95 * 0.05 / 600) ** 0.5
    assert np.mean(naive) < 0.9
    # it is no empty promise: the best model, 3.6 errors of a difference ahead of the next, mostly has the first place alone
    assert np.mean(widths) < 0.5


def test_places_refuse_estimates_without_errors():
    with pytest.raises(UsageError, match="above zero"):
        rank_intervals([1.0, 2.0], [0.1, 0.0])


def test_models_ranked_exactly_alike_have_an_interval_that_ends_at_one():
    """Its other end is that of one swap of neighbours."""
    models = [1, 2, 3, 4, 5, 6]
    alike, swapped = rank_agreement(models, models), rank_agreement(models, [1, 2, 3, 4, 6, 5])
    against = rank_agreement(models, models[::-1])
    assert (alike.population_low, alike.population_high) == (pytest.approx(swapped.population_low), 1.0)
    assert (against.population_low, against.population_high) == (-1.0, pytest.approx(-swapped.population_low))
