"""Each layout reads to exactly the clips that were written, whatever the spelling."""

import json
import shutil
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from layout_data import (
    FRAMES,
    SEGMENTS,
    action_json,
    frame_folder,
    frames,
    mbench,
    read_lines,
    video,
    write_csv,
    write_json,
    write_lines,
)
from lookback.benchmarks.memobench.dataset_files import METADATA, METADATA_PLACES, read_metadata
from lookback.benchmarks.mind.writer import colmap_images
from lookback.benchmarks.wrbench.natural25 import read_natural25
from lookback.benchmarks.wrbench.sidecar import to_sidecar
from lookback.camera import compile as compile_request
from lookback.camera import parse
from lookback.cli.app import app
from lookback.curation.contract import validate, violations_and_warnings
from lookback.curation.inspection import ClipToInspect, inspect
from lookback.errors import ContractError, UsageError
from lookback.layouts import detect, read
from lookback.layouts.reading import Findings
from lookback.media import encode
from lookback.params.stages import Source
from typer.testing import CliRunner

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "clips"
needs_clips = pytest.mark.skipif(not SHARED.is_dir(), reason=f"the third-party clips are not at {SHARED}")


@pytest.mark.parametrize("name", ["mbench", "memobench", "wrbench", "mind", "folder"])
def test_layout_is_detected_with_a_reason_and_keeps_its_contract(originals, name):
    found, why = detect(originals[name])
    assert found == name
    assert why.startswith(f"Layout '{name}': ") and len(why) > 25
    assert validate(Source(root=str(originals[name]))) == []


def test_mbench_a_clips_carry_task_video_and_poses(dataset):
    reading = read(Source(root=str(dataset("mbench"))))
    clips = {clip.clip_id: clip for clip in reading.clips}
    assert set(clips) == {f"{subset}:{subset}_1:left_then_right_10s" for subset in ("human", "object", "environment", "causal")}
    target = clips["object:object_1:left_then_right_10s"]
    assert (target.benchmark, target.setting, target.model_id, target.subset, target.sample_id) == (
        "mbench",
        "A",
        "wan",
        "object",
        "object_1",
    )
    assert target.object_anchor.model_dump() == {"centre_x": 30, "centre_y": 20, "width": 12, "height": 10}
    assert target.poses.endswith("da3/results.npz") and target.poses_format == "da3"
    assert clips["causal:causal_1:left_then_right_10s"].extras["action"] == "left_then_right"


def test_mbench_t_clips_carry_caption_segments_and_object_card(tmp_path):
    reading = read(Source(root=str(mbench(tmp_path / "t", "T"))))
    clip = next(clip for clip in reading.clips if clip.subset == "object")
    assert (clip.setting, clip.condition_id, clip.caption_segments, clip.object_name) == ("T", "text", SEGMENTS, "red a cup")
    assert clip.extras["object_card"] == {"name": "a cup", "attributes": ["red"]}


def test_mbench_paths_may_be_relative_to_the_dataset_folder(dataset):
    root = dataset("mbench")
    lines = read_lines(root / "models/wan/samples.jsonl")
    for line in lines:
        line["media"]["videos"][0]["path"] = "models/wan/" + line["media"]["videos"][0]["path"]
    write_lines(root / "models/wan/samples.jsonl", lines)
    assert len(read(Source(root=str(root))).clips) == 4


@pytest.mark.parametrize(
    "anchor",
    [[30, 20, 12, 10], {"cx": 30, "cy": 20, "w": 12, "h": 10}, {"center": {"x": 30, "y": 20}, "width": 12, "height": 10}],
)
def test_mbench_anchor_spellings(dataset, anchor):
    root = dataset("mbench")
    write_json(root / "samples/object/object_1/sample.json", {"metadata": {"object_anchor": anchor}})
    clip = next(clip for clip in read(Source(root=str(root))).clips if clip.subset == "object")
    assert (clip.object_anchor.centre_x, clip.object_anchor.height) == (30, 10)


