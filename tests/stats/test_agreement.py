"""AC1, AC2, Fleiss, Cohen, Krippendorff and percent agreement against other people's numbers."""

from __future__ import annotations

import krippendorff
import numpy as np
import pandas as pd
import pytest
from lookback.errors import ContractError, NotScorable, Reason, UsageError
from lookback.stats import cohen_kappa, fleiss_kappa, gwet_ac1, gwet_ac2, krippendorff_alpha, percent_agreement
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats import inter_rater
from statsmodels.stats.proportion import proportion_confint

FIVE = [1, 2, 3, 4, 5]


def fisher(value: float, se: float, df: int) -> tuple[float, float]:
    """The t interval on Fisher's z scale."""
    half = stats.t.ppf(0.975, df) * se / (1 - value**2)
    return np.tanh(np.arctanh(value) - half), np.tanh(np.arctanh(value) + half)


# irrCAC 0.4.4 (pandas 2.3.3) on raw_4raters: value, standard error, p
IRRCAC_GWET = {
    "nominal": (0.7754440681, 0.1429499506, 0.0002087209840633264),
    "ordinal": (0.8989397699, 0.1069035238, 4.053928770453297e-06),
    "linear": (0.8587391364, 0.1173290219, 1.506030853248852e-05),
    "quadratic": (0.9140007236, 0.1039622446, 2.6344384658205655e-06),
}
IRRCAC_FLEISS = {
    "nominal": (0.7611692754, 0.1530192035, 0.00041917303853056254),
    "ordinal": (0.8502061894, 0.1470356939, 0.00012242158529418568),
    "linear": (0.8179447671, 0.1485043555, 0.00018403925824594936),
    "quadratic": (0.8649350649, 0.1460336108, 9.97608132073946e-05),
}


@pytest.mark.parametrize("weights", IRRCAC_GWET)
def test_ac2_equals_irrcac_with_missing_votes(four_raters, weights):
    result = gwet_ac2(four_raters, FIVE, weights=weights)
    assert (result.value, result.se, result.p) == pytest.approx(IRRCAC_GWET[weights], rel=1e-8)
    assert (result.low, result.high) == pytest.approx(fisher(result.value, result.se, 11))
    assert result.n == 12


@pytest.mark.parametrize("weights", IRRCAC_FLEISS)
def test_fleiss_kappa_equals_irrcac_with_missing_votes(four_raters, weights):
    result = fleiss_kappa(four_raters, FIVE, weights=weights)
    assert (result.value, result.se, result.p) == pytest.approx(IRRCAC_FLEISS[weights], rel=1e-8)


def test_ac1_resists_the_paradox_of_gwet_2008(paradox_votes):
    # Gwet (2008): 94.4 % agreement, kappa -0.023, AC1 0.941; digits from irrCAC 0.4.4
    ac1 = gwet_ac1(paradox_votes, [0, 1])
    assert (ac1.value, ac1.se) == pytest.approx((0.9407763376, 0.0230569643))
    assert (ac1.low, ac1.high) == pytest.approx(fisher(ac1.value, ac1.se, 124))
    assert percent_agreement(paradox_votes, [0, 1]).value == pytest.approx(0.944)
    assert cohen_kappa(*paradox_votes.T, [0, 1]).value == pytest.approx(-0.0234, abs=5e-5)
    assert fleiss_kappa(paradox_votes, [0, 1]).value == pytest.approx(-0.0288065844)


def test_ac1_of_the_handbooks_abstractors(abstractors):
    # irrCAC 0.4.4; the value is also printed in the vignette of the R package irrCAC 1.0
    ac1 = gwet_ac1(abstractors, [0, 1, 2])
    se = (0.9355153868 - 0.7631457096) / 2 / stats.t.ppf(0.975, 99)
    assert (ac1.value, ac1.se) == pytest.approx((0.8493305482, se))
    # R irrCAC 1.0, kappa2.table(cont3x3abstractors)
    assert cohen_kappa(*abstractors.T, [0, 1, 2]).value == pytest.approx(0.7964094, abs=5e-8)


