"""The report's figures: both drawings show the numbers they were given, and say what they left out."""

import html
import json
import re
from types import SimpleNamespace

import made_artifacts
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from lookback.artifacts import PoseTrack
from lookback.benchmarks.memobench.figures import phase_fidelity
from lookback.benchmarks.wrbench.figures import camera_access, series_diagnostics
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.clips import Clip
from lookback.figures import save_figure
from lookback.report.figures.drawn import plotly_script
from lookback.report.figures.paths import camera_paths
from lookback.report.figures.profiles import profile, relative
from lookback.report.figures.statistics import correlations, event_boxes, interactive_statistics
from lookback.report.page import Section, write_page
from lookback.report.table import PaperTable
from matplotlib.figure import Figure

MODELS = ["a", "b", "c"]


def table(**columns) -> PaperTable:
    frame = pd.DataFrame({"model": MODELS, **columns})
    better = {name: not name.startswith("low") for name in columns}
    return PaperTable("t", "A table", frame, ["model"], better=better)


def items(rows, metric="wrbench.support", **more) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["model_id", "camera", "value"])
    return frame.assign(**({"metric": metric, "setting": "s", "phase": "", "clip_id": [f"c{i}" for i in range(len(frame))]} | more))


def test_a_profile_puts_the_best_on_the_rim_whichever_way_is_better():
    places = relative(pd.DataFrame({"high": [1.0, 2.0, 4.0], "low": [5.0, 3.0, 1.0]}), {"high": True, "low": False})
    np.testing.assert_allclose(places["high"], [0, 1 / 3, 1])
    np.testing.assert_allclose(places["low"], [0, 0.5, 1])


def test_a_profile_shows_the_tables_numbers_and_names_the_axes_it_left_out():
    drawn = profile(table(one=[1.0, 2.0, 3.0], two=[3.0, np.nan, 1.0], low=[1.0, 2.0, 4.0], same=[7.0, 7.0, 7.0]))
    assert drawn.caption.count("same") == 1 and "do not tell the models apart: same." in drawn.caption
    shown = {trace.name: dict(zip(trace.theta, trace.customdata, strict=True)) for trace in drawn.interactive.data}
    assert shown["a"] == {"one": 1.0, "two": 3.0, "low": 1.0}
    assert np.isnan(shown["b"]["two"])
    line = drawn.static.axes[0].lines[0]
    np.testing.assert_allclose(np.hypot(*line.get_data()), [0.1, 1, 1, 0.1])  # model a: worst in one, best in two and low, closed


def test_an_axis_that_is_printed_alike_for_all_is_no_axis():
    made = table(one=[1.0, 2.0, 3.0], two=[3.0, 2.0, 1.0], low=[1.0, 2.0, 4.0], same=[0.001, 0.002, 0.003])
    assert "do not tell the models apart: same." in profile(made).caption


def test_two_columns_make_no_profile():
    assert profile(table(one=[1.0, 2.0, 3.0], two=[3.0, 2.0, 1.0], same=[1.0, 1.0, 1.0])) is None


def test_two_models_make_no_profile():
    """Of two models, one is at the centre of every axis and one on the rim, however close they are."""
    columns = {"one": [1.0, 2.0, np.nan], "two": [3.0, 2.0, np.nan], "low": [1.0, 2.0, np.nan]}
    assert profile(table(**columns)) is None
    assert profile(table(**{name: [*values[:2], 4.0] for name, values in columns.items()})) is not None


def test_a_profile_tells_axes_without_values_from_axes_that_are_alike():
    columns = {"one": [1.0, 2.0, 3.0], "two": [3.0, 2.0, 1.0], "low": [1.0, 2.0, 4.0]}
    caption = profile(table(**columns, same=[7.0, 7.0, 7.0], empty=[np.nan] * 3)).caption
    assert "do not tell the models apart: same." in caption and "have no values: empty." in caption


def test_long_names_in_a_profile_stay_in_their_panel():
    made = table(one=[1.0, 2.0, 3.0], two=[3.0, 2.0, 1.0], low=[1.0, 2.0, 4.0])
    made.frame["model"] = ["a model with a name that goes on for some sixty characters or more", "x" * 150, "c"]
    titles = [text.get_text().splitlines() for text in profile(made).static.axes[0].texts if text.get_fontsize() == 9]
    assert " ".join(titles[0]) == made.frame["model"][0] and titles[2] == ["c"]
    assert all(len(lines) <= 3 and len(line) <= 32 for lines in titles for line in lines)


