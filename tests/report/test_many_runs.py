"""Any number of runs compared: which differences hold after correction, and what is said when none does."""

import re

import numpy as np
import pandas as pd
import pytest
from lookback.cli.app import app
from lookback.errors import UsageError
from lookback.exports.results import write_results
from lookback.report.compare import ANY_MODEL, compare_runs, conclusion, corrected, paired_differences, rank_changes
from lookback.tables import read_table, write_table
from made_runs import made_run
from scipy.stats import wilcoxon
from typer.testing import CliRunner

SCENES = [f"scene{n}" for n in range(10)]
NOISE = np.random.default_rng(3).normal(0, 0.01, (3, len(SCENES)))


def checkpoint(folder, step, level):
    """One model per run, named after its step; every scene has its own level."""
    values = {(f"step-{step}", scene): 0.3 + 0.02 * n + level + NOISE[step // 100 - 1, n] for n, scene in enumerate(SCENES)}
    return made_run(folder / f"step-{step}", values)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("three")
    return [checkpoint(folder, step, level) for step, level in ((100, 0.0), (200, 0.0), (300, 0.3))]


@pytest.fixture
def undrawn(monkeypatch):
    """No curve is drawn, for tests that are not about it."""
    monkeypatch.setattr("lookback.report.compare.draw_curve", lambda curve, folder: "")


def test_every_pair_of_runs_is_tested_and_corrected(three, tmp_path, undrawn):
    differences, ranks, _ = compare_runs(*three, folder=tmp_path / "out")
    rows = differences.frame.set_index(["run", "other run"])
    assert list(rows.index) == [("step-100", "step-200"), ("step-100", "step-300"), ("step-200", "step-300")]
    for (one, other), row in rows.iterrows():
        assert row["difference"] == pytest.approx(row["second"] - row["first"]) and row["scenes"] == row["pairs"] == 10
        places = [int(name[5:]) // 100 - 1 for name in (one, other)]
        levels = [(0.0, 0.0, 0.3)[place] for place in places]
        change = NOISE[places[1]] - NOISE[places[0]] + levels[1] - levels[0]
        assert row["p"] == pytest.approx(wilcoxon(change, method="exact").pvalue)
    assert (rows["p_holm"] >= rows["p"]).all()
    assert sorted(rows.index[rows["p_holm"] < 0.05]) == [("step-100", "step-300"), ("step-200", "step-300")]
    assert differences.conclusion.startswith("2 of 3 differences hold") and ranks.frame.empty
    apart = {pair: f"{row['difference']:+.4g}" for pair, row in rows.iterrows()}
    told = [f"wrbench.visual_integrity, step-300 minus {one}: {apart[one, 'step-300']}" for one in ("step-100", "step-200")]
    assert all(words in differences.conclusion for words in told) and apart["step-100", "step-300"].startswith("+0.")
    assert set(differences.frame["model"]) == {ANY_MODEL}


def test_the_curve_has_a_point_per_run_by_its_number(three, tmp_path):
    compare_runs(*reversed(three), folder=tmp_path / "out")
    curve = pd.read_csv(tmp_path / "out" / "curve.csv")
    assert list(curve["step"]) == [100, 200, 300] and curve["mean"].iloc[2] > curve["mean"].iloc[0] + 0.2
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Runs in order" in page and "report/pictures/" in page and "3 runs compared" in page


def test_runs_named_by_half_an_epoch_stand_in_order(tmp_path, undrawn):
    runs = [made_run(tmp_path / name, {("m", "s"): 0.1}) for name in ("epoch-1.5", "epoch-0.5", "epoch-1.0")]
    compare_runs(*runs, folder=tmp_path / "out")
    assert pd.read_csv(tmp_path / "out" / "curve.csv")["step"].tolist() == [0.5, 1.0, 1.5]


def test_it_says_when_nothing_separates_the_runs(tmp_path):
    same = [checkpoint(tmp_path, step, 0.0) for step in (100, 200)]
    differences = compare_runs(*same, folder=tmp_path / "out")[0]
    assert differences.conclusion == "Nothing separates these runs: of 1 tests none has p_holm below 0.05."
    itself = compare_runs(same[0], same[0], folder=tmp_path / "itself")[0]
    assert itself.conclusion == differences.conclusion  # ten scenes could tell a difference, if there were one
    few = [made_run(tmp_path / name, {("m", s): 0.1 + up for s in SCENES[:3]}) for name, up in (("low", 0.0), ("high", 0.5))]
    assert "not even the clearest result" in compare_runs(*few, folder=tmp_path / "few")[0].conclusion
    alone = [made_run(tmp_path / name, {("m", "s"): 0.1}) for name in ("x", "y")]
    assert compare_runs(*alone, folder=tmp_path / "alone")[0].conclusion.startswith("No difference can be tested")


def test_clips_of_one_scene_count_once(tmp_path):
    """Sixty copies of one scene's difference are no sixty observations."""
    params = made_run(tmp_path / "a", {("m", scene): 0.1 for scene in SCENES})
    frame = pd.DataFrame({"scenes": [10, 1, 10], "p": [0.01, np.nan, 0.04]})
    assert corrected(frame)["p_holm"].round(6).tolist()[::2] == [0.02, 0.04] and params.run == "a"


def test_models_that_runs_share_are_compared_with_themselves(tmp_path, undrawn):
    runs = [
        made_run(
            tmp_path / name, {(model, s): 0.2 + n / 100 + shift * (model == "b") for n, s in enumerate(SCENES) for model in "ab"}
        )
        for name, shift in (("one", 0.0), ("two", 0.2), ("three", 0.4))
    ]
    differences, ranks, _ = compare_runs(*runs, folder=tmp_path / "out")
    rows = differences.frame.set_index(["run", "other run", "model"])
    assert rows.loc[("one", "three", "b"), "difference"] == pytest.approx(0.4)
    assert rows.loc[("one", "three", "a"), "difference"] == 0 and rows.loc[("one", "three", "a"), "p"] == 1
    assert set(ranks.frame["run"]) == {"one"}  # the models are level in the first run alone
    assert "wrbench.visual_integrity of b, three minus one: +0.4" in differences.conclusion


def test_the_command_takes_folders_of_finished_runs(three, tmp_path):
    for run in three:
        write_results(run)
    folders = [str(run.paths.root) for run in three]
    done = CliRunner().invoke(app, ["compare", *folders, "--output", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "2 of 3 differences hold" in done.output and (tmp_path / "out" / "figures" / "checkpoint_curve.png").is_file()
    with pytest.raises(UsageError, match="two or more"):
        compare_runs(three[0], folder=tmp_path)
    with pytest.raises(UsageError, match="same name"):
        compare_runs(three[0], three[0], three[1], folder=tmp_path)


@pytest.mark.parametrize("scale", [1.0, 12345.678])
def test_a_difference_of_zero_in_every_scene_is_none(scale):
    """Two clips a scene, one 0.1 better and one 0.1 worse: in floating point their mean is not quite zero."""
    keys = {"benchmark": "b", "setting": "", "model_id": "m", "metric": "memobench.psnr", "phase": ""}
    first, second = (
        pd.DataFrame([{**keys, "clip_id": f"{s}{k}", "scene": s, "value": scale * values[k]} for s in SCENES for k in range(2)])
        for values in ((0.2, 0.2), (0.3, 0.1))
    )
    row = paired_differences(first, second, seed=0, resamples=200).iloc[0]
    assert (row["p"], row["smallest_p"]) == (1, 2 / 2 ** len(SCENES))
    assert np.isnan(row["ci_low"]) and np.isnan(row["ci_high"])
    moved = paired_differences(first, second.assign(value=second["value"] + 1e-6 * scale), seed=0, resamples=200).iloc[0]
    assert moved["p"] == 2 / 2 ** len(SCENES)


def test_scenes_without_a_change_count_among_the_scenes_of_the_smallest_p():
    """One of ten scenes changes: the test drops the other nine, but ten scenes are enough for a clear result."""
    keys = {"benchmark": "b", "setting": "", "model_id": "m", "metric": "memobench.psnr", "phase": ""}
    first = pd.DataFrame([{**keys, "clip_id": s, "scene": s, "value": 0.5} for s in SCENES])
    second = first.assign(value=[0.6, *[0.5] * 9])
    found = corrected(paired_differences(first, second, seed=0, resamples=200))
    assert (found["p"][0], found["smallest_p"][0]) == (1, 2 / 2 ** len(SCENES))
    said = conclusion(found.assign(**{"run": "one", "other run": "two"}))
    assert said == "Nothing separates these runs: of 1 tests none has p_holm below 0.05."


def test_means_that_only_rounding_tells_apart_have_one_rank():
    """The same five scores in another order: their means differ in the last digit."""
    orders = ([0.1, 0.2, 0.3, 0.6, 0.7], [0.1, 0.7, 0.3, 0.6, 0.2])
    first, second = (float(pd.Series(order).mean()) for order in orders)
    rows = [("memobench.ssim", "", "x", first, second), ("memobench.ssim", "", "y", second, first)]
    assert first != second
    assert rank_changes(pd.DataFrame(rows, columns=["metric", "phase", "model", "first", "second"])).empty


def test_a_test_that_the_pooled_difference_does_not_bear_out_is_no_finding():
    """Sixty clips of one scene gain, the one clip of each other scene loses: the clips' mean rises, most scenes fall."""
    keys = {"benchmark": "b", "setting": "", "model_id": "m", "metric": "memobench.psnr", "phase": ""}
    clips = [("big", k) for k in range(60)] + [(f"small{k}", 0) for k in range(1, 12)]
    first, second = (
        pd.DataFrame([{**keys, "clip_id": f"{s}-{k}", "scene": s, "value": value(s)} for s, k in clips])
        for value in (lambda s: 0.5, lambda s: 0.9 if s == "big" else 0.5 - 0.01 * int(s[5:]))
    )
    found = corrected(paired_differences(first, second, seed=0, resamples=500))
    row = found.iloc[0]
    assert row["difference"] > 0 > row["rank_biserial"] and row["p_holm"] < 0.05
    assert conclusion(found).startswith("No difference holds: 1 of 1 tests have p_holm below 0.05, but")


def test_the_curve_is_over_what_every_run_scored(tmp_path):
    """No clip's score ever changes; the runs differ in their clips and models alone."""
    score = {(model, f"s{n:02d}"): 0.2 + 0.05 * n + 0.3 * (model == "b") for model in "ab" for n in range(12)}
    chosen = {"base": ("a", range(8)), "tuned": ("a", range(2, 12)), "last": ("ab", range(4, 12))}
    runs = [
        made_run(tmp_path / name, {key: value for key, value in score.items() if key[0] in models and int(key[1][1:]) in scenes})
        for name, (models, scenes) in chosen.items()
    ]
    compare_runs(*runs, folder=tmp_path / "out")
    curve = pd.read_csv(tmp_path / "out" / "curve.csv")
    common = np.mean([score["a", f"s{n:02d}"] for n in range(4, 8)])
    assert set(curve["n"]) == {4} and curve["mean"].tolist() == pytest.approx([common] * 3)
    figure = tmp_path / "out" / "figures" / "checkpoint_curve.svg"
    drawn = re.findall(r">([^<>]+)</text>", figure.read_text())
    assert [text for text in drawn if text in chosen] == list(chosen) and not {"1.0", "1.5", "step"} & {*drawn}
    assert "that all 3 runs scored" in figure.with_suffix(".txt").read_text() and "n = 4" in figure.with_suffix(".txt").read_text()


def test_runs_without_a_common_clip_have_no_curve(tmp_path):
    runs = [made_run(tmp_path / name, {("m", name): 0.5}) for name in ("x", "y", "z")]
    compare_runs(*runs, folder=tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "no clip has a score of the same variant in every run: wrbench.visual_integrity." in page


@pytest.mark.parametrize("other", [{"variant": "official"}, {"backend": "features=dinov2"}])
def test_the_conclusion_names_metrics_that_the_runs_measured_otherwise(tmp_path, other):
    one, two = (made_run(tmp_path / name, {("m", s): n / 10 for n, s in enumerate(SCENES)}) for name in ("one", "two"))
    assert "Not measured alike" not in compare_runs(one, two, folder=tmp_path / "alike")[0].conclusion
    write_table(two.paths.tables, "gated", read_table(two.paths.tables, "gated").assign(**other))
    two = two.changed(scoring={"variant": other.get("variant")})
    told = compare_runs(one, two, folder=tmp_path / "out")[0].conclusion
    words = "Not measured alike in all runs (variant or backend), so not of the videos alone: wrbench.visual_integrity."
    assert told == f"Nothing separates these runs: of 1 tests none has p_holm below 0.05. {words}"


def test_clips_that_lack_a_part_of_their_task_are_excluded_from_every_run_and_counted(tmp_path):
    """In one scene the second run's video stops early; with it the difference would be 10.9, not 0.1."""
    levels = {"one": [0.1] * 10, "two": [0.2] * 9 + [99.0], "three": [0.3] * 10}
    runs = [made_run(tmp_path / name, dict(zip([("m", s) for s in SCENES], own, strict=True))) for name, own in levels.items()]
    clips = read_table(runs[1].paths.tables, "clips")
    write_table(runs[1].paths.tables, "clips", clips.assign(shortfall=clips["clip_id"].map({"scene9": "4 of 9 frames"}).fillna("")))
    differences = compare_runs(*runs[:2], folder=tmp_path / "pair")[0]
    row = differences.frame.iloc[0]
    assert (row["pairs"], row["only_first"], row["only_second"]) == (9, 1, 0) and row["difference"] == pytest.approx(0.1)
    assert differences.conclusion.endswith("Excluded, because the video lacks a part of its task (fewer frames, say): two 1.")
    compare_runs(*runs, folder=tmp_path / "curve")
    assert set(pd.read_csv(tmp_path / "curve" / "curve.csv")["n"]) == {9}


def test_runs_whose_folders_have_one_name_are_told_apart(tmp_path, undrawn):
    runs = [made_run(tmp_path / f"c{k}" / "out", {("m", scene): k / 10 for scene in SCENES}) for k in (1, 2, 3)]
    differences = compare_runs(*runs[:2], folder=tmp_path / "two")[0]
    assert differences.title == "c2/out minus c1/out, clip by clip"
    assert differences.headers == {"first": "c1/out", "second": "c2/out"}
    rows = compare_runs(*runs, folder=tmp_path / "three")[0].frame
    assert rows["run"].tolist() == ["c1/out", "c1/out", "c2/out"] and rows["other run"][0] == "c2/out"