@pytest.mark.parametrize(("scale", "expected"), [([0, 1], 0.641), ([0, 1, 2], 0.757), ([0, 1, 2, 3, 4], 0.791)])
def test_ac1_depends_on_the_declared_categories(binary_votes, scale, expected):
    assert gwet_ac1(binary_votes, scale).value == pytest.approx(expected, abs=5e-4)


def test_fleiss_kappa_equals_statsmodels_without_missing_votes(binary_votes):
    table, _ = inter_rater.aggregate_raters(binary_votes, n_cat=2)
    assert fleiss_kappa(binary_votes, [0, 1]).value == pytest.approx(inter_rater.fleiss_kappa(table, method="fleiss"))


@pytest.mark.parametrize(
    ("weights", "value", "ase"),
    [
        ("nominal", 0.4285714285714, 0.0537110048692),
        ("linear", 0.4923076923077, 0.0507186076077),
        ("quadratic", 0.5666666666667, 0.0556663401582),
    ],
)
def test_cohen_kappa_equals_r_vcd(fleiss_cohen_everitt, weights, value, ase):
    # R 4.2.2, vcd 1.4-11: Kappa(), weights "Equal-Spacing" and "Fleiss-Cohen"; the plain value is printed in the paper (0.429)
    result = cohen_kappa(*fleiss_cohen_everitt, [0, 1, 2], weights=weights)
    assert (result.value, result.se) == pytest.approx((value, ase), rel=1e-9)
    assert result.value == pytest.approx(
        cohen_kappa_score(*fleiss_cohen_everitt, weights=None if weights == "nominal" else weights)
    )


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_equals_the_krippendorff_package(four_raters, level):
    result = krippendorff_alpha(four_raters, FIVE, level=level)
    data = four_raters.to_numpy(dtype=float).T
    assert result.value == pytest.approx(krippendorff.alpha(data, level_of_measurement=level, value_domain=FIVE))
    assert result.low < result.value < result.high
    assert result.n == 11


def test_nominal_alpha_is_krippendorffs_printed_value(four_raters):
    # Krippendorff (2011), Computing Krippendorff's alpha-reliability, data C: 0.743 nominal, 0.815 ordinal, 0.849 interval
    printed = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}
    for level, value in printed.items():
        assert krippendorff_alpha(four_raters, FIVE, level=level).value == pytest.approx(value, abs=6e-4)


def test_alpha_of_many_random_tables_equals_the_package():
    rng = np.random.default_rng(3)
    for _ in range(20):
        votes = rng.integers(0, 4, (15, 4)).astype(float)
        votes[rng.random(votes.shape) < 0.2] = np.nan
        for level in ("nominal", "ordinal", "interval"):
            expected = krippendorff.alpha(votes.T, level_of_measurement=level, value_domain=[0, 1, 2, 3])
            assert krippendorff_alpha(votes, [0, 1, 2, 3], level=level, resamples=2).value == pytest.approx(expected)


def test_one_category_observed_is_perfect_for_ac1_and_undefined_for_the_kappas():
    votes = np.ones((10, 3))
    ac1 = gwet_ac1(votes, [0, 1])
    assert (ac1.value, ac1.high) == (1.0, 1.0)
    assert ac1.low == pytest.approx(proportion_confint(10, 10, method="wilson")[0])
    for undefined in (
        lambda: fleiss_kappa(votes, [0, 1]),
        lambda: cohen_kappa(votes[:, 0], votes[:, 1], [0, 1]),
        lambda: krippendorff_alpha(votes, [0, 1]),
    ):
        with pytest.raises(NotScorable) as missing:
            undefined()
        assert missing.value.reason == Reason.UNDEFINED


def test_one_rater_cannot_agree():
    votes = np.array([[1, np.nan], [0, np.nan]])
    for statistic in (gwet_ac1, fleiss_kappa, krippendorff_alpha, percent_agreement):
        with pytest.raises(NotScorable) as missing:
            statistic(votes, [0, 1])
        assert missing.value.reason == Reason.TOO_FEW_VALUES
    with pytest.raises(NotScorable):
        cohen_kappa([1, None], [None, 0], [0, 1])


