"""Every corruption gives one clear line: path, field, what is wrong, what to do; and a typed reason. The rest of the data still loads."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np
import pytest
from layout_data import FRAMES, action_json, da3, frame_folder, frames, read_lines, turn, video, write_csv, write_json, write_lines
from lookback.errors import Reason
from lookback.layouts import read, validate
from lookback.params.curation import Source

LINES = "models/wan/samples.jsonl"
SAMPLE = "samples/object/object_1/sample.json"
VIDEO = "models/wan/outputs/human/human_1/left_then_right_10s/video.mp4"
POSES = "models/wan/artifacts/human/human_1/left_then_right_10s/da3/results.npz"
WR_VIDEO = "gen3c/kitchen_cat_cup_knock__T0__yaw_LR.mp4"
TRUTH = "gt_root/1st_data/test/mem_test/hall"
GENERATED = "test_root/minecraft/1st_data/mem_test/hall/video.mp4"
SYNTHETIC = "data/Synthetic_processed/Study/Study_001"


@dataclass(frozen=True)
class Case:
    layout: str
    breaks: Callable[[Path], object]
    field: str
    reason: Reason
    says: str
    concerns: str = ""  # the clip field that is lost; empty: the whole item


def line(change: Callable[[dict], object], index: int = 0) -> Callable[[Path], None]:
    """Change one line of samples.jsonl."""

    def apply(root: Path) -> None:
        rows = read_lines(root / LINES)
        change(rows[index])
        write_lines(root / LINES, rows)

    return apply


def document(name: str, change: Callable[[dict], object]) -> Callable[[Path], None]:
    """Change a JSON document."""

    def apply(root: Path) -> None:
        value = json.loads((root / name).read_text())
        change(value)
        write_json(root / name, value)

    return apply


def manifest(change: Callable[[dict], object]) -> Callable[[Path], None]:
    return document("manifest.json", lambda value: change(value["videos"][0]))


def sidecar(change: Callable[[dict], object]) -> Callable[[Path], None]:
    return document(f"{WR_VIDEO}.camera.json", change)


def text(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda root: (root / name).write_bytes(content)


def video_path(value: object) -> Callable[[Path], None]:
    return line(lambda row: row["media"]["videos"][0].update(path=value))


def da3_array(**arrays: np.ndarray) -> Callable[[Path], object]:
    return lambda root: np.savez(root / POSES, **arrays)


def link(name: str, target: str) -> Callable[[Path], None]:
    def apply(root: Path) -> None:
        (root / name).unlink()
        (root / name).symlink_to(target)

    return apply


def outside(name: str) -> Callable[[Path], None]:
    """Move a file out of the dataset and leave a link to it."""

    def apply(root: Path) -> None:
        moved = root.parent / "outside.bin"
        shutil.move(root / name, moved)
        (root / name).symlink_to(moved)

    return apply


def nan_poses(n: int = FRAMES) -> np.ndarray:
    poses = turn(n).copy()
    poses[3, 0, 3] = np.nan
    return poses


def no_rotation() -> np.ndarray:
    poses = turn().copy()
    poses[:, :3, :3] *= 2.0
    return poses


def mirrored() -> np.ndarray:
    return turn() @ np.diag([-1.0, 1.0, 1.0, 1.0])


def truncated(name: str) -> Callable[[Path], None]:
    def apply(root: Path) -> None:
        video(root / name, n=40)
        content = (root / name).read_bytes()
        (root / name).write_bytes(content[: len(content) // 2])

    return apply


def odd_mirror(root: Path) -> None:
    for path in (root / "test_root").rglob("path-1.mp4"):
        if "1st_data" in path.parts:
            video(path, n=7)


def mixed_sizes(root: Path) -> None:
    folder = root / "output/wan/Synthetic/Study/Study_001/frames"
    import cv2

    cv2.imwrite(str(folder / "00003.png"), np.zeros((10, 10, 3), np.uint8))


def sheet(*rows: list[object], header: tuple[str, ...] = ("clip", "n_frames", "d_start", "r_start")) -> Callable[[Path], object]:
    return lambda root: write_csv(root / "data/phases.csv", list(header), [list(row) for row in rows])


REST = ["Real_007", 20, 5, 15]
INVALID, MISSING, LENGTH, DECODE = Reason.INVALID_INPUT, Reason.MISSING_INPUT, Reason.LENGTH_MISMATCH, Reason.DECODE_FAILED
FIRST_VIDEO = "media.videos[0].path"
CASES: dict[str, Case] = {
    # documents
    "dataset.yaml is no YAML": Case("mbench", text("dataset.yaml", b"dataset_id: [mbencha"), "document", INVALID, "is not valid YAML"),
    "dataset.yaml calls a constructor": Case("mbench", text("dataset.yaml", b"!!python/object/apply:os.system ['true']"), "document", INVALID, "is not valid YAML"),
    "dataset.yaml is a list": Case("mbench", text("dataset.yaml", b"- a\n- b\n"), "document", INVALID, "is a list, not a mapping"),
    "unknown dataset_id": Case("mbench", text("dataset.yaml", b"dataset_id: mbenchx\n"), "dataset_id", INVALID, "write one of mbencha, mbencht"),
    "dataset_id of the wrong type": Case("mbench", text("dataset.yaml", b"dataset_id: [1]\n"), "dataset_id", INVALID, "is a list, not a text"),
    "samples.jsonl missing": Case("mbench", lambda root: (root / LINES).unlink(), "document", MISSING, "does not exist"),
    "samples.jsonl not UTF-8": Case("mbench", text(LINES, b'{"subset": "\xff\xfe"}\n'), "document", INVALID, "is not UTF-8 (byte 12)"),
    "line cut off": Case("mbench", lambda root: (root / LINES).open("a").write('{"subset": "human", "samp\n'), "document", INVALID, "is not valid JSON"),
    "line is a list": Case("mbench", lambda root: (root / LINES).open("a").write("[1, 2]\n"), "document", INVALID, "is a list, not a mapping"),
    "deeply nested JSON": Case("mbench", lambda root: (root / LINES).open("a").write("[" * 100_000 + "\n"), "document", INVALID, "is not valid JSON"),
    "sample.json cut off": Case("mbench", text(SAMPLE, b'{"metadata": {'), "document", INVALID, "is not valid JSON"),
    # names
    "subset missing": Case("mbench", line(lambda row: row.pop("subset")), "subset", MISSING, "is missing"),
    "subset unknown": Case("mbench", line(lambda row: row.update(subset="animals")), "subset", INVALID, "use one of human, object"),
    "sample_id with a slash": Case("mbench", line(lambda row: row.update(sample_id="a/b")), "sample_id", INVALID, "holds a character that ids cannot have"),
    "sample_id is a number": Case("mbench", line(lambda row: row.update(sample_id=7)), "sample_id", INVALID, "is 7, not a text"),
    "model_id of another folder": Case("mbench", line(lambda row: row.update(model_id="yume")), "model_id", INVALID, "must be 'wan'"),
    "item_id disagrees": Case("mbench", line(lambda row: row.update(item_id="human:x:y")), "item_id", INVALID, "make them agree"),
    "duplicate id": Case("mbench", lambda root: write_lines(root / LINES, [*read_lines(root / LINES), read_lines(root / LINES)[0]]), "clip_id", INVALID, "occurs a second time"),
    "sample.json of another sample": Case("mbench", document(SAMPLE, lambda value: value.update(sample_id="cup_9")), "sample_id", INVALID, "in the folder of 'object_1'"),
    # paths
    "absolute path": Case("mbench", video_path("/etc/passwd"), FIRST_VIDEO, INVALID, "the path '/etc/passwd' is absolute"),
    "drive letter": Case("mbench", video_path("C:\\videos\\a.mp4"), FIRST_VIDEO, INVALID, "is absolute"),
    "path with ..": Case("mbench", video_path("../../secret.mp4"), FIRST_VIDEO, INVALID, "leaves the dataset by '..'"),
    "path with backslash ..": Case("mbench", video_path("..\\..\\secret.mp4"), FIRST_VIDEO, INVALID, "leaves the dataset by '..'"),
    "path is a number": Case("mbench", video_path(3), FIRST_VIDEO, INVALID, "is no path but 3"),
    "path with a NUL": Case("mbench", video_path("a\0b.mp4"), FIRST_VIDEO, INVALID, "is no path"),
    "link out of the dataset": Case("mbench", outside(VIDEO), FIRST_VIDEO, INVALID, "is a symbolic link out of the dataset"),
    "link to itself": Case("mbench", link(VIDEO, "video.mp4"), FIRST_VIDEO, INVALID, "is a symbolic link that leads to itself"),
    # videos
    "video missing": Case("mbench", lambda root: (root / VIDEO).unlink(), FIRST_VIDEO, MISSING, "does not exist"),
    "video of zero bytes": Case("mbench", text(VIDEO, b""), FIRST_VIDEO, DECODE, "is empty (0 bytes)"),
    "video is text": Case("mbench", text(VIDEO, b"not a video at all" * 50), "video", DECODE, "cannot be opened as a video"),
    "video cut off": Case("mbench", truncated(VIDEO), "video", DECODE, ""),
    "no generated video": Case("mbench", line(lambda row: row["media"]["videos"][0].update(role="source")), "media.videos", MISSING, "has no entry with the role 'generated'"),
    "media.videos empty": Case("mbench", line(lambda row: row["media"].update(videos=[])), "media.videos", INVALID, "not a list with at least one entry"),
    # camera poses
    "poses missing": Case("mbench", lambda root: (root / POSES).unlink(), "artifacts.da3.path", MISSING, "does not exist", "poses"),
    "poses are NaN": Case("mbench", lambda root: da3(root / POSES, nan_poses()), "poses", INVALID, "frame 3 has a pose that is not finite", "poses"),
    "poses are scaled": Case("mbench", lambda root: da3(root / POSES, no_rotation()), "poses", INVALID, "is no rotation", "poses"),
    "poses without extrinsics": Case("mbench", da3_array(depth=np.ones((2, 2, 2))), "poses", INVALID, "has no array 'extrinsics'", "poses"),
    "poses of a wrong shape": Case("mbench", da3_array(extrinsics=np.eye(4)), "poses", INVALID, "must have shape (N,3,4) or (N,4,4)", "poses"),
    "more poses than frames": Case("mbench", lambda root: da3(root / POSES, turn(50)), "poses", INVALID, "50 poses and the video only 12 frames", "poses"),
    "pickled poses": Case("mbench", lambda root: np.savez(root / POSES, extrinsics=np.array([{"a": 1}], dtype=object)), "poses", INVALID, "cannot be read as a numpy file", "poses"),
    "poses are text": Case("mbench", text(POSES, b"hello"), "poses", INVALID, "cannot be read", "poses"),
    # tasks
    "anchor missing": Case("mbench", document(SAMPLE, lambda value: value["metadata"].pop("object_anchor")), "metadata.object_anchor", MISSING, "needs it", "object_anchor"),
    "anchor of three numbers": Case("mbench", document(SAMPLE, lambda value: value["metadata"].update(object_anchor=[1, 2, 3])), "metadata.object_anchor", INVALID, "four finite numbers", "object_anchor"),
    "anchor without area": Case("mbench", document(SAMPLE, lambda value: value["metadata"].update(object_anchor=[1, 2, 0, 3])), "metadata.object_anchor", INVALID, "is no box in the frame", "object_anchor"),
    "anchor outside the frame": Case("mbench", document(SAMPLE, lambda value: value["metadata"].update(object_anchor=[500, 2, 5, 3])), "metadata.object_anchor", INVALID, "outside the 64x48 frame", "object_anchor"),
    "caption of the wrong type": Case("mbench", document(SAMPLE, lambda value: value["metadata"].update(caption=["a"])), "metadata.caption", INVALID, "is a list, not a text", "prompt"),
    "caption segments of numbers": Case("mbench", document(SAMPLE, lambda value: value["metadata"].update(caption_segments=[1, 2])), "metadata.caption_segments", INVALID, "not a list of texts", "caption_segments"),
    # memobench
    "phases swapped": Case("memobench", sheet(["Study_001", 20, 14, 6], REST), "r_start", INVALID, "returns at frame 6, but leaves at 14", "d_start"),
    "phase is a word": Case("memobench", sheet(["Study_001", 20, "soon", 14], REST), "d_start", INVALID, "is 'soon', not a frame number", "d_start"),
    "phase is half a frame": Case("memobench", sheet(["Study_001", 20, 5.5, 14], REST), "d_start", INVALID, "is '5.5', not a frame number", "d_start"),
    "phase beyond the sheet's length": Case("memobench", sheet(["Study_001", 20, 6, 25], REST), "r_start", INVALID, "but the ground truth has 20 frames", "d_start"),
    "phase beyond the video": Case("memobench", sheet(["Study_001", "", 6, 25], REST), "r_start", INVALID, "is 25, but the ground truth has 20 frames", "r_start"),
    "phase row twice": Case("memobench", sheet(["Study_001", 20, 6, 14], ["Study_001", 20, 6, 14], REST), "clip", INVALID, "occurs a second time", "d_start"),
    "phase row of no clip": Case("memobench", sheet(["Study_001", 20, 6, 14], ["whatever", 20, 6, 14], REST), "clip", INVALID, "'whatever' is no clip name", "d_start"),
    "phase column missing": Case("memobench", sheet(["Study_001", 6], header=("clip", "d_start")), "r_start", MISSING, "has no column r_start or re-enter", "d_start"),
    "phase column twice": Case("memobench", sheet(["Study_001", 6, 6, 9], header=("clip", "d_start", "d_start", "r_start")), "header", INVALID, "has the column 'd_start' twice", "d_start"),
    "phase sheet no XLSX": Case(
        "memobench",
        lambda root: ((root / "data/phases.csv").unlink(), (root / "data/phases.xlsx").write_bytes(b"PK not a zip")),
        "document",
        INVALID,
        "is no readable XLSX file",
        "d_start",
    ),
    "sheet's length is wrong": Case("memobench", sheet(["Study_001", 18, 6, 14], REST), "n_frames", LENGTH, "is 18, but the ground truth has 20 frames", "gt_frames"),
    "ground truth poses NaN": Case("memobench", lambda root: np.save(root / SYNTHETIC / "1/poses.npy", nan_poses(20)), "gt_poses", INVALID, "is not finite", "gt_poses"),
    "ground truth poses mirrored": Case(
        "memobench", lambda root: np.savez(root / "data/Real_Raw/007/raw/007_mapanything.npz", cam_c2w=mirrored()), "gt_poses", INVALID, "is mirrored", "gt_poses"
    ),
    "ground truth missing": Case("memobench", lambda root: shutil.rmtree(root / SYNTHETIC / "RGB1"), "ground_truth", MISSING, "there is no ground truth of 'Study_001'", "ground_truth"),
    "intrinsics negative": Case(
        "memobench", lambda root: np.save(root / SYNTHETIC / "1/intrinsics.npy", np.full((20, 4), -1.0)), "gt_intrinsics", INVALID, "focal length that is no number above 0", "gt_intrinsics"
    ),
    "frames of two sizes": Case("memobench", mixed_sizes, "video", Reason.SIZE_MISMATCH, "frames must be of one size"),
    "clip folder empty": Case(
        "memobench",
        lambda root: (shutil.rmtree(root / "output/wan/Real/007"), (root / "output/wan/Real/007").mkdir()),
        "video",
        MISSING,
        "holds no frames",
    ),
    "metadata row of no clip": Case(
        "memobench",
        lambda root: write_csv(root / "data/sam3_metadata/real_metadata.csv", ["video_id", "subject", "prompt"], [["seven", "beaker", "x"], [7, "beaker", "x"]]),
        "video_id",
        INVALID,
        "is 'seven', which names no real clip",
        "prompt",
    ),
    # wrbench
    "axes are OpenGL": Case("wrbench", sidecar(lambda value: value.update(target_coordinate_convention="opengl_c2w")), "target_coordinate_convention", INVALID, "must be OpenCV camera-to-world", "target_poses"),
    "target poses NaN": Case("wrbench", lambda root: np.save(root / f"{WR_VIDEO}.target_c2w.npy", nan_poses()), "target_poses", INVALID, "is not finite", "target_poses"),
    "target poses of another length": Case("wrbench", lambda root: np.save(root / f"{WR_VIDEO}.target_c2w.npy", turn(20)), "target_poses", LENGTH, "has 20 poses, but the video has 12 frames", "target_poses"),
    "target poses missing": Case("wrbench", lambda root: (root / f"{WR_VIDEO}.target_c2w.npy").unlink(), "target_pose_path", MISSING, "does not exist", "target_poses"),
    "sidecar leads out": Case("wrbench", sidecar(lambda value: value.update(target_pose_path="/tmp/poses.npy")), "target_pose_path", INVALID, "is absolute", "target_poses"),
    "sidecar is cut off": Case("wrbench", text(f"{WR_VIDEO}.camera.json", b'{"fov": 7'), "document", INVALID, "is not valid JSON", "target_poses"),
    "field of view is absurd": Case("wrbench", sidecar(lambda value: value.update(fov=720)), "fov", INVALID, "not a field of view in degrees", "fov_deg"),
    "sidecar's length is wrong": Case("wrbench", sidecar(lambda value: value.update(num_frames=81)), "num_frames", LENGTH, "is 81, but the video has 12 frames", "target_poses"),
    "sidecar's size is wrong": Case("wrbench", sidecar(lambda value: value.update(image_size=[48, 64])), "image_size", Reason.SIZE_MISMATCH, "is [48, 64], but the video is 64x48", "target_poses"),
    "camera unknown": Case("wrbench", manifest(lambda row: row.update(camera_type="spin:left")), "camera_type", INVALID, "is no camera request", "camera"),
    "condition type unknown": Case("wrbench", manifest(lambda row: row.update(condition_type="magic")), "condition_type", INVALID, "write one of source-video", "condition_type"),
    "event level unknown": Case("wrbench", manifest(lambda row: row.update(event_delta="half")), "event_delta", INVALID, "is 'half'"),
    "model missing": Case("wrbench", manifest(lambda row: row.pop("model")), "model", MISSING, "is missing"),
    "generation failed": Case("wrbench", manifest(lambda row: row.update(status="failed", error="CUDA out of memory")), "status", MISSING, "the generation failed (CUDA out of memory)"),
    "manifest without a list": Case("wrbench", lambda root: write_json(root / "manifest.json", {"rows": 3}), "videos", INVALID, "holds no list of videos"),
    "suite is broken": Case("wrbench", text("variants.jsonl", b"{}\n"), "natural25", INVALID, "family_id: is missing"),
    # mind
    "action.json missing": Case("mind", lambda root: (root / TRUTH / "action.json").unlink(), "document", MISSING, "does not exist", "actions"),
    "mark_time beyond the end": Case("mind", document(f"{TRUTH}/action.json", lambda value: value.update(mark_time=20)), "mark_time", INVALID, "but the video ends at frame 20", "actions"),
    "mark_time is a text": Case("mind", document(f"{TRUTH}/action.json", lambda value: value.update(mark_time="8")), "mark_time", INVALID, "not a whole number of 0 or more", "actions"),
    "action rows missing": Case("mind", document(f"{TRUTH}/action.json", lambda value: value["data"].pop()), "data", LENGTH, "has 19 rows for 20 frames", "actions"),
    "action frame number": Case("mind", document(f"{TRUTH}/action.json", lambda value: value["data"][4].update(time=9)), "data[4].time", INVALID, "is 9, not 4", "actions"),
    "action value": Case("mind", document(f"{TRUTH}/action.json", lambda value: value["data"][5].update(ws=7)), "data[5].ws", INVALID, "use 0, 1 or 2", "actions"),
    "actor position NaN": Case("mind", document(f"{TRUTH}/action.json", lambda value: value["data"][2]["actor_pos"].update(x=float("nan"))), "data[2].actor_pos", INVALID, "finite x, y and z", "actions"),
    "total_time is wrong": Case("mind", lambda root: action_json(root / TRUTH / "action.json", total=30), "total_time", LENGTH, "is 30, but the ground truth has 20 frames", "gt_frames"),
    "ground truth folder missing": Case("mind", lambda root: shutil.rmtree(root / TRUTH), "ground_truth", MISSING, "the ground truth has no '1st_data/test/mem_test/hall'", "ground_truth"),
    "generated video missing": Case("mind", lambda root: (root / GENERATED).unlink(), "video", MISSING, "does not exist"),
    "mirror video of odd length": Case("mind", odd_mirror, "video", LENGTH, "the way back must be as long", "video"),
    # folder
    "folder link to itself": Case("folder", lambda root: (root / "loop").symlink_to(root / "loop"), "path", INVALID, "leads to itself"),
    "folder link out": Case("folder", lambda root: (root / "out.mp4").symlink_to("/etc/hostname"), "path", INVALID, "is a symbolic link out of the dataset"),
    "folder video empty": Case("folder", lambda root: (root / "alpha/one.mp4").write_bytes(b""), "video", DECODE, "is empty (0 bytes)"),
}


def test_the_table_is_long_and_every_line_says_something_of_its_own():
    assert len(CASES) >= 40
    assert len({(case.layout, case.field, case.says, case.reason) for case in CASES.values()}) >= 40


@pytest.mark.parametrize("name", CASES)
def test_corruption_gives_its_one_clear_line(dataset, name):
    case = CASES[name]
    root = dataset(case.layout)
    case.breaks(root)
    source = Source(root=str(root), layout=case.layout)
    found = validate(source)
    assert len(found) == 1, "\n".join(violation.line for violation in found)
    violation = found[0]
    assert (violation.field, violation.reason, violation.concerns) == (case.field, case.reason, case.concerns)
    assert case.says in violation.problem or case.says in violation.remedy
    assert str(root) in violation.path and violation.remedy
    assert "\n" not in violation.line and len(violation.line) < 500


@pytest.mark.parametrize("layout", ["mbench", "memobench", "wrbench", "mind", "folder"])
def test_a_link_loop_between_folders_ends(dataset, layout):
    """A folder that contains a link to its own parent must not be walked for ever."""
    root = dataset(layout)
    inner = next(path for path in sorted(root.rglob("*")) if path.is_dir())
    (inner / "again").symlink_to(root, target_is_directory=True)
    before = len(read(Source(root=str(root), layout=layout)).clips)
    assert before == len({clip.key for clip in read(Source(root=str(root), layout=layout)).clips})


def test_a_huge_document_is_refused_unread(dataset):
    root = dataset("mbench")
    with (root / SAMPLE).open("wb") as handle:
        handle.truncate(65 << 20)
    found = validate(Source(root=str(root)))
    assert [(violation.field, violation.problem) for violation in found] == [("document", "is larger than 64 MB")]


def test_an_unreadable_folder_of_frames_and_a_good_one_do_not_disturb_each_other(dataset):
    root = dataset("memobench")
    folder = root / "output/wan/Synthetic/Study/Study_001/frames"
    shutil.rmtree(folder)
    frame_folder(folder, 4)
    (folder / "00002.png").write_bytes(b"\x89PNG broken")
    found = validate(Source(root=str(root)))
    assert [(violation.reason, violation.item.model_id) for violation in found] == [(DECODE, "wan")]


def test_other_containers_and_animations_are_read_too(tmp_path):
    from PIL import Image

    video(tmp_path / "model" / "a.mkv")
    pictures = [Image.fromarray(image) for image in frames(5)]
    pictures[0].save(tmp_path / "model" / "b.webp", save_all=True, append_images=pictures[1:], duration=100, lossless=True)
    source = Source(root=str(tmp_path), layout="folder")
    assert {clip.clip_id for clip in read(source).clips} == {"a", "b"} and validate(source) == []
