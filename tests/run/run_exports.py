"""A finished run in the forms that the benchmarks' own users read, and `lookback eval` and `compare` from the command line."""

import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from lookback.exports import export
from lookback.params import RunParams
from lookback.paths import project_root
from lookback.report.compare import compare_runs, paired_differences, rank_changes
from lookback.scoring.variants import only_chosen
from lookback.tables import read_table


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_mbench_layout(params: RunParams, tmp_path: Path):
    """MBench's README, "Output Layout" and "Score Schema": names, keys, and the values of the tables."""
    folder = export("mbench", params, tmp_path / "run")
    clips = read_table(params.paths.tables, "clips").query("benchmark == 'mbench'")
    items = only_chosen(read_table(params.paths.tables, "gated").query("benchmark == 'mbench'"), params)
    assert {(row["model_id"], row["item_id"]) for row in lines(folder / "items.jsonl")} == set(
        zip(clips["model_id"], clips["clip_id"], strict=True)
    )
    name = "mbencha.entity.human_identity_consistency"
    assert {path.name for path in (folder / "metrics").iterdir()} == set(items["metric"])
    own = items[items["metric"] == name].set_index("model_id")["value"]
    written = {row["model_id"]: row["scores"]["score"] for row in lines(folder / "metrics" / name / "items.jsonl")}
    assert written == pytest.approx(own.to_dict())
    summary = json.loads((folder / "metrics" / name / "summary.json").read_text())
    assert {model: group["score"] for model, group in summary["groups"].items()} == pytest.approx(own.to_dict())
    units = lines(folder / "metrics" / name / "units.jsonl")
    assert units
    assert all({"unit_id", "item_id", "model_id", "scores", "metadata"} <= set(row) for row in units)
    triggered = lines(folder / "metrics" / name.replace("mbencha", "mbencht") / "items.jsonl")
    assert all({"triggered", "trigger_score"} <= set(row["scores"]) for row in triggered)
    assert (folder / "eval.log").read_text().count("\n") == len(items)


def test_mind_result(params: RunParams, tmp_path: Path):
    """MIND's README: lists per frame with their averages, for every model."""
    folder = export("mind", params, tmp_path / "mind")
    items = only_chosen(read_table(params.paths.tables, "items"), params)
    files = sorted(folder.glob("Result_*.json"))
    assert [path.stem.removeprefix("Result_") for path in files] == sorted(
        items.loc[items["benchmark"] == "mind", "model_id"].unique()
    )
    for path in files:
        result = json.loads(path.read_text())
        assert set(result) == {"video_max_time", "data"}
        row = result["data"][0]
        assert {"path", "perspective", "test_type", "error", "mark_time", "total_time", "sample_frames", "lcm", "action"} <= set(
            row
        )
        values = [value for value in row["lcm"]["mse"] if value is not None]
        assert row["lcm"]["avg_mse"] == pytest.approx(sum(values) / len(values))
        assert {"rpe_trans_mean", "rpe_rot_mean_deg", "count"} <= set(row["action"]["__overall__"])


@pytest.mark.parametrize(
    ("name", "metric", "column", "scale"),
    [
        ("wrbench", "wrbench.visual_integrity", "Integ.", 1),
        ("memobench", "memobench.ors", "ORS", 1),
    ],
)
def test_main_tables(params: RunParams, tmp_path: Path, name: str, metric: str, column: str, scale: float):
    table = pd.read_csv(export(name, params, tmp_path / f"{name}.csv")).set_index("model")
    items = only_chosen(read_table(params.paths.tables, "gated"), params)
    expected = items[items["metric"] == metric].groupby("model_id")["value"].mean()
    assert table[column].to_dict() == pytest.approx((scale * expected).to_dict())


def test_eval_scores_a_dataset_in_one_command(finished: Path, tmp_path: Path, warm_python: str):
    """PSNR and SSIM of the demo's MemoBench dataset, layout detected; the same numbers as the run's own."""
    source, output = finished / "datasets" / "memobench", tmp_path / "scored"
    command = [
        warm_python,
        "-m",
        "lookback",
        "eval",
        str(source),
        "--output",
        str(output),
        "--metrics",
        "memobench.psnr,memobench.ssim",
        "--metrics",  # repeated: one more, not instead
        "memobench.motion_smoothness",
    ]
    done = subprocess.run(command, cwd=project_root(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f"memobench.{name}" in done.stdout for name in ("psnr", "ssim", "motion_smoothness"))
    assert pd.read_parquet(output / "tables" / "artifacts.parquet").empty  # none of the three reads one, and nobody judges
    keys = ["model_id", "clip_id", "metric", "phase"]
    scored = pd.read_parquet(output / "tables" / "items.parquet")
    own = pd.read_parquet(finished / "tables" / "items.parquet")
    joined = scored.merge(own[own["variant"] == "paper"], on=keys, suffixes=("", "_run"))
    assert len(joined) == len(scored) > 0
    pd.testing.assert_series_equal(joined["value"], joined["value_run"], check_names=False)


def test_a_run_compared_with_itself_differs_nowhere(params: RunParams, tmp_path: Path):
    differences, ranks, changes = compare_runs(params, params, folder=tmp_path)
    paired = differences.frame[differences.frame["pairs"] > 0]
    assert len(paired) > 20
    assert (paired["difference"].abs() < 1e-12).all()
    assert ranks.frame.empty
    assert changes.frame.empty
    assert (tmp_path / "report.html").is_file()


def test_differences_pair_clips_and_follow_ranks():
    """By hand: b gains 0.3 on all five clips and passes a; one clip of a is only in the first run."""
    keys = {"benchmark": "mbench", "setting": "A", "metric": "mbencha.environment.rendering_style", "phase": ""}
    scores = (
        {("a", clip): (0.5, 0.5) for clip in "vwxz"} | {("a", "y"): (0.6, None)} | {("b", clip): (0.35, 0.65) for clip in "vwxyz"}
    )
    first, second = (
        pd.DataFrame(
            [
                {**keys, "model_id": model, "clip_id": clip, "scene": clip, "value": value[place]}
                for (model, clip), value in scores.items()
            ]
        )
        for place in (0, 1)
    )
    table = paired_differences(first, second, seed=1, resamples=100).set_index("model")
    assert table.loc["b", ["first", "second", "difference"]].tolist() == pytest.approx([0.35, 0.65, 0.3])
    assert table.loc["b", ["ci_low", "ci_high"]].isna().all()  # the same change in every clip: nothing varies
    assert table.loc["a", ["pairs", "only_first", "only_second"]].tolist() == [4, 1, 0]
    assert rank_changes(table.reset_index()).set_index("model")["change"].to_dict() == {"a": -1, "b": 1}
