"""Parameter files: a mistake gets one sentence that names file, key, bad value and the nearest valid key."""

import json
import re
from pathlib import Path

import lookback
import pytest
from lookback.errors import ParameterError, brief
from lookback.params import apply_overrides, load_run
from lookback.params.load import validate
from lookback.paths import project_root
from lookback.provenance import write_provenance
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
        ("workers=-1", ["'workers'", "-1", "greater than or equal to 0"]),
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


@pytest.mark.parametrize("run", [3, None, ["demo"]])
def test_a_run_that_is_no_name_is_one_sentence(run):
    with pytest.raises(ParameterError, match=r'`run` is the name of a run, such as "demo", not '):
        load_run(run)


@pytest.mark.parametrize("overrides", ["seed=8", None, [8], {"seed": 8}])
def test_overrides_that_are_no_list_of_texts_are_one_sentence(overrides):
    with pytest.raises(ParameterError, match=r'`overrides` is a list of texts, such as \["seed=8"\], not '):
        load_run("demo", overrides)


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


def test_a_folder_without_results_is_not_looked_for_among_the_parameter_files(tmp_path):
    with pytest.raises(ParameterError, match=r"is no folder of a finished run: it has no results\.json"):
        load_run(str(tmp_path / "gone"))


def test_overrides_do_not_touch_the_values_they_start_from():
    before = {"report": {"title": "a"}, "seed": 1}
    after = apply_overrides(before, ["report.title=b", "report.thumbnails=3"])
    assert before == {"report": {"title": "a"}, "seed": 1}
    assert after == {"report": {"title": "b", "thumbnails": 3}, "seed": 1}


def test_the_constants_of_a_run_are_those_that_metrics_read():
    """Compare what the metrics declare with the calls in the code."""
    package = Path(lookback.__file__).parent
    read = {
        name for file in package.rglob("*.py") for name in re.findall(r'context\.(?:constant|number)\("(\w+)"', file.read_text())
    }
    assert read == {name for spec in METRICS for name in spec.constants}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"scoring": {"constants": {"smoothnes_tau": 9}}}, "there is no constant 'smoothnes_tau'; did you mean 'smoothness_tau'?"),
        ({"audit": {"benchmarks": ["wrbnch"]}}, "there is no benchmark 'wrbnch'; did you mean 'wrbench'?"),
        ({"audit": {"severities": [7]}}, "'audit.severities.0' has the bad value 7"),
        ({"curation": 3}, "'curation' has the bad value 3: it is a section of keys, such as curation.sources"),
        ({"curation": {"datasets": []}}, "valid keys: filters, sources, world"),
        ({"extraction": {"options": {"flow": {"max_side": [1]}}}}, "a text, a number, true or false is expected"),
    ],
)
def test_a_name_that_nothing_reads_is_one_sentence(values, sentence):
    with pytest.raises(ParameterError) as caught:
        validate({"run": "x", **values}, "x.yaml")
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


KEY = "sk-proj-9f8e7d6c5b4a39281706"  # not a real key
MISPLACED = {
    "a field for it": ("judging.api_key=" + KEY, "'judging.api_key'"),
    "a short one, in a field for it": ("judging.api_key=hunter22", "'judging.api_key'"),
    "a number, in a field for it": ("judging.password=12345678", "'judging.password'"),
    "a section that does not exist": ("judgin={api_key: hunter22}", "'judgin.api_key'"),
    "a field that exists": ("judging.model=" + KEY, "'judging.model'"),
    "a mistyped field": ("judging.modell=" + KEY, "'judging.modell'"),
    "a number's field": ("seed=" + KEY, "'seed'"),
    "a list": (f"extraction.always=[{KEY}]", "'extraction.always.0'"),
    "a name": (f"{KEY}=3", "'[hidden]'"),
    "a constant's name": (f"scoring.constants={{{KEY}: 3}}", "'scoring.constants.[hidden]'"),
    "a key of another service": ("seed=Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MDEyMw==", "'seed'"),
    "no name at all": (KEY, "is not key=value"),
    "an address with a password": ("judging.base_url=http://bob:hunter22@127.0.0.1:9/v1", "'judging.base_url'"),
    "an address with a key": ("judging.base_url=http://127.0.0.1:9/v1?a=1&api_key=hunter22", "'judging.base_url'"),
    "an address with a signature": (
        "curation.sources=[{root: 'https://x/y?X-Amz-Signature=hunter22'}]",
        "'curation.sources.0.root'",
    ),
    "a field of every request": ("judging.extra_body={api_key: hunter22}", "'judging.extra_body.api_key'"),
    "a value that is no YAML": (f"judging.api_key=[{KEY}", "'judging.api_key'"),
}


@pytest.mark.parametrize(("override", "place"), MISPLACED.values(), ids=MISPLACED)
def test_a_key_among_the_parameters_is_refused_and_never_shown(override, place):
    with pytest.raises(ParameterError) as caught:
        load_run("demo", [override])
    said = str(caught.value)
    assert place in said
    assert not any(secret in said for secret in (KEY[:12], "hunter22", "12345678", "Zm9vYmFy"))


def test_a_key_in_a_file_is_not_quoted_by_the_yaml_reader(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(f"judging:\n  api_key: hunter22: {KEY}\n")
    with pytest.raises(ParameterError, match=r"mine\.yaml is not valid YAML: line 2, column 20") as caught:
        load_run(str(path))
    assert "hunter" not in str(caught.value)


def test_the_sentence_says_where_keys_come_from():
    with pytest.raises(ParameterError, match=r"environment alone \(\$LOOKBACK_JUDGE_KEY\)"):
        load_run("demo", ["judging.api_key=hunter22"])


def test_a_secret_in_the_parameters_of_an_older_run_is_hidden_and_the_run_still_loads(tmp_path):
    judging = {"base_url": "https://me:hunter22@host/v1?api_key=hunter33", "extra_body": {"api_key": "hunter44", "top_k": 1}}
    (tmp_path / "results.json").write_text(json.dumps({"provenance": {"parameters": {"run": "old", "judging": judging}}}))
    params = load_run(str(tmp_path))
    write_provenance(params, {})
    assert params.judging.base_url == "https://[hidden]@host/v1?api_key=[hidden]"
    assert params.judging.extra_body == {"api_key": "[hidden]", "top_k": 1}
    assert "hunter" not in (tmp_path / "provenance.json").read_text()


@pytest.mark.parametrize("name", ["eos_token", "max_tokens", "return_token"])
def test_a_models_own_token_is_no_secret(name):
    value = True if name == "return_token" else "</s>"
    assert load_run("demo", [f"judging.extra_body={{{name}: {json.dumps(value)}}}"]).judging.extra_body == {name: value}


@pytest.mark.parametrize("name", ["max_tokens", "keyframes", "key_frames", "judging.model", "tokens"])
def test_ordinary_names_and_values_are_shown(name):
    assert brief("Qwen/Qwen2.5-VL-7B-Instruct", name) == "'Qwen/Qwen2.5-VL-7B-Instruct'"
