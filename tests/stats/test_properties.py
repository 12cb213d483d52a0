"""What must hold for any votes: relabelling, rater order, duplication, sides, degenerate tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from lookback.errors import NotScorable
from lookback.stats import (
    bridge,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    holm,
    krippendorff_alpha,
    majority_vote,
    paired_wilcoxon,
    percent_agreement,
    rank_agreement,
    win_ratios,
)

SCALE = [0, 1, 2]
NOMINAL = (gwet_ac1, fleiss_kappa, percent_agreement, lambda v, c: krippendorff_alpha(v, c, resamples=1))
QUICK = settings(max_examples=40)


@st.composite
def vote_tables(draw, min_items: int = 1) -> np.ndarray:
    """Items x raters with labels 0, 1, 2 and missing votes."""
    shape = (draw(st.integers(min_items, 12)), draw(st.integers(1, 5)))
    votes = draw(arrays(float, shape, elements=st.sampled_from([0.0, 1.0, 2.0])))
    missing = draw(arrays(bool, shape, elements=st.booleans()))
    return np.where(missing, np.nan, votes)


def value_or_reason(statistic, *args) -> float | str:
    try:
        return statistic(*args).value
    except NotScorable as missing:
        return str(missing.reason)


def same(a: float | str, b: float | str) -> bool:
    return a == b if isinstance(a, str) or isinstance(b, str) else a == pytest.approx(b, abs=1e-9)


@QUICK
@given(vote_tables(), st.permutations(SCALE))
def test_relabelling_the_categories_changes_no_nominal_coefficient(votes, renamed):
    new = np.array([*renamed, np.nan])[np.nan_to_num(votes, nan=3).astype(int)]
    for statistic in NOMINAL:
        assert same(value_or_reason(statistic, votes, SCALE), value_or_reason(statistic, new, SCALE))


@QUICK
@given(vote_tables(), st.randoms(use_true_random=False))
def test_the_order_of_annotators_and_items_does_not_matter(votes, random):
    columns, rows = list(range(votes.shape[1])), list(range(len(votes)))
    random.shuffle(columns)
    random.shuffle(rows)
    shuffled = votes[rows][:, columns]
    for statistic in (*NOMINAL, gwet_ac2):
        assert same(value_or_reason(statistic, votes, SCALE), value_or_reason(statistic, shuffled, SCALE))
    labels = majority_vote(votes, SCALE)["label"].tolist()
    assert [labels[r] for r in rows] == majority_vote(shuffled, SCALE)["label"].tolist()


@QUICK
@given(vote_tables())
def test_duplicated_data_keeps_the_value_and_clusters_keep_the_uncertainty(votes):
    twice = np.vstack([votes, votes])
    for statistic in (gwet_ac1, fleiss_kappa, percent_agreement):
        assert same(value_or_reason(statistic, votes, SCALE), value_or_reason(statistic, twice, SCALE))
    try:
        once, clustered = gwet_ac1(votes, SCALE), gwet_ac1(twice, SCALE, clusters=np.tile(np.arange(len(votes)), 2))
    except NotScorable:
        return
    assert (once.se is None) == (clustered.se is None)
    if once.se is not None:
        assert clustered.se == pytest.approx(once.se, abs=1e-9)


@QUICK
@given(vote_tables())
def test_no_coefficient_is_ever_a_silent_nan(votes):
    for statistic in (*NOMINAL, gwet_ac2):
        found = value_or_reason(statistic, votes, SCALE)
        if not isinstance(found, str):
            assert np.isfinite(found)
            assert found <= 1 + 1e-12


@QUICK
@given(st.integers(1, 10), st.integers(2, 5), st.sampled_from(SCALE))
def test_one_category_is_perfect_for_ac1_and_undefined_for_kappa_and_alpha(items, raters, label):
    votes = np.full((items, raters), float(label))
    assert gwet_ac1(votes, SCALE).value == pytest.approx(1.0)
    assert value_or_reason(fleiss_kappa, votes, SCALE) == "undefined"
    assert value_or_reason(NOMINAL[3], votes, SCALE) == "undefined"


@QUICK
@given(st.integers(1, 10))
def test_one_rater_is_too_few(items):
    for statistic in NOMINAL:
        assert value_or_reason(statistic, np.zeros((items, 1)), SCALE) == "too_few_values"


@st.composite
def preferences(draw, labels=(-1, 0, 1)) -> pd.DataFrame:
    n = draw(st.integers(1, 30))
    a = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    step = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    b = [(x + s) % 5 for x, s in zip(a, step, strict=True)]
    y = draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n))
    return pd.DataFrame({"model_a": [f"m{x}" for x in a], "model_b": [f"m{x}" for x in b], "label": y})


@QUICK
@given(preferences())
def test_win_ratios_share_out_every_comparison(pairs):
    table = win_ratios(pairs, resamples=2)
    assert (table["win_ratio"] * table["n"]).sum() == pytest.approx(len(pairs))
    swapped = pairs.rename(columns={"model_a": "model_b", "model_b": "model_a"}).assign(label=-pairs["label"])
    pd.testing.assert_frame_equal(table, win_ratios(swapped, resamples=2))


@QUICK
@given(preferences(labels=(0,)))
def test_all_ties_make_every_model_equal(pairs):
    assert (win_ratios(pairs, resamples=2)["win_ratio"] == 0.5).all()


@QUICK
@given(st.lists(st.tuples(st.sampled_from([-1, 0, 1]), st.floats(-1, 1)), min_size=1, max_size=30))
def test_the_bridge_does_not_care_which_clip_is_called_a(cases):
    labels, deltas = np.array([c[0] for c in cases]), np.array([c[1] for c in cases])
    one, other = bridge(labels, deltas, 0.1, resamples=2), bridge(-labels, -deltas, 0.1, resamples=2)
    assert one.reversals == other.reversals
    assert one.exact.value == other.exact.value
    np.testing.assert_array_equal(one.confusion.to_numpy(), other.confusion.to_numpy()[::-1, ::-1])


@QUICK
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=7), st.randoms(use_true_random=False))
def test_rank_agreement_is_invariant_to_monotone_change_and_model_order(values, random):
    other = [random.randint(0, 9) for _ in values]
    assume(len(set(values)) > 1 and len(set(other)) > 1)
    base = rank_agreement(values, other)
    stretched = rank_agreement([v**3 for v in values], other)
    order = list(range(len(values)))
    random.shuffle(order)
    moved = rank_agreement([values[i] for i in order], [other[i] for i in order])
    for result in (stretched, moved):
        assert (result.rho, result.tau, result.p_rho) == pytest.approx((base.rho, base.tau, base.p_rho))
    assert base.smallest_p <= base.p_rho <= 1


@QUICK
@given(st.lists(st.floats(0, 1), min_size=1, max_size=15))
def test_holm_is_between_p_and_bonferroni_and_keeps_the_order(p):
    adjusted = holm(p)
    assert (adjusted >= np.array(p) - 1e-15).all()
    assert (adjusted <= np.minimum(1, len(p) * np.array(p)) + 1e-12).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= -1e-15).all()


@QUICK
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=20))
def test_wilcoxon_is_symmetric_in_the_two_conditions(differences):
    assume(any(differences))
    one, other = paired_wilcoxon(differences), paired_wilcoxon([-d for d in differences])
    assert one.p == pytest.approx(other.p)
    assert one.rank_biserial == pytest.approx(-other.rank_biserial)
    assert -1 <= one.rank_biserial <= 1
    assert one.smallest_p - 1e-12 <= one.p <= 1
