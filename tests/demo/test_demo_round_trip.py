"""The demo world's datasets read back to exactly the clips and the truth that were written, in every layout."""

import numpy as np
import pytest
from lookback.backends.pose.formats import read_poses
from lookback.camera import parse, relative_to_first
from lookback.clips import KEYS, clips_from_frame
from lookback.curation import collect
from lookback.curation.contract import validate
from lookback.demo.datasets import dataset_sources, write_datasets
from lookback.demo.plan import PlannedClip, full_plan
from lookback.layouts import detect
from lookback.media import probe
from lookback.params.load import validate as make_params
from lookback.params.stages import Source
from lookback.paths import resolve

pytestmark = pytest.mark.long

KINDS = (
    ("mbench", "A", "object"),
    ("mbench", "T", "causal"),
    ("memobench", "synthetic", "synthetic"),
    ("memobench", "real", "real"),
    ("wrbench", "demo", "office"),
    ("mind", "1st_data", "mem_test"),
    ("mind", "1st_data", "mirror_test"),
)


def small_plan():
    """The first task of every kind by the faithful model; of half of them by one that fails, too."""
    for kind in KINDS:
        task, models = next((t, m) for t, m in full_plan() if (t.benchmark, t.setting, t.subset) == kind)
        chosen = models[: 2 if kind[1] in ("A", "synthetic", "demo") else 1]
        yield from (PlannedClip(task, task.spec(model, 64, 64, 7)) for model in chosen)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """One task per layout and kind with two models each, as (plan, datasets folder, truth, collected tables)."""
    root = tmp_path_factory.mktemp("demo")
    (root / "params").mkdir()
    (root / "notebooks").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOKBACK_ROOT", str(root))
        plan = list(small_plan())
        truth = write_datasets(plan, root / "datasets", workers=1)
        params = make_params({"run": "demo", "workers": 1}, "test")
        yield plan, root / "datasets", truth, collect(params, dataset_sources(root / "datasets"))


def planned(demo, *kind):
    return next(p for p in demo[0] if (p.task.benchmark, p.task.setting, p.task.subset) == kind)


def clip_of(demo, *kind):
    """The faithful model's clip of a kind, as it was read back."""
    clips = clips_from_frame(demo[3].clips)
    return next(clip for clip in clips if (clip.clip_id, clip.model_id) == (planned(demo, *kind).task.clip_id, "sim-faithful"))


def record_of(demo, clip):
    truth = demo[2].set_index(KEYS)
    return np.load(resolve(truth.loc[clip.key, "record"]))


def test_every_layout_is_detected_and_keeps_its_contract(demo):
    _, root, _, _ = demo
    for name, layout in {
        "mbench_a": "mbench",
        "mbench_t": "mbench",
        "memobench": "memobench",
        "wrbench": "wrbench",
        "mind": "mind",
    }.items():
        assert detect(root / name)[0] == layout
        assert validate(Source(root=str(root / name))) == []


def test_clips_are_exactly_the_planned_ones(demo):
    plan, _, truth, found = demo
    tasks = {(p.task.benchmark, p.task.setting, p.model_id, p.task.clip_id): p.task for p in plan}
    clips = {clip.key: clip for clip in clips_from_frame(found.clips)}
    assert set(clips) == set(tasks) == set(truth[KEYS].itertuples(index=False, name=None))
    assert found.rejected.empty
    for key, clip in clips.items():
        task = tasks[key]
        assert (clip.sample_id, clip.condition_id) == (task.sample_id, task.condition_id)
        assert clip.n_frames == task.camera.frames - task.mark_time
        assert (clip.width, clip.height) == (64, 64)
        assert clip.fps == (None if resolve(clip.video).is_dir() else 16.0), "a folder of pictures has no frame rate"
        assert clip.prompt or clip.subset == "mirror_test"


def test_mbench_poses_anchor_and_requests_come_back(demo):
    clip = clip_of(demo, "mbench", "A", "object")
    track = read_poses(resolve(clip.poses), clip.poses_format, probe(resolve(clip.video)))
    record = record_of(demo, clip)
    np.testing.assert_allclose(relative_to_first(track.c2w), relative_to_first(record["c2w"]), atol=1e-5)
    np.testing.assert_allclose(track.intrinsics[0], record["intrinsics"], rtol=1e-5)
    mask = np.unpackbits(record["subject_mask"], axis=-1, count=64).astype(bool)[0]
    rows, columns = np.nonzero(mask)
    assert clip.object_anchor.width == columns.max() - columns.min() + 1
    assert clip.object_anchor.centre_y == pytest.approx((rows.min() + rows.max() + 1) / 2)
    assert parse(clip.camera).segments == planned(demo, "mbench", "A", "object").task.camera.segments
    text = clip_of(demo, "mbench", "T", "causal")
    assert len(text.caption_segments) == 5 and text.object_name


def test_memobench_ground_truth_and_phases_come_back(demo):
    for kind in ("synthetic", "real"):
        clip = clip_of(demo, "memobench", kind, kind)
        record = record_of(demo, clip)
        track = read_poses(resolve(clip.gt_poses), clip.gt_poses_format, probe(resolve(clip.ground_truth)))
        np.testing.assert_allclose(track.c2w, record["c2w"], atol=1e-9)
        row = demo[2].set_index(KEYS).loc[clip.key]
        assert (clip.d_start, clip.r_start, clip.gt_frames) == (row.d_start, row.r_start, clip.n_frames)
        screen = demo[3].screen
        gap = screen.loc[(screen["clip_id"] == clip.clip_id) & (screen["model_id"] == clip.model_id), "gap_frames"].item()
        assert gap == row.r_start - row.d_start


def test_wrbench_target_event_and_interface_come_back(demo):
    clip = clip_of(demo, "wrbench", "demo", "office")
    np.testing.assert_allclose(
        np.load(resolve(clip.target_poses)), relative_to_first(record_of(demo, clip)["target_c2w"]), atol=1e-9
    )
    assert (clip.setting, clip.camera, clip.event_level, clip.event_action, clip.condition_type) == (
        "demo",
        "yaw_RL",
        "full",
        "sit",
        "geometry-cache",
    )
    assert clip.fov_deg == pytest.approx(60.0) and clip.reference_image.endswith("office_officer_counter_sit.png")
    row = demo[2].set_index(KEYS).loc[clip.key]
    assert clip.expected_state.rstrip(".").lower() == row.expected_state.rstrip(".").lower()


def test_mind_marks_actions_and_poses_come_back(demo):
    clip = clip_of(demo, "mind", "1st_data", "mem_test")
    task = planned(demo, "mind", "1st_data", "mem_test").task
    assert (clip.mark_time, clip.gt_frames) == (task.mark_time, task.camera.frames)
    track = read_poses(resolve(clip.gt_poses), clip.gt_poses_format, probe(resolve(clip.ground_truth)))
    assert track.frame_index.tolist() == list(range(clip.mark_time, clip.gt_frames))
    np.testing.assert_allclose(track.c2w, record_of(demo, clip)["c2w"], atol=1e-6)
    segments = demo[3].segments
    rows = segments[
        (segments["clip_id"] == clip.clip_id) & (segments["model_id"] == clip.model_id) & (segments["kind"] == "action")
    ]
    assert rows[["start", "end", "text"]].values.tolist() == [[0, 24, "look_left"]]
    assert clip_of(demo, "mind", "1st_data", "mirror_test").ground_truth is None
