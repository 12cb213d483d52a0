"""Files made elsewhere (poses, masks ...) reach the clips of every layout: by pattern, files.csv, column, and beside the video."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layout_data import BUILDERS, FRAMES, HEIGHT, WIDTH, read_lines, turn, write_csv, write_json, write_lines
from lookback.api import rejected_line
from lookback.backends.pose.formats import FORMATS, read_poses
from lookback.camera import inverse
from lookback.cli.app import app
from lookback.clips import Clip
from lookback.curation.contract import validate, violations_and_warnings
from lookback.errors import UsageError
from lookback.layouts import read
from lookback.layouts.given import KINDS
from lookback.media import probe
from lookback.params.stages import Source
from lookback.paths import resolve
from typer.testing import CliRunner

LAYOUTS = list(BUILDERS)


def write_vggt(path: Path, n: int = FRAMES, degrees: float = 60.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, extrinsic=inverse(turn(n, degrees))[:, :3])
    return path


def write_masks(path: Path, n: int = FRAMES, shape: tuple[int, int] = (HEIGHT, WIDTH)) -> Path:
    masks = np.zeros((n, *shape), np.uint8)
    masks[: n // 2, 10:30, 20:40] = 255
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, masks=masks)
    return path


def clips_of(root: Path, **source: object) -> list[Clip]:
    return read(Source(root=str(root), **source)).clips


def yaw_deg(clip: Clip) -> float:
    track = read_poses(resolve(clip.poses), clip.poses_format, probe(resolve(clip.video)))
    cosine = (np.trace(track.c2w[0, :3, :3].T @ track.c2w[len(track.c2w) // 2, :3, :3]) - 1) / 2
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("inside", [True, False], ids=["relative", "absolute"])
def test_a_pattern_gives_every_clip_of_a_layout_its_poses_and_masks(dataset, name: str, inside: bool, tmp_path: Path):
    root = dataset(name)
    place = root / "made" if inside else tmp_path / "made elsewhere"
    for clip in clips_of(root):
        n = probe(resolve(clip.video)).n_frames
        write_vggt(place / clip.model_id / f"{clip.clip_id}.npz", n)
        write_masks(place / "masks" / clip.model_id / f"{clip.clip_id}.npz", n)
    before = clips_of(root)
    base = "made" if inside else str(place)
    given = {"poses": f"{base}/{{model}}/{{clip}}.npz", "poses_format": "vggt"}
    source = {"layout": name, **given, "files": {"masks": f"{base}/masks/{{model}}/{{clip}}.npz"}}
    clips = clips_of(root, **source)
    assert [clip.key for clip in clips] == [clip.key for clip in before]
    for clip in clips:
        assert clip.poses_format == "vggt" and resolve(clip.poses) == place / clip.model_id / f"{clip.clip_id}.npz"
        assert resolve(clip.files["masks"]).is_file()
    assert yaw_deg(clips[0]) == pytest.approx(60, abs=8)
    assert validate(Source(root=str(root), **source)) == []


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("whole_name", [False, True], ids=["stem", "whole name"])
def test_a_file_beside_the_video_belongs_to_it(dataset, name: str, whole_name: bool):
    root = dataset(name)
    clip = next(clip for clip in clips_of(root) if name != "mbench" or clip.subset == "human")
    video = resolve(clip.video)
    beside = video.name if whole_name else video.stem
    n = probe(video).n_frames
    np.save(video.with_name(f"{beside}.poses.c2w.npy"), turn(n))
    write_masks(video.with_name(f"{beside}.masks.npz"), n)
    found = next(other for other in clips_of(root, layout=name) if other.key == clip.key)
    assert resolve(found.files["masks"]) == video.with_name(f"{beside}.masks.npz")
    if name == "mbench":  # its manifest names Depth-Anything-3's file, which comes first
        assert found.poses_format == "da3"
    else:
        assert (resolve(found.poses), found.poses_format) == (video.with_name(f"{beside}.poses.c2w.npy"), "c2w")
    others = [other for other in clips_of(root, layout=name) if other.key != clip.key]
    assert not any(other.files for other in others)
    assert validate(Source(root=str(root), layout=name)) == []


@pytest.mark.parametrize("name", LAYOUTS)
def test_files_csv_names_the_files_of_any_layout(dataset, name: str):
    root = dataset(name)
    clips = clips_of(root)
    for number, clip in enumerate(clips):
        n = probe(resolve(clip.video)).n_frames
        write_vggt(root / "made" / f"{number}.npz", n)
        write_masks(root / "made" / f"m{number}.npz", n)
    rows = [[c.model_id, c.clip_id, f"made/{i}.npz", "vggt", f"made/m{i}.npz"] for i, c in enumerate(clips)]
    write_csv(root / "files.csv", ["model", "clip_id", "poses_file", "poses_format", "masks_file"], rows)
    found = clips_of(root, layout=name)
    assert [resolve(clip.poses).name for clip in found] == [f"{i}.npz" for i in range(len(clips))]
    assert [resolve(clip.files["masks"]).name for clip in found] == [f"m{i}.npz" for i in range(len(clips))]
    assert validate(Source(root=str(root), layout=name)) == []


def test_the_manifest_of_wrbench_names_files_in_columns(dataset):
    root = dataset("wrbench")
    manifest = read(Source(root=str(root)))
    write_vggt(root / "gen3c" / "omega.npz")
    rows = [
        {"video_id": f"v{number}", "model": "gen3c", "path": Path(clip.video).relative_to(root).as_posix()}
        for number, clip in enumerate(manifest.clips)
    ]
    rows[0] |= {"poses_file": "gen3c/omega.npz", "poses_format": "vggt"}
    rows[1] |= {"poses_file": "gen3c/omega.npz"}
    rows[2] |= {"depth_file": "gone.npz"}
    rows[3] |= {"masks_file": "../../secret.npz"}
    write_json(root / "manifest.json", rows)
    reading = read(Source(root=str(root)))
    clips = {clip.clip_id: clip for clip in reading.clips}
    assert (Path(clips["v0"].poses).name, clips["v0"].poses_format) == ("omega.npz", "vggt")
    assert clips["v1"].poses is None and clips["v2"].files == clips["v3"].files == {}
    told = [violation.line for violation in reading.violations]
    assert "poses_format: is missing; write one of" in told[0]
    assert "depth_file: 'gone.npz' does not exist" in told[1]
    assert "masks_file: the path '../../secret.npz' leaves the dataset" in told[2]


def test_the_artifacts_of_mbench_name_other_formats_and_roles(dataset):
    root = dataset("mbench")
    lines = read_lines(root / "models/wan/samples.jsonl")
    write_vggt(root / "models/wan/made/poses.npz")
    write_masks(root / "models/wan/made/masks.npz")
    masks = {"path": "made/masks.npz"}
    lines[0]["artifacts"] = {"poses": {"path": "made/poses.npz", "format": "vggt"}, "masks": masks}
    lines[1]["artifacts"] = {"vggt": {"path": "made/poses.npz"}, "notes": {"path": "of another program"}}
    lines[2]["artifacts"] = {"poses": {"path": "made/poses.npz", "format": "vgg"}}
    write_lines(root / "models/wan/samples.jsonl", lines)
    reading = read(Source(root=str(root)))
    first, second, third = reading.clips[:3]
    assert first.poses_format == second.poses_format == "vggt" and set(first.files) == {"masks"}
    assert third.poses is None
    assert "artifacts.poses.format: is 'vgg'; write one of" in reading.violations[0].line


def test_a_pattern_that_fits_some_clips_is_counted_and_the_first_gap_is_named(dataset):
    root = dataset("folder")
    write_vggt(root / "poses" / "alpha" / "one.npz")
    write_vggt(root / "poses" / "beta" / "two.npz")
    source = Source(root=str(root), poses="poses/{model}/{clip}.npz", poses_format="vggt", pattern="{model}/{clip}")
    reading = read(source)
    assert sum(clip.poses is not None for clip in reading.clips) == 2
    said = "the pattern 'poses/{model}/{clip}.npz' fits 2 of 5 clips; the first without one is folder/alpha/two (looked for"
    assert f"poses: {said}" in reading.notes[-1] and "poses/alpha/two.npz" in reading.notes[-1]
    assert [v.problem for v in validate(source)] == [reading.notes[-1].removeprefix("poses: ")]
    assert reading.rejected == []


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"poses": "nowhere/{clip}.npz", "poses_format": "vggt"}, "begins in .*nowhere, which is no folder"),
        ({"poses": "{model}/{clip}.npz", "poses_format": "vggt"}, "fits none of 5 clips; the first without one is folder/alpha"),
        ({"poses": "{model}/{clip}.npz"}, "go together"),
        ({"poses_format": "vggt"}, "go together"),
        ({"poses": "{model}/{clip}.npz", "poses_format": "vgtt"}, "There is no pose format 'vgtt'; did you mean 'vggt'"),
        ({"poses": "{model}/{name}.npz", "poses_format": "vggt"}, r"has \{name\} in it; use \{model\}"),
        ({"poses": "all.npz", "poses_format": "vggt"}, "names the same file for every clip"),
        ({"files": {"mask": "{clip}.npz"}}, "names the role 'mask', which cannot be read from files; did you mean 'masks'"),
        ({"files": {"features": "{clip}.npz"}}, "names the role 'features', which cannot be read from files"),
    ],
)
def test_a_wrong_pattern_is_a_wrong_call(dataset, source: dict, says: str):
    with pytest.raises(UsageError, match=says):
        read(Source(root=str(dataset("folder")), pattern="{model}/{clip}", **source))


def test_a_file_of_the_wrong_shape_is_one_sentence_and_the_clip_is_kept(dataset):
    root = dataset("folder")
    write_masks(root / "alpha" / "one.masks.npz", n=FRAMES - 1)
    write_masks(root / "alpha" / "two.masks.npz", shape=(HEIGHT, HEIGHT))
    np.savez(root / "beta" / "one.faces.npz", frame=np.zeros(2, int), box=np.zeros((2, 4)))
    np.savez(root / "beta" / "two.poses.vggt.npz", wrong=np.zeros(3))
    source = Source(root=str(root), pattern="{model}/{clip}")
    told = [violation.line for violation in validate(source)]
    assert len(told) == 4
    assert told[0].endswith("one.masks.npz: masks: has 11 masks for 12 frames; add 'frame_index', the frame of each mask")
    assert "two.masks.npz: masks: masks of 48x48 do not have the shape of the video's picture (64x48); store" in told[1]
    assert "one.faces.npz: faces: has no array 'landmarks' (it has box, frame); add it as docs/artifacts.md says" in told[2]
    assert "two.poses.vggt.npz: poses: has no array 'extrinsic'" in told[3]


def test_depth_of_every_second_frame_is_a_warning_and_a_cut_file_a_violation(dataset):
    root = dataset("folder")
    for name, maps in (("one", FRAMES // 2), ("two", FRAMES - 2)):
        np.savez(root / "alpha" / f"{name}.depth.npz", depth=np.ones((maps, 24, 32)))
    (cut,), (few,) = violations_and_warnings(Source(root=str(root), pattern="{model}/{clip}"))
    assert f"two.depth.npz: depth: has {FRAMES - 2} maps for {FRAMES} frames, which are not those of every k-th" in cut.line
    assert few.path.endswith("one.depth.npz") and few.field == "depth"
    assert few.problem == f"{FRAMES // 2} maps for {FRAMES} frames: read as frames 0, 2, 4 ... 10"


def test_two_files_for_one_purpose_and_unknown_formats_are_refused(dataset):
    root = dataset("folder")
    np.save(root / "alpha" / "one.poses.c2w.npy", turn())
    write_vggt(root / "alpha" / "one.poses.vggt.npz")
    write_vggt(root / "alpha" / "two.poses.vgg.npz")
    write_csv(root / "files.csv", ["clip_id", "poses_file", "poses_format"], [["three", "alpha/one.poses.c2w.npy", "c2w"]])
    reading = read(Source(root=str(root), pattern="{model}/{clip}"))
    told = [violation.line for violation in reading.violations]
    assert "there are one.poses.c2w.npy and one.poses.vggt.npz beside one video; keep one of them" in told[0]
    assert "poses: is 'vgg'; write one of" in told[1]
    assert "files.csv:2: clip_id: names 'three', which the dataset does not have" in told[2]
    assert all(clip.poses is None for clip in reading.clips)


def test_colmap_beside_the_only_video_of_a_folder_is_its_path(dataset):
    root = dataset("mind")
    place = root / "test_root" / "minecraft" / "1st_data"
    line = "{0} 1 0 0 0 0 0 0 1 images/frame_{1:06d}.jpg\n\n"
    for folder in ("mem_test/hall", "mirror_test/loop"):  # the second folder holds two videos
        (place / folder / "images.txt").write_text("".join(line.format(i + 1, i) for i in range(FRAMES)))
    clips = {clip.clip_id: clip for clip in clips_of(root)}
    assert clips["1st_data/mem_test/hall"].poses_format == "colmap"
    assert all(clip.poses is None for name, clip in clips.items() if name != "1st_data/mem_test/hall")


WATCHED = """
import sys
outside, opened = sys.argv[1], []
def watch(event, arguments):
    if event == "open" and str(arguments[0]).startswith(outside):
        opened.append(arguments[0])
