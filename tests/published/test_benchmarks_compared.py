"""Names, shared models and correlations across papers, against the papers and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.errors import UsageError
from lookback.published import load, names
from lookback.published.comparison import (
    CONVERGENT,
    DISCRIMINANT,
    convergence,
    convergence_test,
    dimension_matrix,
    order_agreement,
    shared,
)
from lookback.published.register import CONSTRUCTS, canonical, dimensions, scores, shared_models
from scipy import stats


@pytest.fixture(scope="module")
def matrix():
    return dimension_matrix()


@pytest.mark.parametrize(
    ("paper", "printed", "model"),
    [
        ("MBench", "HY-WorldPlay", "HY-WorldPlay"),
        ("MemoBench", "HunyuanWorldPlay", "HY-WorldPlay"),
        ("WRBench", "Hunyuan WorldPlay", "HY-WorldPlay"),
        ("MemoBench", "Wan2.2", "Wan2.2-Fun A14B Camera"),  # section A.2: the camera-control checkpoint of VideoX-Fun
        ("WRBench", "Wan-Fun 2.2-A14B", "Wan2.2-Fun A14B Camera"),
        ("WRBench", "Wan2.2 I2V Plus", "Wan2.2 I2V Plus"),  # a product, not that checkpoint
        ("WRBench", "Lingbot World Act", "LingBot-World Act"),
        ("MemoBench", "SVC", "Stable Virtual Camera"),
        ("WRBench", "Gen3C", "Gen3C"),
    ],
)
def test_printed_names_mean_one_model(paper, printed, model):
    assert canonical(paper, printed) == model


def test_every_registered_name_is_printed_somewhere():
    printed = {
        (paper, name)
        for paper, prefix in (("MBench", "mbench_"), ("MemoBench", "memobench_"), ("WRBench", "wrbench_"))
        for table in load_all(prefix)
        if "model" in table.columns
        for name in table["model"]
    }
    only_in_text = {("MemoBench", "LingBot"), ("MemoBench", "StableVirtualCamera")}
    registered = set(load("models")[["paper", "printed"]].itertuples(index=False, name=None))
    assert registered - only_in_text <= printed


def load_all(prefix):
    return [load(name) for name in names() if name.startswith(prefix)]


def test_a_paper_without_model_tables_is_named():
    with pytest.raises(UsageError, match="no paper 'MIND'"):
        canonical("MIND", "MIND-World")


def test_shared_models_are_those_of_the_papers():
    table = shared_models().set_index("model")
    assert set(table.index) == {"HY-WorldPlay", "LingBot-World", "Matrix-Game 2.0", "Hunyuan-GameCraft", "Wan2.2-Fun A14B Camera"}
    assert table["papers"].to_dict()["LingBot-World"] == 3
    assert {len(shared(a, b)) for a, b in (("MBench", "MemoBench"), ("MemoBench", "WRBench"))} == {3, 4}
    assert len(shared("MBench", "WRBench")) == 2


def test_every_dimension_is_a_printed_column_with_a_construct():
    for row in dimensions().itertuples():
        assert row.column in load(row.table).columns
        assert row.construct in CONSTRUCTS


def test_scores_are_turned_so_that_more_is_better():
    assert scores("MemoBench").loc["Stable Virtual Camera", "lpips"] == -0.455
    assert scores("MemoBench")["lpips"].idxmax() == "Stable Virtual Camera"


def test_orders_of_shared_models_carry_their_smallest_p():
    table = order_agreement().set_index(["papers", "construct"])
    assert table.loc[("MBench / MemoBench", "overall"), ["n", "rho"]].tolist() == [3, 1.0]
    assert table.loc[("MBench / MemoBench", "overall"), "smallest_p"] == pytest.approx(1 / 3)  # 2/3!
    assert table.loc[("MemoBench / WRBench", "camera"), "smallest_p"] == pytest.approx(1 / 12)  # 2/4!
    assert table.loc[("MBench / WRBench", "overall"), "note"].startswith("two models")
    # by hand: ImageReward and instruction VQA have no partner for the action-conditioned models of MBench
    assert table.loc[("MBench / MemoBench", "instruction"), "n"] == 0


def test_cells_are_scipys_rho_with_the_honest_n(matrix):
    cells = matrix.set_index(["column_a", "column_b"])
    models = ["LingBot-World", "HY-WorldPlay", "Hunyuan-GameCraft", "Wan2.2-Fun A14B Camera"]
    expected = stats.spearmanr(scores("MemoBench").loc[models, "psnr"], scores("WRBench").loc[models, "visible_spatial"]).statistic
    assert cells.loc[("psnr", "visible_spatial"), "rho"] == pytest.approx(expected)
    assert cells.loc[("psnr", "visible_spatial"), "n"] == 4
    assert cells.loc[("cam_prec", "cam_align"), "n"] == 16  # within WRBench, the rows with CamPrec
    assert cells.loc[("epipolar", "visible_spatial"), "n"] == 2
    assert np.isnan(cells.loc[("epipolar", "visible_spatial"), "rho"])  # two models carry no correlation


def test_every_pair_of_dimensions_is_there_once(matrix):
    size = len(dimensions())
    assert len(matrix) == size * (size - 1) // 2
    across = matrix[matrix["paper_a"] != matrix["paper_b"]]
    assert set(across["kind"]) == {CONVERGENT, DISCRIMINANT}
    assert ((across["construct_a"] == across["construct_b"]) == (across["kind"] == CONVERGENT)).all()


def test_convergence_summarises_the_cells(matrix):
    table = convergence(matrix).set_index(["papers", "kind"])
    own = matrix[(matrix["paper_a"] == "MemoBench") & (matrix["paper_b"] == "WRBench") & (matrix["kind"] == CONVERGENT)]
    assert table.loc[("MemoBench / WRBench", CONVERGENT), "mean_rho"] == pytest.approx(own["rho"].mean())
    assert table.loc[("MemoBench / WRBench", CONVERGENT), "cells"] == len(own)


def test_convergence_is_tested_over_all_relabellings(matrix):
    result = convergence_test()
    assert result["relabellings"] == 6 * 24  # 3! orders of MBench's shared models, 4! of WRBench's
    known = matrix[(matrix["paper_a"] != matrix["paper_b"]) & matrix["rho"].notna()]
    means = known.groupby("kind")["rho"].mean()
    assert result["gap"] == pytest.approx(means[CONVERGENT] - means[DISCRIMINANT])
    assert result["smallest_p"] <= result["p"] <= 1
