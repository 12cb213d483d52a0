"""Figures have axis labels, n and captions, and show every row of their table."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from lookback.agreement.figures import (
    agreement_forest,
    agreement_heatmap,
    association_forest,
    correlation_matrix,
    event_factor_boxes,
    model_ranking,
    ranking_forest,
    win_ratio_scatter,
)
from lookback.agreement.figures.draw import draw_figures
from lookback.agreement.figures.scatter import LINE, label_sides
from lookback.errors import NotScorable
from lookback.figures import PALETTE
from matplotlib.colors import to_hex


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def texts(figure) -> str:
    return " | ".join(t.get_text() for axes in figure.axes for t in axes.findobj(plt.Text))


def test_forest_shows_every_dimension_with_its_n(tables):
    for figure, caption in (agreement_forest(tables["agreement"]), ranking_forest(tables["ranking"])):
        axes = figure.axes[0]
        assert axes.get_xlabel()
        assert "interval" in axes.get_xlabel()
        assert "(n " in texts(figure)
        assert caption.endswith(".")
    labels = [t.get_text() for t in agreement_forest(tables["agreement"])[0].axes[0].get_yticklabels()]
    assert len(labels) == len(tables["agreement"])


def test_a_claims_colour_is_that_of_its_word(tables):
    rows = tables["bridge"].head(3).assign(claim=["supported", "contradicted", "open"])
    figure, caption = association_forest(rows)
    drawn = [to_hex(colour).upper() for colour in figure.axes[0].collections[-1].get_facecolors()]
    assert drawn == [PALETTE[2], PALETTE[3], "#777777"]
    assert "Green supports the metric, orange contradicts it, grey is open" in caption


def test_forest_says_where_there_is_no_value(tables):
    holes = tables["agreement"].copy()
    holes.loc[0, ["alpha", "alpha_low", "alpha_high"]] = np.nan
    assert "no value" in texts(agreement_forest(holes)[0])


def test_scatter_names_every_model(tables):
    own = tables["win_ratios"]
    figure, caption = win_ratio_scatter(own, tables["ranking"])
    shown = texts(figure)
    assert all(model in shown for model in own["model"].unique())
    assert "rho" in shown
    assert "order" in caption


def test_two_models_are_no_panel():
    """The demo drew thirty panels of two points each; three models are the fewest that can be ranked."""
    rows = [
        {"family": "f", "setting": "", "dimension": name, "model": f"m{place}", "scale": "win ratio",
         "value": place / 3, "low": 0.0, "high": 1.0, "letters": "a", "n": 4}
        for name, models in (("pair", 2), ("three", 3)) for place in range(models)
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    figure, caption = model_ranking(table)
    assert [axes.get_title().split("\n")[0] for axes in figure.axes if axes.get_visible()] == ["three"]
    assert caption.endswith(" Not drawn, with fewer than 3 models: 1 dimension.")
    with pytest.raises(NotScorable):
        model_ranking(table[table["dimension"] == "pair"])


def test_labels_of_two_points_at_one_place_do_not_cover_each_other():
    sides = label_sides(np.array(["first", "second"]), np.array([0.5, 0.5]), np.array([0.5, 0.5 + LINE / 10]))
    assert sides[0] != sides[1]


def test_heat_map_prints_every_cell(tables):
    table = tables["memobench_agreement"]
    figure, caption = agreement_heatmap(table)
    assert texts(figure).count("%") >= table.drop(columns=["scene", "n"]).notna().sum().sum()
    assert "96 questions" in caption


def test_correlation_matrix_has_intervals(tables):
    own = tables["correlations"]
    figure, caption = correlation_matrix(own)
    assert texts(figure).count(" to ") == own["r"].notna().sum()
    assert "4 to 8 models" in caption
    panels = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    assert panels == ["mbench A", "mbench T", "wrbench natural25"]


def test_factor_boxes_carry_stars(tables):
    factors = tables["event_factors"]
    figure, caption = event_factor_boxes(tables["event_cells"], factors[factors["metric"].isin(factors["metric"].unique()[:2])])
    assert "n.s." in texts(figure)
    assert "n 6 models" in texts(figure)
    assert "Wilcoxon" in caption


def test_figures_whose_tables_are_there_are_saved(tables, tmp_path):
    few = {
        "agreement": tables["agreement"].head(3),
        "memobench_agreement": tables["memobench_agreement"],
        "win_ratios": tables["win_ratios"],
    }
    saved = draw_figures(few, tmp_path)
    assert {figure.png.stem for figure in saved} == {"agreement_forest", "vqa_agreement"}
    assert all(figure.png.stat().st_size > 5000 and figure.caption for figure in saved)
