"""What makes a stage run again: files outside the dataset, the judge's environment, a frozen plan, and failed calls of a judge."""

from pathlib import Path

import pandas as pd
import pytest
from lookback.errors import Reason
from lookback.hashcache import HashCache
from lookback.params.load import validate
from lookback.pipeline import stage_named
from lookback.pipeline.freshness import changed, fingerprint, record


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project with a home of its own, in which no judge is named."""
    for name in ("LOOKBACK_ROOT", "LOOKBACK_WEIGHTS", "LOOKBACK_MODELS", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("LOOKBACK_JUDGE_URL", "MBENCH_VLM_BASE_URL", "LOOKBACK_JUDGE_MODEL", "MBENCH_VLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "HOME"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def inputs(stage: str, **sections) -> dict[str, str]:
    params = validate({"run": "tiny", **sections}, "test")
    return fingerprint(stage_named(stage), params, HashCache.of_project())["inputs"]


@pytest.mark.parametrize("stage", ["curation", "extraction"])
@pytest.mark.parametrize("name", ["pose/a.npz", "intrinsics/a.npz", "masks/m/a.npz"])
def test_files_made_elsewhere_are_inputs_where_the_patterns_lead_out_of_the_dataset(tmp_path: Path, stage: str, name: str):
    made = tmp_path / "made"
    for folder in (tmp_path / "data", made / "pose"):
        folder.mkdir(parents=True)
    patterns = {
        "poses": f"{made}/pose/{{clip}}.npz",
        "poses_format": "vipe",
        "files": {"masks": "../made/masks/{model}/{clip}.npz"},
    }
    curation = {"sources": [{"root": str(tmp_path / "data"), **patterns}]}
    written(made / name, "first")
    before = inputs(stage, curation=curation)
    assert inputs(stage, curation=curation) == before
    written(made / name, "another")
    assert inputs(stage, curation=curation) != before


@pytest.mark.parametrize("name", ["data/poses/m/a.txt", "data/m/a.mp4", "data/manifest.json"])
def test_the_files_beside_a_manifest_are_inputs_and_results_beside_it_are_not(tmp_path: Path, name: str):
    for file in ("data/poses/m/a.txt", "data/m/a.mp4", "data/manifest.json"):
        written(tmp_path / file, "first")
    patterns = {"layout": "wrbench", "poses": "poses/{model}/{clip}.txt", "poses_format": "tum"}
    curation = {"sources": [{"root": str(tmp_path / "data" / "manifest.json"), **patterns}]}
    for output in (tmp_path / "run", tmp_path / "data" / "results" / "run"):
        before = inputs("scoring", curation=curation, output=str(output))
        written(output / "tables" / "clips.csv", f"of the run {name}")
        assert inputs("scoring", curation=curation, output=str(output)) == before
        written(tmp_path / name, f"another for {output}")
        assert inputs("scoring", curation=curation, output=str(output)) != before


@pytest.mark.parametrize("variable", ["LOOKBACK_JUDGE_MODEL", "LOOKBACK_JUDGE_URL"])
def test_the_endpoint_of_the_environment_is_an_input_of_judging(monkeypatch: pytest.MonkeyPatch, variable: str):
    seen = {judge: inputs("judging", judging={"judge": judge}) for judge in ("openai", "none")}
    monkeypatch.setenv(variable, "http://key@host/v1")
    assert inputs("judging", judging={"judge": "openai"}) != seen["openai"]
    assert inputs("judging", judging={"judge": "none"}) == seen["none"], "nobody is asked there"
    assert "key" not in str(inputs("judging", judging={"judge": "openai"})), "only a hash is kept"


@pytest.mark.parametrize("key", ["model", "gate_model"])
def test_the_content_of_a_judges_folder_is_an_input_of_judging(home: Path, key: str):
    judging = {"judge": "transformers", key: "~/final"}
    written(home / "final" / "model.safetensors", "first")
    before = inputs("judging", judging=judging)
    written(home / "final" / "model.safetensors", "another")
    assert inputs("judging", judging=judging) != before


def test_a_checkpoint_below_the_home_folder_is_an_input(home: Path):
    extraction = {"options": {"depth": {"path": "~/depth"}}}
    written(home / "depth" / "model.safetensors", "first")
    before = inputs("extraction", extraction=extraction)
    written(home / "depth" / "model.safetensors", "another")
    assert inputs("extraction", extraction=extraction) != before


def test_freezing_the_plan_changes_an_input_of_agreement(tmp_path: Path):
    agreement = {"plan": str(written(tmp_path / "plan.yaml", "a plan"))}
    before = inputs("agreement", agreement=agreement)
    written(tmp_path / "plan.frozen.json", "{}")
    assert inputs("agreement", agreement=agreement) != before


@pytest.mark.parametrize(("judge", "failed"), [("openai", ["no connection", "out of memory"]), ("replay", [])])
def test_failed_calls_of_a_judge_are_tried_again_but_not_recorded_ones(tmp_path: Path, judge: str, failed: list[str]):
    params = validate({"run": "tiny", "output": str(tmp_path), "judging": {"judge": judge}}, "test")
    params.paths.tables.mkdir()
    reasons = [Reason.JUDGE_FAILED, Reason.BACKEND_FAILED, Reason.JUDGE_UNPARSED, ""]
    rows = pd.DataFrame({"reason": reasons, "verbatim": ["no connection", "out of memory", "perhaps", "yes"]})
    for table in ("judgements", "gated"):
        rows.to_parquet(params.paths.tables / f"{table}.parquet")
    assert record(stage_named("judging"), params, {}, HashCache.of_project(), 1.0) == failed


def test_a_stage_runs_again_for_outputs_that_it_did_not_write_and_for_a_lost_notebook(tmp_path: Path):
    params, stage, hashes = validate({"run": "tiny", "output": str(tmp_path)}, "test"), stage_named("audit"), HashCache.of_project()
    copy = written(params.paths.notebooks / "70_audit.ipynb", "{}")
    record(stage, params, fingerprint(stage, params, hashes), hashes, 1.0)
    assert changed(stage, params, hashes) == ""
    copy.write_text("")
    assert changed(stage, params, hashes) == "its executed notebook is missing"
    copy.write_text("saved again by somebody who looked at it")
    written(params.paths.tables / "audit" / ".DS_Store", "")
    assert changed(stage, params, hashes) == ""
    written(params.paths.tables / "audit" / "failures.csv", "failure")
    assert changed(stage, params, hashes) == "output 'tables/audit/failures.csv' was added"