def test_memobench_joins_ground_truth_metadata_and_phases(dataset):
    reading = read(Source(root=str(dataset("memobench"))))
    clips = {(clip.model_id, clip.clip_id): clip for clip in reading.clips}
    assert set(clips) == {(model, clip) for model in ("wan", "svc") for clip in ("Study_001", "real_007")}
    synthetic, real = clips["wan", "Study_001"], clips["wan", "real_007"]
    assert (synthetic.setting, synthetic.scene, synthetic.object_name) == ("synthetic", "Study", "cup")
    assert (
        synthetic.ground_truth.endswith("RGB1")
        and synthetic.gt_poses_format == "c2w"
        and synthetic.gt_intrinsics.endswith("intrinsics.npy")
    )
    assert synthetic.reference_image.endswith("RGB1/00000.png")
    assert (synthetic.d_start, synthetic.r_start, synthetic.gt_frames) == (6, 14, 20)
    assert real.reference_image.endswith("FRAMES/00000.jpg")
    assert (real.setting, real.scene, real.gt_poses_format, real.d_start, real.prompt) == (
        "real",
        "beaker",
        "mapanything",
        5,
        "A beaker fills.",
    )


SPELLINGS = {
    "nested frames": lambda model: frame_folder(model / "Study" / "Study_001" / "frames", 6),
    "flat frames": lambda model: frame_folder(model / "Study_001" / "frames", 6),
    "samples-rgb": lambda model: frame_folder(model / "Study_001" / "samples-rgb", 6),
    "images directly": lambda model: frame_folder(model / "Study" / "Study_001", 6),
    "jpeg frames": lambda model: frame_folder(model / "Study_001" / "frames", 6, suffix=".jpg"),
    "video.mp4": lambda model: video(model / "Study_001" / "video.mp4"),
    "clip.mp4": lambda model: video(model / "Study_001.mp4"),
    "clip.mp4 in its folder": lambda model: video(model / "Study_001" / "Study_001.mp4"),
    "below Synthetic": lambda model: frame_folder(model / "Synthetic" / "Study" / "Study_001" / "frames", 6),
    "number": lambda model: frame_folder(model / "007" / "frames", 6),
    "real_number": lambda model: frame_folder(model / "real_007", 6),
    "number.mp4": lambda model: video(model / "007.mp4"),
    "Real/number/video.mp4": lambda model: video(model / "Real" / "7" / "video.mp4"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_memobench_generated_spellings(dataset, spelling):
    root = dataset("memobench")
    shutil.rmtree(root / "output")
    SPELLINGS[spelling](root / "output" / "mine")
    reading = read(Source(root=str(root)))
    real = spelling in ("number", "real_number", "number.mp4", "Real/number/video.mp4")
    assert [(clip.model_id, clip.clip_id) for clip in reading.clips] == [("mine", "real_007" if real else "Study_001")]
    assert reading.violations == []


def test_memobench_root_may_be_the_model_folder_with_its_ground_truth_elsewhere(dataset):
    root = dataset("memobench")
    source = Source(
        root=str(root / "output" / "wan"), gt_root=str(root / "data"), phases=str(root / "data" / "phases.csv"), layout="memobench"
    )
    assert [(clip.model_id, clip.clip_id, clip.d_start) for clip in read(source).clips] == [
        ("wan", "real_007", 5),
        ("wan", "Study_001", 6),
    ]


def test_memobench_reads_the_released_phase_workbooks(dataset):
    """The release's two sheets name their columns differently: video_folder/exits/re-enter and id/exit/reenter."""
    root = dataset("memobench")
    (root / "data" / "phases.csv").unlink()
    for path, rows in {
        "Synthetic_processed/Synthetic_ExitReenter.xlsx": [
            ["video_folder", "exits", "re-enter", "skip"],
            ["Study_001", 7, 13.0, "no"],
            ["Study_002", 1, 2, "yes"],
        ],
        "Real_Raw/Real_ExitReenter.xlsx": [["id", "exit", "reenter"], [7, 4, 16]],
    }.items():
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(root / "data" / path)
    clips = {clip.clip_id: clip for clip in read(Source(root=str(root))).clips}
    assert (clips["Study_001"].d_start, clips["Study_001"].r_start) == (7, 13)
    assert (clips["real_007"].d_start, clips["real_007"].r_start) == (4, 16)


def test_memobench_without_a_phase_sheet_has_no_phases_and_guesses_none(dataset):
    root = dataset("memobench")
    (root / "data" / "phases.csv").unlink()
    reading = read(Source(root=str(root)))
    assert {clip.d_start for clip in reading.clips} == {None}
    assert "phase sheet: none (give phases)" in reading.notes[-1]
    with pytest.raises(UsageError, match=r"phase sheet .*nowhere\.csv does not exist"):
        read(Source(root=str(root), phases=str(root / "nowhere.csv")))


def test_wrbench_manifest_joins_suite_and_sidecars(dataset):
    clips = {clip.event_level: clip for clip in read(Source(root=str(dataset("wrbench")))).clips}
    assert set(clips) == {"none", "spatial", "state", "full"}
    clip = clips["state"]
    assert clip.clip_id == "kitchen_cat_cup_knock__T2_div_a__yaw_LR@yaw_LR"
    assert (clip.setting, clip.camera, clip.condition_type, clip.event_action, clip.scene) == (
        "natural25",
        "yaw_LR",
        "geometry-cache",
        "knock",
        "kitchen_cat_cup_knock",
    )
    assert (clip.object_name, clip.expected_state, clip.prompt) == (
        "a cat",
        "The cup lies on the floor.",
        "A cat knocks a cup over.",
    )
    assert clip.target_poses.endswith(".mp4.target_c2w.npy") and clip.fov_deg == 70.0


@pytest.mark.parametrize("form", ["list", "jsonl", "csv", "file", "sidecars"])
def test_wrbench_manifest_forms_give_the_same_clips(dataset, form):
    root = dataset("wrbench")
    expected = read(Source(root=str(root))).clips
    rows = __import__("json").loads((root / "manifest.json").read_text())["videos"]
    (root / "manifest.json").unlink()
    source = str(root)
    if form == "list":
        write_json(root / "videos.json", rows)
    elif form == "jsonl":
        write_lines(root / "manifest.shard00.jsonl", rows)
    elif form == "csv":
        write_csv(root / "manifest.csv", list(rows[0]), [list(row.values()) for row in rows])
    elif form == "file":
        source = str(write_json(root / "mine.json", rows))
    found = read(Source(root=source, layout="wrbench")).clips
    if form == "sidecars":  # without a manifest the file names the clip; the condition type is known of WRBench's own models
        types = {"gen3c": "geometry-cache"}
        expected = [
            clip.model_copy(update={"clip_id": Path(clip.video).stem, "condition_type": types.get(clip.model_id, "")})
            for clip in expected
        ]
    assert sorted(found, key=lambda clip: clip.key) == sorted(expected, key=lambda clip: clip.key)


def test_wrbench_clip_without_an_id_is_named_by_variant_and_camera(dataset):
    root = dataset("wrbench")
    manifest = __import__("json").loads((root / "manifest.json").read_text())
    for row in manifest["videos"]:
        del row["video_id"]
    write_json(root / "manifest.json", manifest)
    assert read(Source(root=str(root))).clips[0].clip_id == "kitchen_cat_cup_knock__T0__yaw_LR:yaw_LR"


def test_mind_joins_ground_truth_and_actions(dataset):
    reading = read(Source(root=str(dataset("mind"))))
    clips = {clip.clip_id: clip for clip in reading.clips}
    assert set(clips) == {
        f"{view}/{name}"
        for view in ("1st_data", "3rd_data")
        for name in ("mem_test/hall", "action_space_test/hall", "mirror_test/loop/path-1", "mirror_test/loop/path-2")
    }
    clip = clips["1st_data/mem_test/hall"]
    assert (clip.model_id, clip.subset, clip.mark_time, clip.gt_frames, clip.prompt) == ("minecraft", "mem_test", 8, 20, "A hall.")
    assert clip.ground_truth.endswith("video.mp4") and clip.actions.endswith("action.json")
    spans = [(row["start"], row["end"], row["text"]) for row in reading.segments if row["clip_id"] == clip.clip_id]
    assert spans == [(0, 4, "look_left"), (4, 8, "no_op"), (8, 12, "look_right")]
    assert clips["1st_data/mirror_test/loop/path-1"].ground_truth is None


@pytest.mark.parametrize("caption", ["", "   ", None])
def test_mind_takes_an_empty_caption(dataset, caption):
    """Some released files have none. The rest of the file counts: mark_time, frames and actions are there."""
    root = dataset("mind")
    path = root / "gt_root/1st_data/test/mem_test/hall/action.json"
    write_json(path, {**json.loads(path.read_text()), "caption": caption})
    reading = read(Source(root=str(root)))
    clip = next(clip for clip in reading.clips if clip.clip_id == "1st_data/mem_test/hall")
    assert (clip.mark_time, clip.gt_frames, clip.prompt) == (8, 20, "") and not reading.violations


def test_mind_poses_begin_at_mark_time(dataset):
    root = dataset("mind")
    folder = root / "gt_root/1st_data/test/mem_test/hall"
    (folder / "images.txt").write_text(colmap_images(np.tile(np.eye(4), (12, 1, 1))))
    clips = {clip.clip_id: clip for clip in read(Source(root=str(root))).clips}
    assert clips["1st_data/mem_test/hall"].gt_poses_format == "colmap@8"
    (folder / "action.json").unlink()  # without mark_time nobody knows which frames the poses belong to
    clips = {clip.clip_id: clip for clip in read(Source(root=str(root))).clips}
    assert clips["1st_data/mem_test/hall"].gt_poses is None


def test_mind_both_action_conventions_mean_the_same(dataset):
    root = dataset("mind")
    before = read(Source(root=str(root))).segments
    for path in (root / "gt_root").rglob("action.json"):
        action_json(path, code=False)
    assert read(Source(root=str(root), action_convention="readme")).segments == before
    assert read(Source(root=str(root))).segments == before


def test_mind_takes_ground_truth_from_gt_root_and_models_from_test_root(dataset):
    root = dataset("mind")
    shutil.move(root / "gt_root", root.parent / "elsewhere")
    source = Source(root=str(root / "test_root" / "minecraft"), gt_root=str(root.parent / "elsewhere"), layout="mind")
    assert {clip.mark_time for clip in read(source).clips if clip.subset != "mirror_test"} == {8}
    alone = read(Source(root=str(root / "test_root"), layout="mind"))
    assert {clip.ground_truth for clip in alone.clips} == {None} and "give gt_root" in alone.notes[-1]


def test_folder_patterns_name_model_and_clip(dataset):
    root = dataset("folder")
    keys = {(clip.model_id, clip.clip_id) for clip in read(Source(root=str(root))).clips}
    assert keys == {("alpha", "one"), ("alpha", "two"), ("beta", "one"), ("beta", "two"), ("gamma", "one")}
    only = read(Source(root=str(root), pattern="{model}/{clip}.mp4"))
    assert len(only.clips) == 4 and "4 of 5 videos" in only.notes[-1]
    video(root / "flat" / "Study_001_wan.mp4")
    flat = read(Source(root=str(root / "flat"), pattern="{clip}_{model}.mp4", layout="folder"))
    assert [(clip.model_id, clip.clip_id) for clip in flat.clips] == [("wan", "Study_001")]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("{model}/x.mp4", "has no {clip}"), ("{clip}/{clip}", "twice"), ("{name}/{clip}", "in it"), ("../{clip}", "must be relative")],
)
def test_folder_pattern_mistakes_are_told(dataset, pattern, message):
    with pytest.raises(UsageError, match=message.replace("{", r"\{")):
        read(Source(root=str(dataset("folder")), layout="folder", pattern=pattern))