def test_camera_access_counts_returns_by_path():
    drawn = camera_access(items([("a", "yaw_LR", 1.0), ("a", "yaw_LR", 0.0), ("a", "yaw_RL", 1.0), ("b", "yaw_LR", 0.0)]))
    bars = {bar.name: dict(zip(bar.y, zip(bar.x, bar.customdata, strict=True), strict=True)) for bar in drawn.interactive.data}
    assert bars["yaw_LR"] == {"b": (0.0, "0 of 1"), "a": (50.0, "1 of 2")}
    assert bars["yaw_RL"]["a"] == (100.0, "1 of 1") and bars["yaw_RL"]["b"][1] == "not asked"
    assert "4 outputs of 2 models" in drawn.caption
    widths = sorted(patch.get_width() for patch in drawn.static.axes[0].patches if np.isfinite(patch.get_width()))
    assert widths == [0.0, 50.0, 100.0]


def test_phases_are_means_over_clips():
    rows = [("a", "", 20.0), ("a", "", 30.0), ("a", "", 10.0)]
    own = items(rows, "memobench.psnr", phase=["V", "V", "R"])
    drawn = phase_fidelity(own)
    assert list(drawn.interactive.data[0].y) == [25.0, 10.0]
    np.testing.assert_allclose(drawn.static.axes[0].lines[0].get_ydata(), [25.0, 10.0])


def test_a_measure_without_values_has_no_panel():
    drawn = phase_fidelity(items([("a", "", 0.2), ("a", "", 0.3)], "memobench.ssim", phase=["V", "R"]))
    assert [axes.get_title() for axes in drawn.static.axes] == ["SSIM"]
    assert [title.text for title in drawn.interactive.layout.annotations] == ["SSIM"] and drawn.interactive.data[0].showlegend


def test_a_series_keeps_its_order_and_leaves_a_gap_for_an_unknown_model():
    own = items([("late", "", 0.5), ("early", "", 1.0), ("early", "", 0.0)])
    drawn = series_diagnostics(own, {"growth": ["early", "unknown", "late"]})
    support = drawn.interactive.data[0]
    assert list(support.x) == ["early", "unknown", "late"] and list(support.customdata) == [2, 0, 1]
    np.testing.assert_array_equal(support.y, [0.5, np.nan, 0.5])
    assert "text" in support.mode and support.texttemplate == "n %{customdata}"
    assert series_diagnostics(own, {}) is None


def test_correlations_stand_in_their_cells():
    rows = [
        ("wrbench", "", "m.x", "m.y", 0.5, 0.1, 0.8, 0.01, 0.03, 9, ""),
        ("wrbench", "", "m.x", "m.z", *[np.nan] * 5, 0, "none: too few"),
    ]
    columns = ["benchmark", "setting", "metric_a", "metric_b", "r", "low", "high", "p", "p_holm", "n", "reason"]
    heat = correlations(pd.DataFrame(rows, columns=columns)).data[0]
    assert list(heat.x) == ["x", "y", "z"]
    assert heat.z[1][0] == 0.5 and heat.customdata[1][0] == "r 0.50 (0.10 to 0.80), p 0.030 after Holm, n 9 models"
    assert heat.text[1][0] == "<b>0.50</b>", "bold: Holm leaves p below 0.05"
    assert heat.customdata[2][0] == "none: too few" and heat.text[2][0] == ""


def test_a_setting_may_be_called_like_a_number(tmp_path):
    row = {"benchmark": "mbench", "setting": "1", "metric_a": "x", "metric_b": "y", "r": 0.5, "low": 0.1, "high": 0.8}
    pd.DataFrame([row | {"p": 0.02, "p_holm": 0.04, "n": 9, "reason": ""}]).to_csv(tmp_path / "correlations.csv", index=False)
    assert interactive_statistics(tmp_path)["correlations"].layout.updatemenus[0].buttons[0].label == "mbench 1"


def test_event_boxes_hold_every_models_mean():
    cells = pd.DataFrame(
        {"metric": "wrbench.cam_align", "model_id": ["a", "b"], "event_level": ["none", "full"], "value": [0.3, 0.9]}
    )
    tests = {"metric": "wrbench.cam_align", "contrast": ["spatial", "state"], "shift": [0.2, -0.1], "low": np.nan, "high": np.nan}
    factors = pd.DataFrame({**tests, "p": 0.001, "p_holm": [0.002, 0.5], "n": 4})
    drawn = event_boxes(cells, factors)
    assert {box.name: list(box.y) for box in drawn.data[:4]} == {"none": [0.3], "spatial": [], "state": [], "full": [0.9]}
    assert [(bar.name, list(bar.y), list(bar.text)) for bar in drawn.data[4:]] == [
        ("spatial", [0.2], ["**"]),
        ("state", [-0.1], ["n.s."]),
    ]


