"""The curation stage on datasets written by hand: tables, caches, determinism."""

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from layout_data import BUILDERS, FRAMES, action_json, mbench, memobench, mind, video, wrbench
from lookback import curation
from lookback.camera import parse_captions
from lookback.clips import Clip, clips_from_frame
from lookback.curation import collect, gathering
from lookback.curation.segments import segments_of
from lookback.errors import ContractError, Reason
from lookback.extraction.run import extract_run
from lookback.hashcache import HashCache
from lookback.layouts.reading import REFUSED, ClipRef, Reading, Violation
from lookback.media import sample_segments
from lookback.params.load import validate as make_params
from lookback.registry import BENCHMARKS
from lookback.tables import check_table

TABLES = ("clips", "segments", "rejected", "screen")


def run(sources, **more):
    params = make_params({"run": "trial", "workers": 1, "curation": {"sources": sources, **more}}, "test")
    return collect(params, params.curation.sources)


def rows(frame, **match):
    for column, value in match.items():
        frame = frame[frame[column] == value]
    return frame


@pytest.fixture
def sources(tmp_path):
    return [{"root": str(build(tmp_path / name))} for name, build in BUILDERS.items()]


def test_all_layouts_give_tables_that_keep_their_schemas(project, sources):
    found = run(sources)
    for name in TABLES:
        check_table(name, getattr(found, name))
    assert found.rejected.empty
    assert dict(found.clips["benchmark"].value_counts()) == {"mind": 8, "folder": 5, "mbench": 4, "memobench": 4, "wrbench": 4}
    assert set(found.screen["clip_id"]) == set(found.clips["clip_id"])
    clip = clips_from_frame(rows(found.clips, benchmark="wrbench"))[0]
    assert (clip.n_frames, clip.fps, clip.width, clip.height, len(clip.content_hash)) == (FRAMES, 8.0, 64, 48, 64)


class Counted(list):
    """A list that counts how often somebody goes through it."""

    times = 0

    def __iter__(self):
        Counted.times += 1
        return super().__iter__()


def test_the_violations_of_a_dataset_are_read_once_and_not_for_every_clip(project, monkeypatch):
    names = [f"c{n}" for n in range(20)]
    clips = [Clip(benchmark="folder", setting="", model_id="m", clip_id=name, sample_id=name, video="v.mp4") for name in names]
    masks = [
        Violation("p", "masks", f"is bad {n}", "mend it", Reason.INVALID_INPUT, "files.masks", item=ClipRef.of(clip))
        for n, clip in enumerate(clips)
    ]
    reading = Reading("folder", clips=clips, violations=Counted(masks))
    monkeypatch.setattr(gathering, "apply_filters", lambda *_: [reading])
    seen = []
    monkeypatch.setattr(gathering, "inspect_all", lambda tasks, _: seen.extend(tasks) or ())
    run([])
    assert [task.clip.extras[REFUSED] for task in seen] == [{"masks": f"masks is bad {n}"} for n in range(20)]
    assert Counted.times < 5