def test_unknown_and_ambiguous_folders_say_what_was_looked_for(tmp_path, dataset):
    with pytest.raises(UsageError, match=r"looked for mbench: dataset.yaml .* folder: video files"):
        detect(tmp_path)
    with pytest.raises(UsageError, match="does not exist"):
        detect(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"a\.mp4 is a file; give the folder that holds it"):
        detect(video(tmp_path / "deep" / "a.mp4"))
    both = dataset("mind")
    shutil.copytree(dataset("mbench"), both, dirs_exist_ok=True)
    with pytest.raises(UsageError, match=r"several layouts \(mbench: .*; mind: .*say which with layout"):
        detect(both)


def test_natural25_errors_name_file_line_and_field(tmp_path, dataset):
    root = dataset("wrbench")
    write_lines(root / "variants.jsonl", [{"variant_id": "a", "family_id": "nobody"}])
    with pytest.raises(ContractError, match=r"variants.jsonl:1: family_id: 'nobody' is not in families.jsonl"):
        read_natural25(root)
    with pytest.raises(ContractError, match="holds no Natural-25 suite"):
        read_natural25(tmp_path / "empty")


@needs_clips
@pytest.mark.clips
def test_natural25_has_25_families_four_events_and_400_variants():
    suite = read_natural25(SHARED / "natural25")
    assert (len(suite.families), len(suite.variants)) == (25, 400)
    per_family = {}
    for item in suite.variants.values():
        per_family.setdefault(item.family_id, set()).add((item.level, item.spatial, item.state))
    factors = {("none", False, False), ("spatial", True, False), ("state", False, True), ("full", True, True)}
    assert all(levels == factors for levels in per_family.values()) and len(per_family) == 25
    assert {item.action for item in suite.variants.values()} == {"sit", "place", "tip", "jump", "fold", "knock"}