sys.addaudithook(watch)
from lookback.curation.contract import validate, violations_and_warnings
from lookback.params.stages import Source
for violation in validate(Source(root=sys.argv[2], pattern="{model}/{clip}", files={"masks": "made/{clip}.npz"}), workers=1):
    print(violation.line)
print("OPENED", opened)
"""


def test_files_outside_the_dataset_are_refused_and_not_opened(dataset, tmp_path: Path, warm_python: str):
    root, outside = dataset("folder"), tmp_path / "secret"
    poses, masks = write_vggt(outside / "p.npz"), write_masks(outside / "m.npz")
    (root / "alpha" / "one.poses.vggt.npz").symlink_to(poses)
    (root / "made").mkdir()
    (root / "made" / "one.npz").symlink_to(masks)
    write_masks(root / "made" / "two.npz")
    rows = [["alpha", "two", str(poses), "vggt"], ["beta", "two", "../secret/p.npz", "vggt"]]
    write_csv(root / "files.csv", ["model", "clip_id", "poses_file", "poses_format"], rows)
    call = [warm_python, "-c", WATCHED, str(outside), str(root)]
    done = subprocess.run(call, capture_output=True, text=True, check=True, env=os.environ)
    assert "OPENED []" in done.stdout
    assert done.stdout.count("is a symbolic link out of the dataset") >= 2
    assert "is absolute" in done.stdout and "leaves the dataset by '..'" in done.stdout


def test_an_id_cannot_lead_a_pattern_out_of_the_users_folder(dataset, tmp_path: Path):
    root = dataset("wrbench")
    manifest = read(Source(root=str(root)))
    rows = [{"video_id": "../../secret/p", "model": "gen3c", "path": Path(manifest.clips[0].video).relative_to(root).as_posix()}]
    write_json(root / "manifest.json", rows)
    write_vggt(tmp_path / "secret" / "p.npz")
    (tmp_path / "made" / "deep").mkdir(parents=True)
    source = Source(root=str(root), poses=f"{tmp_path}/made/deep/{{clip}}.npz", poses_format="vggt")
    reading = read(source)
    assert reading.clips[0].poses is None
    assert "leaves the dataset by '..'" in reading.violations[0].line


def test_the_command_line_takes_patterns(dataset):
    root = dataset("folder")
    for model, clip in (("alpha", "one"), ("alpha", "two"), ("beta", "one"), ("beta", "two")):
        write_vggt(root / "poses" / model / f"{clip}.npz")
        write_masks(root / "masks" / model / f"{clip}.npz")
    call = ["validate", str(root), "--pattern", "{model}/{clip}.mp4", "--poses", "poses/{model}/{clip}.npz"]
    call += ["--workers", "1"]
    done = CliRunner().invoke(app, [*call, "--poses-format", "vggt", "--masks", "masks/{model}/{clip}.npz"])
    assert done.exit_code == 0, (done.output, done.exception)
    done = CliRunner().invoke(app, [*call, "--poses-format", "kitti", "--files", "masks=masks/{model}/{clip}.npz"])
    assert done.exit_code == 1 and "poses/alpha/one.npz: poses: cannot be read as text" in done.output
    shown = CliRunner().invoke(app, ["eval", "--help"]).output
    assert all(name in shown for name in FORMATS) and "object_features" in shown


def test_a_score_comes_from_the_given_poses(dataset, tmp_path: Path):
    """The path that was asked for, given as the video's own: CamPrec is 1. Another path: it is not."""
    root, scores = dataset("wrbench"), []
    for clip in clips_of(root):
        write_vggt(root / "other" / f"{Path(clip.video).stem}.npz", degrees=20.0)
    for number, (pattern, form) in enumerate([("{model}/{video}.mp4.target_c2w.npy", "c2w"), ("other/{video}.npz", "vggt")]):
        output = tmp_path / f"run{number}"
        call = ["eval", str(root), "--output", str(output), "--metrics", "wrbench.cam_prec", "--limit", "1", "--workers", "1"]
        done = CliRunner().invoke(app, [*call, "--poses", pattern, "--poses-format", form])
        assert done.exit_code == 0, (done.output, done.exception)
        artifacts = pd.read_parquet(output / "tables" / "artifacts.parquet")
        assert set(artifacts["backend"]) == {"files"} and set(artifacts["reason"]) == {""}
        scores.append(pd.read_parquet(output / "tables" / "items.parquet")["value"].mean())
    assert scores[0] == pytest.approx(1.0, abs=1e-9)
    assert scores[1] < 0.8


