"""Bridge, trigger judge and judgeability: pair- and clip-level agreement with people."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.errors import ContractError, NotScorable, UsageError
from lookback.stats import bridge, correlations, judgeability_agreement, spearman, threshold_decision, trigger_validation
from scipy import stats as scipy_stats
from sklearn import metrics as sk
from statsmodels.stats.proportion import proportion_confint


@pytest.fixture
def study() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    delta = rng.normal(0, 0.2, 230)
    latent = 4 * delta + rng.normal(0, 0.5, 230)
    return np.where(np.abs(latent) < 0.4, 0, np.sign(latent)).astype(int), delta, rng.integers(0, 25, 230)


def test_bridge_equals_scipy_and_sklearn(study):
    labels, delta, scenes = study
    result = bridge(labels, delta, 0.05, clusters=scenes)
    decision = np.where(delta > 0.05, 1, np.where(delta < -0.05, -1, 0))
    assert result.decision_kappa.value == pytest.approx(sk.cohen_kappa_score(labels, decision))
    assert result.weighted_kappa.value == pytest.approx(sk.cohen_kappa_score(labels, decision, weights="quadratic"))
    np.testing.assert_array_equal(result.confusion.to_numpy(), sk.confusion_matrix(labels, decision, labels=[-1, 0, 1]))
    assert result.exact.value == pytest.approx((labels == decision).mean())
    assert result.strict.value == pytest.approx((labels == decision)[labels != 0].mean())
    assert result.tie.value == pytest.approx((labels == decision)[labels == 0].mean())
    assert result.reversals == int((labels * decision == -1).sum())
    assert scipy_stats.spearmanr(labels, delta).statistic <= result.tie_ceiling < 1
    assert result.reasons == {}


def test_bridge_by_hand_with_a_tie_band():
    result = bridge(["a", "tie", "b", "b"], [0.3, 0.04, -0.05, 0.2], 0.05)
    # -0.05 lies inside the band: a tie; 0.2 against "b" is the one reversal
    assert result.confusion.to_numpy().tolist() == [[0, 1, 1], [0, 1, 0], [0, 0, 1]]
    assert result.reversals == 1
    assert result.exact.value == 0.5


def test_scores_that_differ_by_tau_are_a_tie_whatever_their_rounding():
    for step, tau, largest in ((0.001, 0.02, 1), (0.01, 0.5, 60)):
        lower = np.round(np.arange(0, largest, step), 3)
        upper, beyond = np.round(lower + tau, 3), np.round(lower + tau + step, 3)
        for sign in (1, -1):
            assert (threshold_decision(sign * (upper - lower), tau) == 0).all()
            assert (threshold_decision(sign * (beyond - lower), tau) == sign).all()
    assert threshold_decision([1e-15, 0.0, -1e-15], 0).tolist() == [1, 0, -1]


def test_bridge_with_nothing_but_ties_says_what_is_missing():
    result = bridge([0, 0, 0], [0.1, -0.2, 0.0], 0.05)
    assert result.strict is None
    assert set(result.reasons) == {"tie_ceiling", "strict"}
    assert np.isnan(result.as_row()["strict"])
    assert "0/0" in result.as_row()["reason"]


def test_bridge_refuses_bad_input():
    with pytest.raises(UsageError, match="tie band"):
        bridge([1], [0.1], -0.1)
    with pytest.raises(UsageError, match="finite"):
        bridge([1], [np.nan], 0.1)
    with pytest.raises(ContractError, match="2"):
        bridge([2], [0.1], 0.1)
    with pytest.raises(NotScorable):
        bridge([], [], 0.1)


def test_clustered_spearman_bootstrap_equals_a_plain_loop(study):
    labels, delta, scenes = study
    result = spearman(labels, delta, clusters=scenes, resamples=400, seed=3)
    # the same resamples, drawn and ranked one by one by scipy
    rng = np.random.default_rng(3)
    order = sorted(set(scenes))
    members = [np.flatnonzero(scenes == s) for s in order]
    drawn = rng.integers(0, len(order), size=(400, len(order)))
    loop = []
    for row in drawn:
        index = np.concatenate([members[g] for g in row])
        loop.append(scipy_stats.spearmanr(labels[index], delta[index]).statistic)
    # Hesterberg (2015): levels widened for few clusters, as the t quantile is wider than the normal one
    g = len(order)
    tail = scipy_stats.norm.cdf(np.sqrt(g / (g - 1)) * scipy_stats.t.ppf(0.025, g - 1))
    levels = [tail, 1 - tail]
    np.testing.assert_allclose([result.low, result.high], np.quantile(loop, levels), atol=1e-12)


@pytest.mark.parametrize("cells", [4_000_000, 60])
def test_both_ways_of_resampling_ranks_agree(cells, monkeypatch):
    # tied scores, three-way labels, uneven clusters; 60 cells at once force many small steps
    rng = np.random.default_rng(4)
    x, y = np.round(rng.normal(size=120), 1), rng.integers(-1, 2, 120).astype(float)
    groups = np.sort(rng.integers(0, 12, 120))
    monkeypatch.setattr(correlations, "CHUNK_CELLS", cells)
    form = correlations.spearman_draws(x, y, groups, 300, 1)
    monkeypatch.setattr(correlations, "FEW_CLUSTERS", 0)
    np.testing.assert_allclose(form, correlations.spearman_draws(x, y, groups, 300, 1), atol=1e-12)


def test_spearman_needs_three_varying_values():
    with pytest.raises(NotScorable, match="constant"):
        spearman([1, 1, 1], [1, 2, 3])
    with pytest.raises(NotScorable, match="three"):
        spearman([1, 2], [1, 2])


def test_trigger_validation_equals_sklearn_per_subset():
    rng = np.random.default_rng(9)
    human = rng.random(400) < 0.6
    judge = np.where(rng.random(400) < 0.85, human, ~human)
    subset = rng.choice(["human", "object", "environment", "causal"], 400)
    table = trigger_validation(human, judge, subset).set_index(["subset", "measure"])
    functions = {"accuracy": sk.accuracy_score, "precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}
    for name in ["human", "object", "environment", "causal", "overall"]:
        part = np.ones(400, dtype=bool) if name == "overall" else subset == name
        for measure, function in functions.items():
            assert table.loc[(name, measure), "value"] == pytest.approx(function(human[part], judge[part]))
    recall = table.loc[("overall", "recall")]
    hits, cases = int((human & judge).sum()), int(human.sum())
    assert (recall["low"], recall["high"]) == pytest.approx(proportion_confint(hits, cases, method="wilson"))
    assert recall["n"] == cases
    assert table.loc[("overall", "f1"), "low"] < table.loc[("overall", "f1"), "value"] < table.loc[("overall", "f1"), "high"]


def test_wilson_interval_of_the_textbook():
    # Newcombe (1998), table I, method 3: 81/263 gives 0.2553 to 0.3662; 0/20 gives 0 to 0.1611
    from lookback.stats import proportion

    assert (proportion("p", 81, 263).low, proportion("p", 81, 263).high) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert (proportion("p", 0, 20).low, proportion("p", 0, 20).high) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_a_judge_that_never_says_yes_has_no_precision():
    table = trigger_validation(["yes", "no"], ["no", "no"]).set_index("measure")
    assert np.isnan(table.loc["precision", "value"])
    assert "0/0" in table.loc["precision", "reason"]
    assert table.loc["recall", "value"] == 0.0
    with pytest.raises(ContractError, match="maybe"):
        trigger_validation(["yes"], ["maybe"])


def test_judgeability_balances_the_rare_answer():
    human = np.array([True] * 90 + [False] * 10)
    judge = np.array([True] * 90 + [True] * 5 + [False] * 5)
    table = judgeability_agreement(human, judge).set_index("measure")
    assert table["value"].to_dict() == pytest.approx({"J": 1.0, "NJ": 0.5, "balanced": 0.75, "overall": 0.95})
    assert table.loc["balanced", "value"] == pytest.approx(sk.balanced_accuracy_score(human, judge))


def test_judgeability_without_a_not_judgeable_clip_has_a_reason():
    table = judgeability_agreement([True, True], [True, False]).set_index("measure")
    assert table.loc["J", "value"] == 0.5
    assert table.loc["NJ", "reason"] != ""
    assert table.loc["balanced", "reason"] != ""


def test_clustered_judge_intervals_are_wider_when_cases_repeat():
    human, judge = np.array([1, 1, 0, 0, 1, 0] * 20), np.array([1, 0, 0, 1, 1, 0] * 20)
    scenes = np.tile(np.arange(6), 20)
    plain = trigger_validation(human, judge).set_index("measure").loc["accuracy"]
    clustered = trigger_validation(human, judge, clusters=scenes).set_index("measure").loc["accuracy"]
    assert clustered["value"] == plain["value"]
    assert clustered["high"] - clustered["low"] > 2 * (plain["high"] - plain["low"])