@needs_clips
@pytest.mark.clips
def test_shared_memobench_clips_load_through_memobench_and_folder():
    reading = read(Source(root=str(SHARED / "memobench")))
    videos = [path for path in (SHARED / "memobench").glob("*.mp4") if not path.stem.endswith("_gt")]
    assert len(reading.clips) == len(videos)
    assert {violation.field for violation in reading.violations} <= {"ground_truth"}, "two of the scenes have none"
    marked = {(clip.clip_id, clip.d_start, clip.r_start) for clip in reading.clips if clip.d_start is not None}
    assert marked == {("Barnyard_001", 15, 48), ("real_007", 38, 62)}
    with_truth = [clip for clip in reading.clips if clip.ground_truth]
    assert len(with_truth) == 16 and all(clip.prompt and clip.ground_truth.endswith("_gt.mp4") for clip in with_truth)
    plain = read(Source(root=str(SHARED / "memobench"), layout="folder", pattern="{clip}_{model}.mp4"))
    assert len(plain.clips) == len(videos) + 2 and {clip.model_id for clip in plain.clips} >= {"gt", "wan", "ltxvideo"}
    assert len(read(Source(root=str(SHARED / "wrbench"))).clips) == 4


def test_poses_of_another_length_map_to_frames(dataset):
    """DA3 may have run on every second frame of the video: a warning. A file that was cut short is a violation."""
    from layout_data import da3, turn

    root = dataset("mbench")
    for path in root.rglob("results.npz"):
        da3(path, turn(FRAMES // 2))
    violations, found = violations_and_warnings(Source(root=str(root)))
    assert (
        not violations and found[0].problem == f"{FRAMES // 2} poses for {FRAMES} frames: read as frames 0, 2, 4 ... {FRAMES - 2}"
    )
    assert CliRunner().invoke(app, ["validate", str(root), "--workers", "1"]).exit_code == 0
    da3(path, turn(FRAMES - 2))
    (found,) = validate(Source(root=str(root)))
    assert found.field == "poses" and f"has {FRAMES - 2} poses for {FRAMES} frames" in found.problem


def test_anchors_beside_a_dataset_give_the_subjects_box(dataset):
    root = dataset("memobench")
    write_csv(root / "anchors.csv", ["clip_id", "centre_x", "centre_y", "width", "height"], [["Study_001", 30, 20, 12, 10]])
    boxes = {clip.clip_id: clip.object_anchor for clip in read(Source(root=str(root))).clips}
    assert boxes["Study_001"].centre_x == 30 and boxes["real_007"] is None


def test_anchors_as_shares_serve_every_size_and_a_models_row_goes_first(tmp_path):
    """One row in shares for all models, another for one model, and a model whose first frame lacks the subject."""
    for model in ("small", "large", "other", "without"):
        (tmp_path / model).mkdir()
        pictures = frames().repeat(2, axis=1).repeat(2, axis=2) if model == "large" else frames()
        encode(tmp_path / model / "room.mp4", pictures, 8)
    columns = ["clip_id", "model_id", "centre_x", "centre_y", "width", "height"]
    rows = [["room", "", 0.5, 0.25, 0.25, 0.5], ["room", "other", 32, 20, 10, 8], ["room", "without", "", "", "", ""]]
    write_csv(tmp_path / "anchors.csv", columns, rows)
    found = read(Source(root=str(tmp_path), layout="folder", pattern="{model}/{clip}.mp4")).clips
    boxes = {clip.model_id: inspect(ClipToInspect(clip)).clip.object_anchor for clip in found}
    assert (boxes["small"].centre_x, boxes["small"].height) == (32, 24)
    assert (boxes["large"].centre_x, boxes["large"].height) == (64, 48)
    assert boxes["other"].width == 10 and boxes["without"] is None


def test_an_anchor_that_mixes_shares_and_pixels_is_refused(dataset):
    root = dataset("memobench")
    write_csv(root / "anchors.csv", ["clip_id", "centre_x", "centre_y", "width", "height"], [["Study_001", 30, 20, 0.2, 0.4]])
    assert any("mixes shares" in violation.problem for violation in validate(Source(root=str(root))))


def test_a_flat_name_is_split_at_its_ground_truth(tmp_path):
    """A model's name may hold numbers, a scene's too."""
    for stem in ("Barnyard_001_gt", "Barnyard_001_wan_2_2", "Room_2_001_gt", "Room_2_001_svc"):
        video(tmp_path / f"{stem}.mp4")
    found = {(clip.clip_id, clip.model_id, Path(clip.ground_truth or "").stem) for clip in read(Source(root=str(tmp_path))).clips}
    assert found == {("Barnyard_001", "wan_2_2", "Barnyard_001_gt"), ("Room_2_001", "svc", "Room_2_001_gt")}


def test_a_flat_name_without_ground_truth_is_split_at_a_known_clip_or_the_first_number(tmp_path):
    for stem in ("Barnyard_001_gt", "ZenGarden_009_wan_2_1", "ZenGarden_009_ltx_0_9_8", "Room_2_004_wan_2_1"):
        video(tmp_path / f"{stem}.mp4")
    write_csv(tmp_path / "synthetic_metadata.csv", ["scene", "video_id", "subject", "prompt"], [["Room_2", 4, "cup", "A cup."]])
    found = {(clip.clip_id, clip.model_id) for clip in read(Source(root=str(tmp_path))).clips}
    assert found == {("ZenGarden_009", "wan_2_1"), ("ZenGarden_009", "ltx_0_9_8"), ("Room_2_004", "wan_2_1")}


def test_a_missing_flat_ground_truth_is_named_as_the_file_to_put_there(tmp_path):
    for stem in ("Barnyard_001_gt", "Barnyard_001_wan", "Real_007_wan"):
        video(tmp_path / f"{stem}.mp4")
    (violation,) = read(Source(root=str(tmp_path))).violations
    assert violation.field == "ground_truth" and "Real_007_gt.mp4" in violation.remedy and "gt_root" not in violation.remedy


def test_a_short_row_of_a_phase_sheet_is_a_violation_and_no_traceback(dataset):
    root = dataset("memobench")
    (root / "data/phases.csv").write_text("scene,clip,d_start,r_start\nStudy,001,5,10\nStudy\n")
    found = validate(Source(root=str(root)))
    assert any("is no clip name" in violation.problem for violation in found)


def test_a_path_of_ones_own_reads_back_from_its_sidecar(tmp_path):
    """A request that is no preset: the sidecar's script says what it is, and the target poses are there."""
    intent = parse("yaw:left:30@6,yaw:right:30@6")
    path = video(tmp_path / "model" / "clip.mp4", n=12)
    np.save(f"{path}.target_c2w.npy", compile_request(intent))
    write_json(Path(f"{path}.camera.json"), to_sidecar(intent, path.name, 8, 64, 48, 70.0))
    (clip,) = read(Source(root=str(tmp_path), layout="wrbench")).clips
    assert parse(clip.camera).segments == intent.segments
    assert clip.target_poses.endswith("clip.mp4.target_c2w.npy")


def test_models_csv_names_a_video_once_and_its_rate_is_one_of_a_camera(tmp_path):
    for name in ("a", "b"):
        encode(tmp_path / f"{name}.mp4", np.zeros((3, 32, 32, 3), np.uint8), 8.0)
    (tmp_path / "models.csv").write_text("file,model,fps\na.mp4,m,\na,n,\nb.mp4,m,1e300\n")
    found = {each.field: each.problem for each in validate(Source(root=str(tmp_path), layout="folder"))}
    assert found == {"file": "'a' occurs a second time", "fps": "is '1e300'"}


@pytest.mark.parametrize("table", ["scene,video_id\nStudy,1\n", "scene,video_id,prompt\nStudy,1,one\nStudy,1,another\n"])
def test_metadata_of_memobench_needs_its_prompts_and_one_row_per_clip(tmp_path, table):
    findings = Findings()
    (tmp_path / METADATA_PLACES[0]).mkdir(parents=True, exist_ok=True)
    (tmp_path / METADATA_PLACES[0] / METADATA["synthetic"]).write_text(table)
    read_metadata([tmp_path], findings)
    (found,) = findings.violations
    assert "second time" in found.problem or found.problem == "has no column prompt"


def test_an_empty_folder_called_as_a_video_and_a_video_called_as_a_text_are_named(tmp_path):
    for name in ("a", "b"):
        encode(tmp_path / f"{name}.mp4", np.zeros((3, 32, 32, 3), np.uint8), 8.0)
    (tmp_path / "b.mp4").rename(tmp_path / "b.txt")
    (tmp_path / "c.mp4").mkdir()
    (tmp_path / "notes.txt").write_text("ftyp")
    found = {Path(each.path).name: each.problem for each in validate(Source(root=str(tmp_path), layout="folder"))}
    assert set(found) == {"b.txt", "c.mp4"} and "no frames" in found["c.mp4"]
