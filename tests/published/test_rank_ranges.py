"""Rank intervals from printed numbers, against brute force and scipy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lookback.errors import NotScorable
from lookback.published.ranks import overall_ranks, rounding_ranges, share_places
from scipy import stats


def test_ranges_hold_every_order_that_rounding_allows():
    # brute force: numbers drawn within half a digit; the ranges are exactly the places that occur
    rng = np.random.default_rng(3)
    values, half = np.array([0.52, 0.52, 0.51, 0.48, 0.30]), 0.005
    places = stats.rankdata(-(values + rng.uniform(-half, half, (20_000, 5))), axis=1)
    ranges = rounding_ranges(values, np.full(5, half))
    assert ranges["best"].tolist() == places.min(axis=0).tolist() == [1, 1, 3, 4, 5]
    assert ranges["worst"].tolist() == places.max(axis=0).tolist() == [2, 2, 3, 4, 5]


def test_coarser_print_leaves_more_places_open():
    # 12.9 stands for 12.85 to 12.95, which holds 12.88: either may be larger
    assert rounding_ranges([12.9, 12.88], [0.05, 0.005])[["best", "worst"]].to_numpy().tolist() == [[1, 2], [1, 2]]


def test_a_missing_score_has_no_place():
    ranges = rounding_ranges([0.5, np.nan, 0.4], [0.05, 0.0, 0.005])
    assert ranges.loc[1].isna().all()
    assert ranges.loc[2].tolist() == [2, 2, 2]


def test_a_model_that_leads_everywhere_is_first_whatever_is_drawn():
    scores = pd.DataFrame({"a": [3.0, 2, 1], "b": [30.0, 10, 20], "c": [9.0, 8, 7]}, index=["x", "y", "z"])
    table = overall_ranks(scores)
    assert table.loc["x", ["rank", "low", "high"]].tolist() == [1, 1, 1]
    assert table.loc["y", ["low", "high"]].tolist() == [2, 3]
    assert table["mean_rank"].tolist() == pytest.approx([1, 7 / 3, 8 / 3])


def test_overall_places_need_two_dimensions():
    with pytest.raises(NotScorable, match="two dimensions"):
        overall_ranks(pd.DataFrame({"a": [1.0, 2.0]}))


def test_shares_far_apart_keep_their_places_and_equal_ones_share_theirs():
    assert share_places([100.0, 50, 50, 0], [200] * 4).to_numpy().tolist() == [[1, 1], [2, 3], [2, 3], [4, 4]]


def test_few_outputs_leave_every_place_open():
    assert share_places([100.0, 50, 0], [2] * 3).to_numpy().tolist() == [[1, 3]] * 3
