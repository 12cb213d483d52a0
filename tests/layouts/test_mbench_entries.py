"""MBench's flags and its Python entry (README: "Usage Reference", "Python API") on a small dataset."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from layout_data import mbench
from lookback.api import adapter_registry, aggregator_registry, metric_registry, run_eval
from lookback.cli.app import app
from lookback.errors import UsageError
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))
from chat_server import ChatServer, completion

KEY = "key-of-the-flag-7c1d"  # not a real key; everything that is written is searched for it
LIGHT = "mbencha.environment.rendering_lighting"
OBJECT = "mbencha.entity.object_geometry_consistency"
STATE = "mbencht.causal.state_progress"


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOOKBACK_JUDGE_KEY", "MBENCH_VLM_API_KEY", "OPENAI_API_KEY", "MBENCH_VLM_BASE_URL", "MBENCH_VLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))


def command(*arguments: str):
    return CliRunner().invoke(app, ["eval", *arguments, "--workers", "1"], catch_exceptions=False)


def test_quiet_prints_nothing_and_without_a_log_file_there_is_none(tmp_path):
    source, output = mbench(tmp_path / "data"), tmp_path / "out"
    said = command(str(source), "--metrics", LIGHT, "--output", str(output), "--quiet", "--no-log-file")
    assert (said.exit_code, said.output) == (0, "")
    assert not (output / "eval.log").exists() and (output / "metrics" / LIGHT / "summary.json").is_file()


def test_without_a_progress_bar_the_table_is_still_printed(tmp_path):
    source, output = mbench(tmp_path / "data"), tmp_path / "out"
    said = command(str(source), "--metrics", LIGHT, "--output", str(output), "--no-progress-bar")
    assert LIGHT in said.output and "clip/s" not in said.output and "%|" not in said.output
    assert LIGHT in (output / "eval.log").read_text()


def written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def rated(body, number):
    return completion(json.dumps({"score": 4, "reason": f"you sent {KEY}"}))


def test_the_key_of_the_flag_is_sent_and_stored_nowhere(tmp_path):
    source, output = mbench(tmp_path / "data", "T"), tmp_path / "out"
    with ChatServer(rated) as server:
        given = ("--vlm-judge", "openai-compatible", "--vlm-base-url", server.url, "--vlm-api-key", KEY, "--vlm-model", "m")
        said = command(str(source), "--metrics", STATE, "--output", str(output), *given, "--ignore-trigger")
    assert said.exit_code == 0
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    assert KEY.encode() not in written(output) and KEY not in said.output
    assert KEY not in os.environ.values()
    summary = json.loads((output / "metrics" / STATE / "summary.json").read_text())["groups"]["wan"]
    assert (summary["score"], summary["score_raw"]) == (0.75, 4.0)


def test_the_readmes_python_entry(tmp_path):
    """The lines of MBench's README, with our import."""
    source = mbench(tmp_path / "data", models=("wan", "svc"))
    adapter = adapter_registry.get("mbench-dir")
    items = adapter.load(str(source), subsets=["environment"], limit=4)
    metric = metric_registry.get(LIGHT)
    aggregator = aggregator_registry.get("mean")
    assert {item.model_id for item in items} == {"wan", "svc"}
    summary = run_eval(items, [metric], aggregator, str(tmp_path / "run"), workers=1, quiet=True)
    assert set(summary[LIGHT]["groups"]) == {"wan", "svc"}
    assert summary[LIGHT] == json.loads((tmp_path / "run" / "metrics" / LIGHT / "summary.json").read_text())


def test_run_eval_scores_exactly_the_items_it_is_given(tmp_path):
    source = mbench(tmp_path / "data", models=("wan", "svc"))
    items = [item for item in adapter_registry.get("mbench-dir").load(source) if item.model_id == "svc"]
    one = [item for item in items if item.clip.subset == "environment"]
    run_eval(one, [LIGHT], aggregator_registry.get("mean"), tmp_path / "run", workers=1, quiet=True, log_file=False)
    lines = (tmp_path / "run" / "items.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"item_id": one[0].item_id, "model_id": "svc"}]


def test_a_metric_without_items_has_no_summary_of_an_earlier_call(tmp_path):
    items = adapter_registry.get("mbench-dir").load(mbench(tmp_path / "data"))
    mean, output = aggregator_registry.get("mean"), tmp_path / "run"
    assert set(run_eval(items, [LIGHT, OBJECT], mean, output, workers=1, quiet=True)) == {LIGHT, OBJECT}
    left = [item for item in items if item.clip.subset == "environment"]
    assert set(run_eval(left, [LIGHT, OBJECT], mean, output, workers=1, quiet=True)) == {LIGHT}
    assert not (output / "metrics" / OBJECT / "summary.json").exists()


def test_wrong_names_are_one_sentence(tmp_path):
    with pytest.raises(UsageError, match="did you mean 'mbench-dir'"):
        adapter_registry.get("mbench-dri")
    with pytest.raises(UsageError, match="no aggregator 'median'"):
        aggregator_registry.get("median")
    with pytest.raises(UsageError, match="no items"):
        run_eval([], [LIGHT], aggregator_registry.get("mean"), tmp_path / "run")
