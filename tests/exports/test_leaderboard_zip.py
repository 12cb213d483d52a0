"""The zip for a leaderboard: what is in it, what it admits, and that the same scores give the same bytes."""

import csv
import io
import json
import zipfile

import pandas as pd
import pytest
from lookback.cli.app import app
from lookback.errors import ContractError
from lookback.exports import export
from lookback.exports.results import write_results
from lookback.tables import empty_table, read_table, write_table
from made_runs import made_run
from typer.testing import CliRunner

PSNR = {("a", "s1"): 20.0, ("a", "s2"): 24.0, ("b", "s1"): "decode_failed", ("b", "s2"): 18.0}


def opened(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_zip_holds_scores_tables_and_the_benchmarks_own_files(tmp_path):
    run = made_run(tmp_path / "mine", PSNR, metric="memobench.psnr", benchmark="memobench")
    write_results(run)
    done = CliRunner().invoke(app, ["export", "leaderboard", str(run.paths.root), "--output", str(tmp_path / "zips")])
    assert done.exit_code == 0, done.output
    files = opened(tmp_path / "zips" / "memobench.zip")
    assert {"results.json", "submission.json", "tables/memobench-2.csv", "memobench/table.csv"} <= set(files)
    table = list(csv.DictReader(io.StringIO(files["tables/memobench-2.csv"].decode())))
    assert {row["model"]: row["PSNR"] for row in table} == {"a": "22.0", "b": "18.0"}
    submission = json.loads(files["submission.json"])
    assert submission["models"] == ["a", "b"] and submission["clips"] == 4
    assert submission["metrics"]["memobench.psnr"]["scored"] == 3
    assert not submission["measured_as_released"] and "own tasks" in submission["unchecked"]
    assert any("embedded stand-in" in reason for reason in submission["why_not"])
    assert "memobench.psnr: 1 clip without a score" in submission["why_not"]


@pytest.mark.parametrize(("variant", "as_released"), [("official", True), ("paper", False)])
def test_only_the_released_programs_variant_is_measured_as_released(tmp_path, variant, as_released):
    run = made_run(tmp_path / "mine", {("a", "s1"): 20.0}, metric="memobench.psnr", benchmark="memobench")
    items = read_table(run.paths.tables, "gated").assign(backend="none", variant=variant)
    write_table(run.paths.tables, "gated", items)
    chosen = run.changed(scoring={"variant": variant})
    submission = json.loads(opened(export("leaderboard", chosen, tmp_path / "x.zip"))["submission.json"])
    assert submission["measured_as_released"] is as_released
    assert submission["why_not"] == ([] if as_released else ["memobench.psnr: variant paper"])


@pytest.mark.parametrize("judge", ["simulated", "geometric"])
def test_what_no_model_answered_is_not_measured_as_released(tmp_path, judge):
    metric = "memobench.vqa_physics_adherence"
    run = made_run(tmp_path / "mine", {("a", "s1"): 1.0}, metric=metric, benchmark="memobench")
    write_table(run.paths.tables, "gated", read_table(run.paths.tables, "gated").assign(backend=judge, variant="official"))
    files = opened(export("leaderboard", run.changed(scoring={"variant": "official"}), tmp_path / "x.zip"))
    submission = json.loads(files["submission.json"])
    assert not submission["measured_as_released"] and submission["why_not"] == [f"{metric}: measured by an embedded stand-in"]
    assert submission["metrics"][metric]["stand_ins"] == [judge]


def test_the_same_scores_give_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("lookback.provenance.git_revision", lambda: "a" * 40)  # the checkout may change while the test runs
    run = made_run(tmp_path / "mine", PSNR, metric="memobench.psnr", benchmark="memobench")
    first, second = (export("leaderboard", run, tmp_path / f"{name}.zip").read_bytes() for name in "ab")
    assert first == second


def test_one_zip_cannot_hold_two_benchmarks(tmp_path, monkeypatch):
    from lookback.exports import leaderboard

    run = made_run(tmp_path / "mine", PSNR)
    content = leaderboard.results(run)
    other = {**content, "samples": [*content["samples"], {**content["samples"][0], "benchmark": "memobench"}]}
    monkeypatch.setattr(leaderboard, "results", lambda params: other)
    with pytest.raises(ContractError, match="give a folder"):
        export("leaderboard", run, tmp_path / "x.zip")


def test_a_benchmark_without_scores_has_no_zip(tmp_path):
    """A run of two benchmarks in which only metrics of one were asked for, and a run without any score."""
    run = made_run(tmp_path / "mine", PSNR, metric="memobench.psnr", benchmark="memobench")
    clips = read_table(run.paths.tables, "clips")
    write_table(run.paths.tables, "clips", pd.concat([clips, clips.assign(benchmark="wrbench")], ignore_index=True))
    export("leaderboard", run, tmp_path / "zips")
    assert [path.name for path in (tmp_path / "zips").iterdir()] == ["memobench.zip"]
    for table in ("items", "gated"):
        write_table(run.paths.tables, table, empty_table(table))
    for target in ("none", "none.zip"):
        with pytest.raises(ContractError, match="no scores to export"):
            export("leaderboard", run, tmp_path / target)


def test_a_zip_holds_nothing_of_another_benchmark(tmp_path):
    style = "mbencha.environment.rendering_style"
    run = made_run(tmp_path / "mine", PSNR, metric="memobench.psnr", benchmark="memobench")
    with pytest.raises(ContractError, match="no MBench clips"):
        export("mbench", run, tmp_path / "folder")
    for table in ("clips", "items", "gated"):
        own = read_table(run.paths.tables, table)
        other = own.assign(benchmark="mbench", setting="A", **({"metric": style} if "metric" in own else {}))
        write_table(run.paths.tables, table, pd.concat([own, other], ignore_index=True))
    export("leaderboard", run, tmp_path / "zips")
    files = opened(tmp_path / "zips" / "mbench.zip")
    assert {name.split("/")[2] for name in files if name.startswith("mbench/metrics/")} == {style}
    assert len(files["mbench/items.jsonl"].splitlines()) == len(PSNR) and b"psnr" not in files["mbench/eval.log"]


def test_a_role_that_nobody_filled_is_no_backend(tmp_path):
    run = made_run(tmp_path / "mine", PSNR, metric="memobench.psnr", benchmark="memobench")
    items = read_table(run.paths.tables, "gated").assign(backend="features=none,flow=dis")
    write_table(run.paths.tables, "gated", items)
    files = opened(export("leaderboard", run, tmp_path / "x.zip"))
    assert json.loads(files["submission.json"])["metrics"]["memobench.psnr"]["backends"] == ["flow=dis"]