def pose(x: list[float]) -> PoseTrack:
    c2w = np.repeat(np.eye(4)[None], len(x), 0)
    c2w[:, 0, 3] = x
    return made_artifacts.poses(c2w)


def paths(*poses: PoseTrack):
    clips = [
        Clip(benchmark="mind", setting="s", model_id=f"m{k}", clip_id="c", scene="x", content_hash="0" * 64, video="v.mp4",
             n_frames=3, fps=16.0, width=64, height=48)
        for k in range(len(poses))
    ]  # fmt: skip
    artifacts = SimpleNamespace(load=lambda clip, kind: poses[int(clip.model_id[1:])], stored=lambda clip, role: True)
    return camera_paths("mind", clips, artifacts)


def test_a_camera_that_stays_in_place_has_no_path_from_above():
    drawn = paths(pose([0.0, 4e-4, -4e-4]), pose([0.0, 2e-4, 0.0]))
    assert len(drawn.interactive.data) == 4, "yaw and pitch of two clips"
    assert "No camera leaves its place" in drawn.caption and "from above" not in drawn.caption


def test_the_yaw_of_a_full_turn_does_not_jump_in_either_drawing():
    yaw = np.linspace(0, 360, 25)
    drawn = paths(made_artifacts.poses(from_yaw_pitch_roll(yaw)))
    assert list(drawn.interactive.data[0].y) == pytest.approx(yaw, abs=1e-3)
    assert drawn.interactive.layout.yaxis.range[1] >= 360
    assert drawn.static.axes[0].lines[-1].get_ydata() == pytest.approx(yaw, abs=1e-6)


def test_a_short_path_is_not_blown_up():
    drawn = paths(pose([0.0, 0.001, 0.004]), pose([0.0, 2e-4, 0.0]))
    assert "position seen from above (1 of 2; the others stay in place" in drawn.caption
    low, high = drawn.interactive.layout.xaxis3.range
    assert high - low > 0.1
    assert drawn.static.axes[2].get_xlim() == pytest.approx((low, high))


@pytest.mark.parametrize(
    "hostile",
    ["</script><script>alert(1)</script>", "<!-- <script>", r"a$\frac$b", '<a href="https://evil.example">x</a>', "&lt;b>"],
)
def test_a_models_name_cannot_leave_its_figure(tmp_path, hostile):
    drawn = camera_access(items([(hostile, "yaw_LR", 1.0)]))
    made = drawn.save(tmp_path)
    assert made.count("<script") == 1 and made.count("</script>") == 1
    (shown,) = json.loads(re.search(r"json\">(.*)</script>", made, re.S)[1])["data"][0]["y"]
    assert "<" not in shown and html.unescape(shown) == hostile  # plotly reads tags, and shows entities as what they stand for
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".svg", ".pdf", ".txt"}


def test_the_library_is_loaded_only_when_a_figure_needs_it(tmp_path):
    write_page(tmp_path / "plain.html", "t", "s", [Section("a", "A", "", ["<p>x</p>"])], "f")
    write_page(tmp_path / "drawn.html", "t", "s", [Section("a", "A", "", ['<div class="plot"></div>'])], "f")
    assert "plotly.js" not in (tmp_path / "plain.html").read_text() and not (tmp_path / "plain" / "plotly.js").exists()
    assert 'src="drawn/plotly.js"' in (tmp_path / "drawn.html").read_text()
    assert (tmp_path / "drawn" / "plotly.js").read_text() == plotly_script()


def test_a_saved_figure_is_drawn_once_per_format(tmp_path, monkeypatch):
    """One drawing finds the layout, then one per format; a layout engine that stays would draw every format twice."""
    drawn, draw = [], Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda figure, renderer: (drawn.append(figure), draw(figure, renderer))[1])
    figure, axes = plt.subplots(layout="constrained")
    axes.plot([0, 1])
    save_figure(figure, tmp_path, "line", "A line.")
    assert len(drawn) == 1 + len({".png", ".svg", ".pdf"})