def test_a_score_from_the_poses_of_every_second_frame_says_so(dataset, tmp_path: Path):
    root = dataset("wrbench")
    for target in root.rglob("*.target_c2w.npy"):
        np.save(target.with_name(f"{target.name.partition('.')[0]}.half.npy"), np.load(target)[::2])
    call = ["eval", str(root), "--output", str(tmp_path / "run"), "--metrics", "wrbench.cam_prec", "--limit", "1", "--workers", "1"]
    for _ in range(2):  # computed, and from the store
        done = CliRunner().invoke(app, [*call, "--poses", "{model}/{video}.half.npy", "--poses-format", "c2w"])
        assert done.exit_code == 0, (done.output, done.exception)
        (item,) = pd.read_parquet(tmp_path / "run" / "tables" / "items.parquet").itertuples()
        assert item.detail.startswith(f"{FRAMES // 2} poses for {FRAMES} frames: read as frames 0, 2, 4 ..."), item


def test_the_page_of_artifacts_names_every_format_role_and_way():
    page = (Path(__file__).resolve().parents[2] / "docs" / "artifacts.md").read_text()
    section = page[page.index("## Files made elsewhere") : page.index("## `clip`")]
    for name in (*FORMATS, *KINDS, "files.csv", "poses_file", "--poses 'poses/", "--masks", "images.txt"):
        assert f"`{name}" in section, name


def test_the_first_file_that_cannot_be_used_is_named_with_its_problem():
    row = {
        "path": "p/a.npz",
        "field": "poses",
        "reason": "invalid_input",
        "problem": "its intrinsics belong to a picture of 0x0",
        "remedy": "give its size",
    }
    said = rejected_line(pd.DataFrame([row, row]), Path("rejected.parquet"))
    assert (
        said.startswith("1 file that cannot be used, see")
        and "a.npz: poses: its intrinsics belong to a picture of 0x0; give its size" in said
    )
