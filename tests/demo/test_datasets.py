"""The plan, and the five datasets as the layout readers find them."""

import hashlib
import json
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from lookback.camera.poses import inverse, relative_to_first, validate_poses, yaw_deg
from lookback.clips import KEYS
from lookback.demo import datasets as writing
from lookback.demo.annotators import simulate_votes, triggered
from lookback.demo.datasets import dataset_sources, write_datasets
from lookback.demo.failures import FAILURES
from lookback.demo.plan import demo_plan
from lookback.demo.raster import Picture, Renderer
from lookback.layouts import read
from lookback.media import probe
from lookback.params import RunParams
from lookback.paths import resolve
from lookback.stages._forensics import domain_of
from lookback.yaml_files import parse_yaml

pytestmark = pytest.mark.long

SIZE = {"width": 96, "height": 64}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    root = tmp_path_factory.mktemp("world") / "datasets"
    drifting = [clip for clip in demo_plan(**SIZE) if clip.task.clip_id.startswith("causal:dining_001:left")][:2]
    plan = [*demo_plan(**SIZE, scale=0.01), *drifting]
    return root, plan, write_datasets(plan, root, workers=1)


def digest(root):
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_the_full_plan_covers_what_the_demo_promises():
    plan = demo_plan()
    assert 80 <= len(plan) <= 90, "the demo reaches its report in minutes"
    assert all(clip.spec.frames - clip.task.mark_time >= 24 and 32 <= clip.spec.frames <= 52 for clip in plan)
    keys = [(c.task.benchmark, c.task.setting, c.model_id, c.task.clip_id) for c in plan]
    assert len(set(keys)) == len(keys)
    severities = defaultdict(set)
    models = defaultdict(set)
    for clip in plan:
        severities[clip.spec.failure].add(clip.spec.severity)
        models[clip.task.benchmark, clip.task.setting].add(clip.model_id)
    assert all(1.0 in severities[name] for name in FAILURES if name != "none")
    scenes_of = defaultdict(set)
    for clip in plan:
        scenes_of[clip.model_id].add(clip.task.scene)
    assert all(len(found) >= 2 for model, found in scenes_of.items() if not model.endswith("-050")), "one clip has no rank"
    series = parse_yaml(resolve("params/demo.yaml").read_text())["report"]["series"]
    assert scenes_of.keys() >= {model for models in series.values() for model in models}, "a series names a model that is not there"
    scenes = defaultdict(set)  # WRBench's subsets are its scenes
    for clip in plan:
        subset = "" if clip.task.benchmark == "wrbench" else clip.task.subset
        scenes[clip.task.benchmark, clip.task.setting, subset].add(clip.task.scene)
    assert len(scenes) == 15 and min(map(len, scenes.values())) >= 3, "intervals over scenes need three of them"
    assert len(models["mbench", "A"]) == len(models["mbench", "T"]) == 5, "the faithful model and four that fail"
    events = {(clip.task.event, clip.task.condition_id) for clip in plan if clip.task.benchmark == "wrbench"}
    assert {event for event, _ in events} == {"none", "spatial", "state", "full"}
    assert {camera for _, camera in events} >= {"static", "yaw_LR", "yaw_RL", "pan_LR"}


def test_scale_keeps_every_benchmark():
    small = demo_plan(scale=0.01)
    assert {(clip.task.benchmark) for clip in small} == {"mbench", "memobench", "wrbench", "mind"}
    assert len(small) == 10, "one task of two models per benchmark setting"


def test_readers_find_every_clip_and_nothing_to_complain_about(demo):
    root, plan, truth = demo
    found = []
    for source in dataset_sources(root):
        reading = read(source)
        assert not reading.violations
        found += reading.clips
    assert sorted(clip.key for clip in found) == sorted(tuple(row) for row in truth[KEYS].to_numpy())
    assert len(found) == len(plan)
    assert all(clip.prompt for clip in found if clip.subset != "mirror_test")


def test_truth_on_disk_is_the_table(demo):
    root, _, truth = demo
    stored = pd.read_parquet(root / "truth" / "truth.parquet")
    pd.testing.assert_frame_equal(stored, truth, check_dtype=False)


def test_records_are_as_long_as_the_videos(demo):
    root, _, truth = demo
    by_key = {clip.key: clip for source in dataset_sources(root) for clip in read(source).clips}
    for row in truth.to_dict("records"):
        with np.load(row["record"], allow_pickle=False) as record:
            validate_poses(record["c2w"])
            assert (
                probe(by_key[tuple(row[name] for name in KEYS)].video).n_frames == len(record["c2w"]) == len(record["subject_mask"])
            )