def test_segments_are_in_frames_of_the_generated_video(project, tmp_path):
    found = run([{"root": str(memobench(tmp_path / "m"))}, {"root": str(mbench(tmp_path / "t", "T"))}])
    phases = rows(found.segments, clip_id="Study_001", model_id="wan", kind="phase").sort_values("start")
    # d = round(6/20*12) = 4, r = round(14/20*12) = 8 (spec: h = round(d/GT*N), r = round(r/GT*N))
    assert phases[["segment_id", "start", "end"]].values.tolist() == [["V", 0, 4], ["D", 4, 8], ["R", 8, 12]]
    captions = rows(found.segments, clip_id="causal:causal_1:text", kind="caption").sort_values("start")
    assert captions["start"].tolist() == [part * FRAMES // 5 for part in range(5)] and captions["end"].tolist()[-1] == FRAMES


@pytest.mark.parametrize("n_frames", [82, 83, 84, 97])
def test_caption_segments_of_the_table_are_those_that_scoring_samples(n_frames):
    captions = ["The camera turns left."] * 5
    facts = {"benchmark": "mbench", "setting": "T", "model_id": "m", "clip_id": "c", "video": "v.mp4"}
    listed = segments_of(Clip(**facts, caption_segments=captions, n_frames=n_frames), [])
    spans = [(row["start"], row["end"]) for row in listed if row["kind"] == "caption"]
    turns = np.cumsum([0, *(segment.frames for segment in parse_captions(captions, n_frames).segments)])
    assert spans == [(part[0], part[-1] + 1) for part in sample_segments(n_frames, 5, n_frames)] == list(pairwise(turns))


def test_screen_tells_the_requested_path_and_the_challenge(project, tmp_path):
    found = run([{"root": str(build)} for build in (memobench(tmp_path / "m"), wrbench(tmp_path / "w"), mbench(tmp_path / "a"))])
    synthetic = rows(found.screen, clip_id="Study_001").iloc[0]
    assert (synthetic.trajectory, synthetic.departs, synthetic.returns, synthetic.gap_frames) == ("Head turn", True, True, 8)
    assert synthetic.total_rotation_deg == pytest.approx(120.0) and synthetic.source == "path: gt_poses; challenge: phases"
    real = rows(found.screen, clip_id="real_007").iloc[0]
    assert (real.trajectory, real.gap_frames) == ("Pan L->R", 10) and real.peak_yaw_deg == pytest.approx(-60.0)
    asked = rows(found.screen, benchmark="wrbench").iloc[0]
    # 60 deg out and back in 12 frames against a field of view of 70 deg: |yaw| > 35 in frames 3..8
    yaw = np.abs(np.concatenate([np.linspace(0, 60, 6), np.linspace(60, 0, 6)]))
    assert (asked.departs, asked.returns, asked.gap_frames) == (True, True, int((yaw > 35).sum()))
    own = rows(found.screen, clip_id="human:human_1:left_then_right_10s").iloc[0]
    assert own.source == "path: camera; challenge: poses" and own.trajectory == "Pan L->R"


def test_mbench_actions_become_camera_requests_over_the_videos_frames(project, tmp_path):
    found = run([{"root": str(mbench(tmp_path / "a"))}])
    assert set(found.clips["camera"]) == {"yaw:left:60@6,yaw:right:60@6"}
    clip = clips_from_frame(found.clips)[0].model_copy(update={"camera": "", "condition_id": "right_then_left_10s"})
    request = BENCHMARKS.get("mbench").camera_request
    assert request(clip) == "yaw:right:60@6,yaw:left:60@6", "the condition says which of several actions this video was made with"
    assert request(clip.model_copy(update={"condition_id": "default"})) == "yaw:left:60@6,yaw:right:60@6"


def test_bad_items_are_rejected_with_their_reason_and_the_rest_runs(project, tmp_path):
    root = mbench(tmp_path / "a")
    (root / "models/wan/outputs/human/human_1/left_then_right_10s/video.mp4").write_bytes(b"nothing" * 100)
    np.savez(next((root / "models/wan/artifacts/object").rglob("results.npz")), extrinsics=np.full((FRAMES, 3, 4), np.nan))
    found = run([{"root": str(root)}])
    assert sorted(found.clips["subset"]) == ["causal", "environment", "object"]
    assert sorted(zip(found.rejected["reason"], found.rejected["field"], strict=True)) == [
        ("decode_failed", "video"),
        ("invalid_input", "poses"),
    ]
    clip = clips_from_frame(rows(found.clips, subset="object"))[0]
    assert (clip.poses, clip.poses_format) == (None, None)


def test_mismatch_and_duplicates_are_told(project, tmp_path):
    root = memobench(tmp_path / "m")
    shutil.copy(root / "output/wan/Real/007/video.mp4", root / "output/svc/Real/007/video.mp4")
    video(root / "data/Real_Raw/007/007.mp4", n=20, fps=24)
    found = run([{"root": str(root)}])
    wan = rows(found.screen, model_id="wan", clip_id="real_007").iloc[0]
    assert wan.mismatch == "12 frames, ground truth 20; 8 fps, ground truth 24"
    copies = curation.duplicates(found.screen)
    assert copies[["model_id", "clip_id", "duplicate_of"]].values.tolist() == [["wan", "real_007", "memobench/real/svc/real_007"]]
    assert len(curation.ground_truth_mismatches(found.screen)) == 4


@pytest.mark.parametrize(("total", "kept"), [(16, 16), (30, 20)])
def test_a_prediction_ends_where_its_action_file_or_its_ground_truth_ends(project, tmp_path, total, kept):
    """MIND's released program compares min(total_time - mark_time, frames); the ground truth's video has 20."""
    root = mind(tmp_path / "m")
    action_json(root / "gt_root/1st_data/test/mem_test/hall/action.json", total=total)
    found = run([{"root": str(root)}])
    (clip,) = clips_from_frame(rows(found.clips, setting="1st_data", subset="mem_test"))
    assert (clip.gt_frames, clip.mark_time is not None) == (kept, True)
    screen = rows(found.screen, setting="1st_data", clip_id=clip.clip_id).iloc[0]
    assert f"total_time is {total}, but the ground truth has 20 frames" in screen.mismatch


def test_a_kept_mismatch_leaves_the_field_for_the_metric(project, tmp_path):
    root = wrbench(tmp_path / "w")
    path = next(root.rglob("*T0*.target_c2w.npy"))
    np.save(path, np.load(path)[:-2])
    found = run([{"root": str(root)}])
    assert found.rejected.empty and found.clips["target_poses"].notna().all()
    assert found.screen["mismatch"].str.contains("has 10 poses, but the video has 12 frames").sum() == 1


def test_missing_counterparts_name_who_lacks_what(project, tmp_path):
    root = memobench(tmp_path / "m")
    shutil.rmtree(root / "output/svc/Synthetic")
    found = run([{"root": str(root)}])
    assert curation.missing_counterparts(found.clips).values.tolist() == [["memobench", "synthetic", "svc", "Study_001"]]
    coverage = curation.model_coverage(found.clips)
    assert coverage[["model_id", "setting", "missing"]].values.tolist() == [
        ["svc", "real", 0],
        ["wan", "real", 0],
        ["svc", "synthetic", 1],
        ["wan", "synthetic", 0],
    ]


def test_two_runs_give_the_same_tables_and_the_second_decodes_nothing(project, sources, monkeypatch):
    first = run(sources)
    monkeypatch.setattr("lookback.curation.probing._measure", lambda path: pytest.fail(f"{path} was decoded again"))
    second = run(sources)
    for name in TABLES:
        assert (
            getattr(first, name)
            .sort_values(list(getattr(first, name))[:5])
            .reset_index(drop=True)
            .equals(getattr(second, name).sort_values(list(getattr(second, name))[:5]).reset_index(drop=True))
        )


def test_a_source_given_twice_is_an_error(project, tmp_path):
    root = str(mbench(tmp_path / "a"))
    with pytest.raises(ContractError, match="Two sources hold the clip mbench/A/wan/"):
        run([{"root": root}, {"root": root}])


def settle(folder: Path, monkeypatch) -> None:
    """As if the files had been written a while ago."""
    import time

    now = time.time_ns()
    monkeypatch.setattr("lookback.hashcache.time.time_ns", lambda: now + 10_000_000_000)


def test_hash_cache_reads_a_file_again_only_when_it_changed(project, tmp_path, monkeypatch):
    file = tmp_path / "a.bin"
    file.write_bytes(b"one")
    cache = HashCache.of_project()
    fresh = cache.file(file)
    cache.save()
    assert not cache.path.exists(), "a file written this very moment is not trusted"
    settle(tmp_path, monkeypatch)
    assert cache.file(file) == fresh
    cache.save()
    monkeypatch.setattr("lookback.hashcache.sha256_file", lambda path: pytest.fail("read again"))
    assert HashCache.of_project().file(file) == fresh
    monkeypatch.undo()
    monkeypatch.setenv("LOOKBACK_ROOT", str(project))
    stat = file.stat()
    file.write_bytes(b"two")
    import os

    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # same size, same mtime: ctime tells
    assert HashCache.of_project().file(file) != fresh


def test_hash_cache_knows_frame_folders_and_merges_what_others_learnt(project, tmp_path, monkeypatch):
    from layout_data import frame_folder
    from lookback.media import content_hash

    folder = frame_folder(tmp_path / "frames", 4)
    settle(tmp_path, monkeypatch)
    one, other = HashCache.of_project(), HashCache.of_project()
    assert one.known_content(folder) == ""
    one.remember_content(folder, content_hash(folder))
    one.save()
    (tmp_path / "b.bin").write_bytes(b"b")
    other.file(tmp_path / "b.bin")
    other.save()
    assert HashCache.of_project().known_content(folder) == content_hash(folder)
    (folder / "00001.png").unlink()
    assert HashCache.of_project().known_content(folder) == ""


def test_no_estimate_stands_in_for_a_named_pose_file_that_is_refused(project, tmp_path):
    """One file is broken, one is gone; the clips say so, and extraction gives the reason unless the run names a backend."""
    root = mbench(tmp_path / "a")
    broken, gone = (next((root / f"models/wan/artifacts/{name}").rglob("results.npz")) for name in ("object", "human"))
    np.savez(broken, extrinsics=np.full((FRAMES, 3, 4), np.nan))
    gone.unlink()
    found = run([{"root": str(root)}])
    told = {clip.subset: clip.extras.get("refused_files", {}) for clip in clips_from_frame(found.clips)}
    assert "not finite" in told["object"]["pose"] and "does not exist" in told["human"]["pose"] and told["causal"] == {}
    params = make_params({"run": "x", "output": str(tmp_path / "out"), "workers": 1, "extraction": {"roles": ["pose"]}}, "test")
    artifacts, _ = extract_run(params, rows(found.clips, subset="object"))
    (pose,) = artifacts.to_dict("records")
    assert pose["reason"] == "invalid_input" and "is refused" in pose["detail"] and "not finite" in pose["detail"]
