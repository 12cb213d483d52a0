"""results.json: its schema, and that it says what the tables say."""

import json
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import jsonschema
import lookback
import pytest
from lookback.errors import ParameterError
from lookback.exports.results import SCHEMA, write_results
from lookback.params import load_run
from lookback.registry import METRICS
from lookback.tables import read_csv, read_table, write_table
from made_runs import METRIC, made_run
from own_environment import environment_with

DOCS = Path(__file__).parents[2] / "docs" / "results.md"


def schema():
    return json.loads(resources.files("lookback.exports").joinpath("results.schema.json").read_text())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    values = {("a", "s1"): 0.5, ("a", "s2"): 0.7, ("b", "s1"): "no_face", ("b", "s2"): 0.1}
    params = made_run(tmp_path_factory.mktemp("runs") / "tried", values)
    write_results(params)
    return params


@pytest.fixture(scope="module")
def content(run):
    return json.loads((run.paths.root / "results.json").read_text())


def test_the_file_has_the_documented_schema(content):
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(content, schema())
    assert content["schema"] == SCHEMA == schema()["properties"]["schema"]["const"]


def test_the_same_scores_lie_beside_it_as_csv(run, content):
    items, scores, rejected = (read_csv(run.paths.root / f"{name}.csv") for name in ("items", "scores", "rejected"))
    told = {(s["model_id"], s["clip_id"]): score["value"] for s in content["samples"] for score in s["scores"]}
    assert {(row.model_id, row.clip_id): row.value for row in items.dropna(subset="value").itertuples()} == {
        key: value for key, value in told.items() if value is not None
    }
    assert items.loc[items["value"].isna(), "reason"].tolist() == ["no_face"]
    assert scores["mean"].tolist() == [row["mean"] for row in content["summary"]] and scores["higher_is_better"].all()
    assert json.loads(scores.set_index("model_id").loc["b", "reasons"]) == {"no_face": 1}
    assert set(scores["backends"]) == {items["backend"].iloc[0]}
    assert rejected.empty and "remedy" in rejected.columns


def test_the_parts_of_a_metric_say_which_values_are_better_as_its_summary_does(tmp_path):
    run = made_run(tmp_path / "parts", {("a", "s1"): 0.5}, metric="mind.gsc", benchmark="mind", phase="mse")
    items = read_table(run.paths.tables, "gated").assign(variant=METRICS.get("mind.gsc").default_variant)
    write_table(run.paths.tables, "gated", items)
    content = json.loads(write_results(run).read_text())
    jsonschema.validate(content, schema())
    assert content["metrics"]["mind.gsc"]["phases"] == {"mse": False}
    assert [row["higher_is_better"] for row in content["summary"]] == [False]


@pytest.mark.parametrize("spoil", [{"value": None}, {"reason": "no_face"}, {"variant": "ours"}, {"n_units": -1}])
def test_the_schema_refuses_a_score_without_value_or_reason(content, spoil):
    sample = content["samples"][0]
    spoilt = {**content, "samples": [{**sample, "scores": [{**sample["scores"][0], **spoil}]}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(spoilt, schema())


def test_every_score_and_reason_of_the_tables_is_there(run, content):
    table = read_table(run.paths.tables, "gated")
    found = {(s["model_id"], s["clip_id"]): score for s in content["samples"] for score in s["scores"]}
    assert len(found) == len(table) == 4 and len({sample["id"] for sample in content["samples"]}) == 4
    assert found["b", "s1"]["value"] is None and found["b", "s1"]["reason"] == "no_face"
    assert found["a", "s2"]["value"] == 0.7 and found["a", "s2"]["backend"] == "features=efficientnet-lite0"
    means = {row["model_id"]: (row["mean"], row["n"], row["reasons"]) for row in content["summary"]}
    assert means["a"] == (pytest.approx(0.6), 2, {}) and means["b"] == (pytest.approx(0.1), 1, {"no_face": 1})
    assert content["metrics"][METRIC]["higher_is_better"] is True and content["metrics"][METRIC]["phases"] == {"": True}
    assert content["provenance"]["lookback"] == lookback.__version__


def test_a_finished_run_can_be_opened_by_its_folder_also_after_a_move(run, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(run.paths.root, moved)
    opened = load_run(str(moved))
    assert opened.run == "tried" and opened.paths.root == moved and opened.scoring.resamples == 100
    (moved / "results.json").write_text("{}")
    with pytest.raises(ParameterError, match="does not hold the parameters"):
        load_run(str(moved))


def test_the_page_names_every_field(content):
    page = DOCS.read_text()
    fields = [*content, *content["samples"][0], *content["samples"][0]["scores"][0], *content["summary"][0]]
    assert not [name for name in fields if f"`{name}`" not in page]
    assert SCHEMA in page


READ_BACK = """
import json
from inspect_ai.log import list_eval_logs, read_eval_log

(listed,) = list_eval_logs(".")  # a file of another name is read, and never listed or analysed
log = read_eval_log(listed)
scores = {sample.id: {name: score.value for name, score in (sample.scores or {}).items()} for sample in log.samples}
print(json.dumps({"status": log.status, "scores": scores}))
"""


@pytest.mark.long
def test_the_example_in_the_page_makes_an_inspect_log(run, tmp_path):
    python = environment_with(tmp_path / "environment", "inspect_ai") / "python"
    example = DOCS.read_text().split("```python\n")[1].split("```")[0]  # the page's own words
    folder = tmp_path / "logs"
    folder.mkdir()
    shutil.copy(run.paths.root / "results.json", folder)
    subprocess.run([python, "-c", example], cwd=folder, check=True)
    read = json.loads(subprocess.run([python, "-c", READ_BACK], cwd=folder, check=True, capture_output=True, text=True).stdout)
    assert read["status"] == "success" and len(read["scores"]) == 4
    assert read["scores"]["wrbench/s/a/s2"] == {METRIC: 0.7} and read["scores"]["wrbench/s/b/s1"] == {}


def test_a_spread_too_large_for_a_number_is_null(tmp_path):
    run = made_run(tmp_path / "huge", {("a", "s1"): 1e300, ("a", "s2"): -1e300, ("b", "s1"): 0.5, ("b", "s2"): 0.7})
    content = json.loads(write_results(run).read_text())
    jsonschema.validate(content, schema())
    assert {row["model_id"]: row["sd"] is None for row in content["summary"]} == {"a": True, "b": False}