def test_one_item_has_a_value_and_no_interval():
    result = gwet_ac1([[1, 1, 0]], [0, 1])
    # p_a = 1/3, pi = 2/3: (1/3 - 4/9) / (1 - 4/9)
    assert result.value == pytest.approx(-0.2)
    assert result.low is None
    assert "no interval" in result.note


def test_a_label_outside_the_scale_is_named():
    with pytest.raises(ContractError, match="7"):
        gwet_ac1([[1, 7]], [0, 1])
    with pytest.raises(UsageError, match="at least two categories"):
        gwet_ac1([[1, 1]], [1])


def test_clusters_of_one_item_change_nothing_and_larger_ones_widen_the_interval(four_raters, binary_votes):
    alone = gwet_ac1(four_raters, FIVE, clusters=list("abcdefghijkl"))
    assert alone.se == pytest.approx(gwet_ac1(four_raters, FIVE).se)
    # every item twice, each pair one cluster: the value stays, and so does the evidence of 40 items
    doubled, scenes = np.vstack([binary_votes, binary_votes]), np.tile(np.arange(40), 2)
    clustered, naive, once = gwet_ac1(doubled, [0, 1], clusters=scenes), gwet_ac1(doubled, [0, 1]), gwet_ac1(binary_votes, [0, 1])
    assert clustered.value == pytest.approx(once.value)
    assert clustered.se == pytest.approx(once.se)
    assert naive.se < 0.75 * once.se


def test_words_and_numbers_give_the_same_result(binary_votes):
    words = pd.DataFrame(np.where(binary_votes == 1, "yes", "no"))
    assert gwet_ac1(words, ["no", "yes"]).value == gwet_ac1(binary_votes, [0, 1]).value


def test_votes_in_words_may_be_missing_in_a_list_as_in_a_table():
    votes = [["yes", "yes"], ["yes", np.nan], ["no", "no"], ["yes", "no"], ["no", "no"], ["yes", "yes"]]
    table = pd.DataFrame(votes)
    assert gwet_ac1(votes, ["no", "yes"]) == gwet_ac1(table, ["no", "yes"])
    assert cohen_kappa(*zip(*votes, strict=True), ["no", "yes"]) == cohen_kappa(table[0], table[1], ["no", "yes"])
    with pytest.raises(ContractError, match="'nan'"):
        gwet_ac1([["yes", "nan"]], ["no", "yes"])


def test_votes_that_never_differ_have_wilsons_lower_end_over_the_clusters_with_two_votes():
    votes = [[1, 1], [0, 0]] * 6 + [[1, np.nan]] * 12
    shares = 0.75  # of answer 1, over all 24 items
    least = proportion_confint(12, 12, method="wilson")[0]
    for coefficient, expected in ((gwet_ac1, 2 * shares * (1 - shares)), (fleiss_kappa, shares**2 + (1 - shares) ** 2)):
        found = coefficient(votes, [0, 1])
        assert (found.value, found.high) == (1.0, 1.0)
        assert found.low == pytest.approx((least - expected) / (1 - expected))
        assert "12 clusters" in found.note
    scenes = np.repeat(np.arange(6), 4)
    assert percent_agreement(votes, [0, 1], clusters=scenes).low == pytest.approx(proportion_confint(3, 3, method="wilson")[0])


@pytest.mark.parametrize("scenes", [2, 5, 10, 20, 40])
def test_intervals_hold_an_ac1_near_one(scenes):
    # each of three raters says yes with a probability that differs by scene; the truth is that of many scenes
    rng = np.random.default_rng(scenes)

    def votes(count: int) -> np.ndarray:
        return (rng.random((count, 6, 3)) < rng.beta(18, 0.45, (count, 1, 1))).reshape(-1, 3).astype(int)

    truth = gwet_ac1(votes(20_000), [0, 1]).value
    assert 0.93 < truth < 0.96
    found = [gwet_ac1(votes(scenes), [0, 1], clusters=np.repeat(np.arange(scenes), 6)) for _ in range(400)]
    covered = [one.low <= truth <= one.high for one in found if one.low is not None]
    assert len(covered) > 380 and np.mean(covered) >= 0.93


def test_the_interval_of_kappa_ends_below_one():
    result = cohen_kappa([1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 0, 0], [0, 1])
    assert result.value + 1.96 * result.se > 1.0 > result.high
