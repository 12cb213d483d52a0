"""Parameter files: a mistake gets one sentence that names file, key, bad value and the nearest valid key."""

import re
from pathlib import Path

import lookback
import pytest
from lookback.errors import ParameterError
from lookback.params import apply_overrides, load_run
from lookback.params.load import validate
from lookback.paths import project_root
from lookback.registry import METRICS


def test_every_run_file_in_the_project_loads():
    runs = [path.stem for path in (project_root() / "params").glob("*.yaml") if path.stem not in {"agreement", "weights.lock"}]
    assert "demo" in runs
    for run in runs:
        assert load_run(run).run == run


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("seeed=3", ["demo.yaml", "'seeed'", "3", "did you mean 'seed'?"]),
        ("curation.world.widht=3", ["'curation.world.widht'", "did you mean 'width'?"]),
        ("curation.sources=[{root: a, layuot: b}]", ["'curation.sources.0.layuot'", "did you mean 'layout'?"]),
        ("seed=minus", ["'seed'", "'minus'", "integer"]),
        ("workers=0", ["'workers'", "0", "greater than or equal to 1"]),
        ("judging.judge=oracle", ["'judging.judge'", "'oracle'", "known: geometric, openai"]),
        ("seed", ["'seed' is not key=value"]),
        ("report.title=[1", ["not valid YAML"]),
    ],
)
def test_a_bad_value_is_named_with_its_place_and_remedy(override, parts):
    with pytest.raises(ParameterError) as caught:
        load_run("demo", [override])
    for part in parts:
        assert part in str(caught.value)


def test_a_missing_file_names_the_nearest_run():
    with pytest.raises(ParameterError, match="did you mean 'demo'"):
        load_run("dmeo")


@pytest.mark.parametrize("content", ["- a\n- b\n", "seed: [1", "\x00\xff"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path, content):
    path = tmp_path / "broken.yaml"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ParameterError, match=r"broken\.yaml"):
        load_run(str(path))


def test_yaml_tags_run_no_code(tmp_path):
    path = tmp_path / "evil.yaml"
    path.write_text("seed: !!python/object/apply:os.getcwd []\n")
    with pytest.raises(ParameterError, match="not valid YAML"):
        load_run(str(path))


def test_overrides_do_not_touch_the_values_they_start_from():
    before = {"report": {"title": "a"}, "seed": 1}
    after = apply_overrides(before, ["report.title=b", "report.thumbnails=3"])
    assert before == {"report": {"title": "a"}, "seed": 1}
    assert after == {"report": {"title": "b", "thumbnails": 3}, "seed": 1}


def test_the_constants_of_a_run_are_those_that_metrics_read():
    """What the metrics declare against the calls in the code."""
    package = Path(lookback.__file__).parent
    read = {name for file in package.rglob("*.py") for name in re.findall(r'\bconstant\("(\w+)"', file.read_text())}
    assert read == {name for spec in METRICS for name in spec.constants}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"scoring": {"constants": {"smoothnes_tau": 9}}}, "there is no constant 'smoothnes_tau'; did you mean 'smoothness_tau'?"),
        ({"audit": {"benchmarks": ["wrbnch"]}}, "there is no benchmark 'wrbnch'; did you mean 'wrbench'?"),
        ({"audit": {"severities": [7]}}, "'audit.severities.0' has the bad value 7"),
        ({"extraction": {"options": {"flow": {"max_side": [1]}}}}, "a text, a number, true or false is expected"),
    ],
)
def test_a_name_that_nothing_reads_is_one_sentence(values, sentence):
    with pytest.raises(ParameterError) as caught:
        validate({"run": "x", **values}, "x.yaml")
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