def test_mbench_pose_file_is_the_filming_camera_at_its_own_resolution(demo):
    root, _, truth = demo
    row = truth[(truth["setting"] == "A") & (truth["failure"] == "camera_drift")].iloc[0]
    subset, sample, condition = row["clip_id"].split(":")
    path = root / "mbench_a/models" / row["model_id"] / "artifacts" / subset / sample / condition / "da3/results.npz"
    with np.load(path) as da3, np.load(row["record"]) as record:
        assert da3["depth"].shape[1:] == (SIZE["height"] // 2, SIZE["width"] // 2)
        np.testing.assert_allclose(da3["extrinsics"], inverse(record["c2w"])[:, :3], atol=1e-6)
        np.testing.assert_allclose(da3["intrinsics"][0, :2] * 2, record["intrinsics"][:2], rtol=1e-6)


def test_mbench_anchor_is_the_subject_of_the_first_frame(demo):
    root, _, truth = demo
    row = truth[(truth["setting"] == "A") & (truth["failure"] == "none")].iloc[0]
    subset, sample, _ = row["clip_id"].split(":")
    described = json.loads((root / "mbench_a/samples" / subset / sample / "sample.json").read_text())
    anchor = described["metadata"]["object_anchor"]
    with np.load(row["record"]) as record:
        mask = np.unpackbits(record["subject_mask"][0], axis=-1, count=int(record["width"]))
    rows, columns = np.nonzero(mask)
    assert anchor["center"][0] == (columns.min() + columns.max() + 1) / 2
    assert anchor["height"] == rows.max() - rows.min() + 1


def test_memobench_ground_truth_has_depth_poses_and_phases(demo):
    root, _, truth = demo
    place = root / "memobench/Synthetic_processed/Courtyard/Courtyard_001"
    poses = validate_poses(np.load(place / "1/poses.npy"))
    assert np.load(place / "1/intrinsics.npy").shape == (len(poses), 4)
    assert len(list((place / "RGB1").iterdir())) == len(list((place / "Depth1").iterdir())) == len(poses)
    sheet = pd.read_csv(root / "memobench/phases.csv")
    right = truth[(truth["clip_id"] == "Courtyard_001") & (truth["failure"] == "none")].iloc[0]
    assert sheet.iloc[0][["clip", "d_start", "r_start"]].tolist() == ["Courtyard_001", right["d_start"], right["r_start"]]


def test_wrbench_target_is_the_request_relative_to_the_first_frame(demo):
    root, _, _ = demo
    for path in (root / "wrbench").rglob("*.target_c2w.npy"):
        target = validate_poses(np.load(path))
        np.testing.assert_allclose(target[0], np.eye(4), atol=1e-12)
        sidecar = json.loads(path.with_name(path.name.replace(".target_c2w.npy", ".camera.json")).read_text())
        assert sidecar["num_frames"] == len(target) == 49
        if sidecar["control_direction"].startswith("yaw"):
            assert np.abs(yaw_deg(target)).max() == pytest.approx(60.0)


def test_mind_actions_and_colmap_poses_describe_the_ground_truth(demo):
    root, _, _ = demo
    place = root / "mind/MIND-Data/1st_data/test/mem_test/gallery_001"
    actions = json.loads((place / "action.json").read_text())
    assert len(actions["data"]) == actions["total_time"] == probe(place / "video.mp4").n_frames
    assert {row["lr"] for row in actions["data"]} == {1, 2}
    lines = [line for line in (place / "images.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) == actions["total_time"] - actions["mark_time"]  # the first pose is that of mark_time
    turned = [2 * np.degrees(np.arccos(min(1.0, abs(float(line.split()[1]))))) for line in (lines[0], lines[-1])]
    assert turned == pytest.approx([60.0, 0.0], abs=1e-5)  # from the turning point, where mark_time is, back to the first view


def test_mirrored_paths_retrace_themselves(tmp_path, monkeypatch):
    empty = np.zeros((SIZE["height"], SIZE["width"]), np.uint8)
    nothing = Picture(np.dstack([empty] * 3), empty.astype(np.float32), empty)
    monkeypatch.setattr(Renderer, "render", lambda *scene: nothing)  # only the paths count
    plan = [clip for clip in demo_plan(**SIZE) if clip.task.subset == "mirror_test" and clip.spec.failure == "none"]
    truth = write_datasets(plan, tmp_path / "d", workers=1)
    for row in truth.to_dict("records"):
        with np.load(row["record"]) as record:
            c2w = relative_to_first(record["c2w"])
        assert len(c2w) % 2 == 0
        np.testing.assert_allclose(c2w, c2w[::-1], atol=1e-12)


def test_a_second_write_by_two_workers_gives_the_same_bytes(demo, tmp_path):
    root, plan, _ = demo
    kept = [clip for clip in plan if clip.task.setting in ("synthetic", "A")]
    write_datasets(kept, tmp_path / "again", workers=2)
    first, second = digest(root), digest(tmp_path / "again")
    different = [name for name in second if first[name] != second[name]]
    listings = {"memobench/phases.csv", "memobench/synthetic_metadata.csv", "truth/truth.parquet"}
    assert set(different) <= listings, "only tables that list more clips, or name their folder, may differ"
    assert sum(name.endswith(".mp4") for name in second) >= 4


def test_an_interrupted_write_leaves_the_old_datasets(tmp_path, monkeypatch):
    root = tmp_path / "data"
    root.mkdir()
    (root / "old").write_text("kept")
    monkeypatch.setattr(writing, "render_clip", lambda spec: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_datasets(demo_plan(**SIZE, scale=0.01)[:2], root, workers=1)
    assert [path.name for path in tmp_path.rglob("*")] == ["data", "old"]


def test_votes_come_from_the_truth_of_written_clips(demo):
    _, _, truth = demo
    votes = simulate_votes(truth, seed=3)
    assert votes["simulated"].all() and set(votes["task"]) == {"trigger", "pairwise", "judgeability"}
    text = truth[truth["setting"] == "T"].to_dict("records")
    assert {triggered(row, row["clip_id"].split(":")[0]) for row in text} == {row["returns"] for row in text}


def test_its_clips_are_judged_as_such_wherever_they_are_read(demo, tmp_path):
    """A model of real clips calls its faithful videos melted."""
    rendered = RunParams(run="trial", curation={"sources": dataset_sources(demo[0])})
    own = RunParams(run="trial", curation={"sources": [{"root": str(tmp_path)}]})
    both = RunParams(run="trial", curation={"sources": [*rendered.curation.sources, *own.curation.sources]})
    world = RunParams(run="trial", curation={"world": {}})
    assert [domain_of(each) for each in (rendered, own, both, world)] == ["demo", "real", "real", "demo"]
