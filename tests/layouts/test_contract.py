"""Filters that name nothing are errors; validation with metrics checks just what those need."""

import json
import pickle
import shutil

import pytest
from layout_data import mbench
from lookback.curation.contract import validate
from lookback.curation.inspection import ClipToInspect, inspect
from lookback.errors import Reason, UsageError
from lookback.layouts import apply_filters, read
from lookback.params.stages import Filters, Source
from lookback.registry import METRICS, MetricSpec, Registry


def spec(name, benchmark, needs, **more):
    return MetricSpec(name, name, benchmark, "", (0, 1), True, needs, (), "", "", lambda: None, **more)


@pytest.fixture
def metrics(monkeypatch):
    """A registry of three metrics with known needs."""
    registry = Registry("metric", list, "no.plug-ins")
    for entry in (
        spec("mbencha.causal.camera_interaction", "mbench", ("poses",), settings=("A",)),
        spec("mbencha.entity.object_texture_consistency", "mbench", ("object_anchor",), settings=("A",), subsets=("object",)),
        spec("memobench.psnr", "memobench", ("ground_truth", "d_start", "r_start")),
    ):
        registry.add(entry.name, entry)
    monkeypatch.setattr("lookback.curation.contract.METRICS", registry)
    return registry


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"models": ["wam"]}, r"models names 'wam', which the data does not have; did you mean 'wan'\? valid: wan, yume"),
        ({"subsets": ["humans"]}, r"did you mean 'human'\? valid: causal, environment, human, object"),
        ({"conditions": ["right_then_left_10s"]}, "valid: left_then_right_10s"),
        ({"sample_ids": ["nothing"]}, "valid: causal_1, environment_1, human_1, object_1"),
    ],
)
def test_unknown_names_in_a_filter_are_errors_that_list_the_valid_ones(tmp_path, filters, message):
    reading = read(Source(root=str(mbench(tmp_path / "a", models=("wan", "yume")))))
    with pytest.raises(UsageError, match=message):
        apply_filters([reading], Filters(**filters))


def test_a_filter_on_what_the_layout_does_not_have_says_so(dataset):
    with pytest.raises(UsageError, match="the data has no condition"):
        apply_filters([read(Source(root=str(dataset("folder"))))], Filters(conditions=["text"]))


def test_filters_keep_what_they_name_and_limit_counts_clips(tmp_path):
    readings = [read(Source(root=str(mbench(tmp_path / "a", models=("wan", "yume")))))]
    kept = apply_filters(readings, Filters(models=["yume"], subsets=["human", "causal"]))[0]
    assert [(clip.model_id, clip.subset) for clip in kept.clips] == [("yume", "human"), ("yume", "causal")]
    first = apply_filters(readings, Filters(limit=3))[0]
    assert sorted(clip.key for clip in first.clips) == sorted(clip.key for clip in readings[0].clips)[:3]


def test_filters_also_select_segments(dataset):
    readings = [read(Source(root=str(dataset("mind"))))]
    kept = apply_filters(readings, Filters(subsets=["mem_test"]))[0]
    assert {row["clip_id"] for row in kept.segments} == {"1st_data/mem_test/hall", "3rd_data/mem_test/hall"}


def test_a_model_whose_items_are_all_rejected_is_known_to_the_filter(dataset):
    root = dataset("mbench")
    shutil.rmtree(root / "models/wan/outputs")
    assert len(validate(Source(root=str(root)), filters=Filters(models=["wan"]))) == 4


def test_metrics_check_only_what_they_need(dataset, metrics):
    root = dataset("mbench")
    for path in root.rglob("results.npz"):
        path.unlink()
    source = Source(root=str(root))
    assert len(validate(source)) == 4
    assert validate(source, ["mbencha.entity.object_texture_consistency"]) == []
    found = validate(source, ["mbencha.causal.camera_interaction"])
    assert [(violation.field, violation.concerns) for violation in found] == [("artifacts.da3.path", "poses")] * 4


def test_items_that_cannot_be_used_at_all_count_for_every_metric(dataset, metrics):
    root = dataset("mbench")
    next(root.rglob("video.mp4")).unlink()
    assert len(validate(Source(root=str(root)), ["mbencha.entity.object_texture_consistency"])) == 1


def test_a_metric_that_needs_phases_says_how_to_give_them(dataset, metrics):
    root = dataset("memobench")
    (root / "data/phases.csv").unlink()
    found = validate(Source(root=str(root)), ["memobench.psnr"])
    assert {violation.field for violation in found} == {"d_start", "r_start"} and len(found) == 8
    assert all(violation.reason == Reason.MISSING_INPUT and "--phases" in violation.remedy for violation in found)
    assert validate(Source(root=str(root))) == []


@pytest.mark.parametrize("layout", ["mbench", "memobench", "wrbench", "mind"])
def test_every_registered_metric_can_be_asked_for(dataset, layout):
    """The real needs, some with alternatives such as object_anchor|object_name."""
    source = Source(root=str(dataset(layout)))
    clips = read(source).clips
    names = [spec.name for spec in METRICS if any(spec.applies_to(clip.benchmark, clip.setting, clip.subset) for clip in clips)]
    fields = {violation.field for violation in validate(source, names)}
    assert len(names) > 4 and "object_anchor or object_name" not in fields


def test_a_need_with_alternatives_is_met_by_either(dataset):
    root, name = dataset("mbench"), "mbencha.entity.object_texture_consistency"
    assert validate(Source(root=str(root)), [name]) == []
    file = next(path for path in root.rglob("sample.json") if "object_anchor" in path.read_text())
    record = json.loads(file.read_text())
    del record["metadata"]["object_anchor"]
    file.write_text(json.dumps(record))
    assert {violation.field for violation in validate(Source(root=str(root)), [name])} == {"metadata.object_anchor"}
    record["metadata"]["object_card"] = {"name": "cup"}
    file.write_text(json.dumps(record))
    fields = {violation.field for violation in validate(Source(root=str(root)), [name])}
    assert "object_anchor or object_name" not in fields


def test_a_metric_that_applies_to_no_clip_is_a_wrong_call(dataset, metrics):
    with pytest.raises(UsageError, match="applies to none of these clips \\(memobench real"):
        validate(Source(root=str(dataset("memobench"))), ["mbencha.causal.camera_interaction"])
    with pytest.raises(UsageError, match=r"There is no metric 'memobench.psnrr'; did you mean 'memobench.psnr'\?"):
        validate(Source(root=str(dataset("mind"))), ["memobench.psnrr"])


def test_inspections_travel_between_processes(dataset):
    root = dataset("memobench")
    (root / "output/wan/Real/007/video.mp4").write_bytes(b"broken video" * 99)
    for clip in read(Source(root=str(root))).clips:
        found = inspect(pickle.loads(pickle.dumps(ClipToInspect(clip))))  # noqa: S301 - our own bytes
        assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
