"""The printed tables ship with the package and hold what the papers print."""

from __future__ import annotations

import pytest
from lookback.errors import UsageError
from lookback.published import load, names


def test_every_printed_table_loads():
    shapes = {name: load(name).shape for name in names()}
    assert shapes["wrbench_table2"] == (23, 13)
    assert shapes["mbench_table2_mscore"] == (14, 14)
    assert shapes["memobench_table2_3"] == (10, 16)


def test_wrbench_averages_are_the_mean_of_their_six_columns():
    # WRBench: Avg is the mean of CamAlign, integrity, visible and re-observed spatial/state; printed with three digits
    table = load("wrbench_table2")
    columns = ["cam_align", "visual_integrity", "visible_spatial", "visible_state", "reobs_spatial", "reobs_state"]
    assert (table[columns].mean(axis=1) - table["avg"]).abs().max() < 0.0011


def test_an_unknown_table_lists_the_known_ones():
    with pytest.raises(UsageError, match="wrbench_table2"):
        load("wrbench_table99")
