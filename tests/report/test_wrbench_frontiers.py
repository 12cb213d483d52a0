"""WRBench's tables 6, 10 and 11 and its figure 3: on the printed table 2, whose frontiers anyone can read off, and by hand."""

import numpy as np
import pandas as pd
import pytest
from lookback.benchmarks.wrbench.frontiers import NAMES, USES, frontier_figure, frontiers, reading_tables
from lookback.published import load

PRINTED = ("cam_prec", "cam_align", "visual_integrity", "reobs_support_pct", "visible_spatial", "visible_state", "reobs_spatial")
COLUMNS = dict(zip(USES, (*PRINTED, "reobs_state"), strict=True))
FACTS = {"variant": "paper", "backend": "pose=vggt_omega"}


@pytest.fixture(scope="module")
def printed() -> tuple[pd.DataFrame, dict[str, str]]:
    """The paper's table 2 as items: one output per model, whose value is the printed mean."""
    table = load("wrbench_table2")
    rows = []
    for row in table.to_dict("records"):
        for metric, column in COLUMNS.items():
            value = row[column] / 100 if column.endswith("pct") else row[column]
            reason = "not_applicable" if np.isnan(value) else ""
            rows.append({"model_id": row["model"], "metric": metric, "value": value, "reason": reason, **FACTS})
    return pd.DataFrame(rows), dict(zip(table["model"], table["condition_type"], strict=True))


def test_the_frontiers_of_the_printed_table_are_its_best_rows(printed):
    best = frontiers(*printed).set_index(["type", "metric"])
    assert best.loc[("source-video", "wrbench.cam_prec"), ["model", "value"]].tolist() == ["HyDRA", 0.822]
    assert best.loc[("geometry-cache", "wrbench.support"), ["model", "value"]].tolist() == ["Gen3C", 0.73]
    assert best.loc[("prompt-only", "wrbench.cam_align"), ["model", "value"]].tolist() == ["Kling v2.6", 0.094]
    assert best.loc[("model-inferred", "wrbench.reobserved_state"), "model"] == "Lingbot World Act"
    assert ("prompt-only", "wrbench.cam_prec") not in best.index, "no axis stands in for another"
    assert len(best) == 4 * 8 - 1


def test_the_figure_keeps_the_camera_axes_and_support_apart(printed):
    drawn = frontier_figure(*printed)
    names = [trace.name for trace in drawn.interactive.data]
    assert names == ["source-video", "geometry-cache", "model-inferred", "prompt-only"]
    assert list(drawn.interactive.data[0].x)[:4] == ["CamPrec", "CamAlign", "Integ.", "Support"]
    assert np.isnan(drawn.interactive.data[3].y[0]) and "HyDRA" in drawn.interactive.data[0].customdata[0]
    assert "23 models" in drawn.caption
    assert frontier_figure(printed[0], {}) is None


def test_table_6_counts_each_metric_over_its_own_outputs(printed):
    whole = {table.id: table for table in reading_tables(*printed, {})}["wrbench-6"]
    assert [NAMES[metric] for metric in whole.row_metrics] == list(whole.frame["metric"]), "each row's link is its own metric's"
    table = whole.frame.set_index("metric")
    assert table.loc["CamPrec", ["Values", "Applies to", "Outputs"]].tolist() == [16, 16, 23]
    assert table.loc["CamAlign", "Values"] == 23
    assert table.loc["CamPrec", "Mean"] == pytest.approx(load("wrbench_table2")["cam_prec"].mean())
    assert set(table.columns) == {"counts", "Values", "Applies to", "Outputs", "Mean", "use"}


def test_table_10_lists_the_models_of_each_type_and_its_camera_axis(printed):
    table = {table.id: table for table in reading_tables(*printed, {})}["wrbench-10"].frame.set_index("type")
    assert table["n"].to_dict() == {"source-video": 3, "geometry-cache": 3, "model-inferred": 10, "prompt-only": 7}
    assert table.loc["prompt-only", ["CamPrec values", "CamAlign values"]].tolist() == [0, 7]
    assert table.loc["source-video", "models"] == "HyDRA, InSpatio World 14B, ReCamMaster"


def test_table_11_gives_the_change_along_a_series(printed):
    series = {"Wan-Fun 2.2": ["Wan-Fun 2.2-5B", "absent", "Wan-Fun 2.2-A14B"]}
    table = {table.id: table for table in reading_tables(*printed, series)}["wrbench-11"].frame
    assert table["model"].tolist() == ["Wan-Fun 2.2-5B", "Wan-Fun 2.2-A14B"]
    assert table["Support %"].tolist() == pytest.approx([12.0, 17.6])
    assert np.isnan(table["Support % change"].iloc[0]) and table["Support % change"].iloc[1] == pytest.approx(5.6)
    assert table["Reobs. state change"].iloc[1] == pytest.approx(0.649 - 0.664)
    assert "wrbench-11" not in {table.id for table in reading_tables(*printed, {})}
