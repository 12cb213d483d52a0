"""Where WRBench's target poses may be named: in the manifest's row, in `<video>.d1_target.json`, in `<video>.camera.json`."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from corrupting import WR_VIDEO
from layout_data import FRAMES, HEIGHT, WIDTH, write_json
from lookback.benchmarks.wrbench.sidecar import main_profile_faults, to_sidecar
from lookback.camera.intent import compile, preset
from lookback.curation.contract import validate
from lookback.layouts import read
from lookback.measures.requested import asked_path
from lookback.params.stages import Source

WANTED = preset("yaw_LR", FRAMES)
NAME = Path(WR_VIDEO).name


def naming(file: str, **changes: object) -> dict[str, object]:
    """What a row or a file says about a target of the main table that lies in `file`."""
    said = to_sidecar(WANTED, NAME, 8, WIDTH, HEIGHT, 70.0) | {"target_pose_path": file, "trajectory_c2w_path": file} | changes
    return {name: value for name, value in said.items() if value is not None}


def change_row(root: Path, **fields: object) -> None:
    manifest = json.loads((root / "manifest.json").read_text())
    manifest["videos"][0] |= fields
    write_json(root / "manifest.json", manifest)


def target(root: Path) -> str | None:
    clips = read(Source(root=str(root), layout="wrbench")).clips
    found = next(clip.target_poses for clip in clips if clip.video.endswith(WR_VIDEO))
    return None if found is None else Path(found).name


@pytest.fixture
def root(dataset) -> Path:
    """A dataset with two more targets for the first clip, which nothing names yet."""
    folder = dataset("wrbench")
    for name in ("of_row.npy", "of_d1.npy"):
        np.save(folder / "gen3c" / name, compile(WANTED))
    return folder


def test_the_row_comes_before_the_d1_file_and_that_before_the_camera_file(root):
    assert target(root) == f"{NAME}.target_c2w.npy"
    write_json(root / f"{WR_VIDEO}.d1_target.json", naming("of_d1.npy"))
    assert target(root) == "of_d1.npy"
    change_row(root, **naming("gen3c/of_row.npy"))  # a row's paths begin at the manifest
    assert target(root) == "of_row.npy" and validate(Source(root=str(root))) == []
    (root / f"{WR_VIDEO}.camera.json").unlink()
    assert target(root) == "of_row.npy" and validate(Source(root=str(root))) == []


def test_what_the_chosen_place_says_about_the_request_counts(root):
    write_json(root / f"{WR_VIDEO}.camera.json", naming("of_d1.npy", control_profile="diagnostic_30deg"))
    change_row(root, **naming("gen3c/of_row.npy"))
    clip = next(clip for clip in read(Source(root=str(root))).clips if clip.video.endswith(WR_VIDEO))
    assert clip.extras["control_profile"] == "canonical_60deg" and main_profile_faults(clip.extras) == []


def test_a_target_that_the_main_table_does_not_take_gives_way_to_one_that_it_takes(root):
    change_row(root, **naming("gen3c/of_row.npy", fov=None))
    assert target(root) == f"{NAME}.target_c2w.npy"
    (root / f"{WR_VIDEO}.camera.json").unlink()
    assert target(root) == "of_row.npy"


@pytest.mark.parametrize(
    ("said", "field", "problem"),
    [
        (naming("gen3c/gone.npy"), "target_pose_path", "does not exist"),
        (naming("/elsewhere/gone.npy"), "target_pose_path", "leads out of the dataset"),
        (naming("gen3c/of_row.npy", target_coordinate_convention=None), "target_coordinate_convention", "is missing"),
        (naming("gen3c/of_row.npy", target_coordinate_convention="opengl"), "target_coordinate_convention", "must be OpenCV"),
        (
            naming("", target_pose_path=None, trajectory_c2w_path=None, target_poses_c2w=[[[1.0]]]),
            "target_poses_c2w",
            "holds the poses themselves",
        ),
    ],
    ids=["missing", "outside", "no axes", "other axes", "inline"],
)
def test_a_row_that_names_no_usable_target_is_told_and_the_next_place_counts(root, said, field, problem):
    change_row(root, **said)
    (violation,) = validate(Source(root=str(root)))
    assert (violation.field, violation.concerns) == (field, "target_poses") and problem in violation.problem
    assert target(root) == f"{NAME}.target_c2w.npy"
    (root / f"{WR_VIDEO}.camera.json").unlink()
    (root / f"{WR_VIDEO}.target_c2w.npy").unlink()
    assert target(root) is None and [found.field for found in validate(Source(root=str(root)))] == [field]


def test_a_broken_d1_file_is_told_and_the_camera_file_counts(root):
    (root / f"{WR_VIDEO}.d1_target.json").write_text('{"target_pose')
    (violation,) = validate(Source(root=str(root)))
    assert violation.path.endswith(".d1_target.json") and violation.concerns == "target_poses"
    assert target(root) == f"{NAME}.target_c2w.npy"


def test_a_broken_camera_file_does_not_leave_the_mere_file_beside_the_video(root):
    (root / f"{WR_VIDEO}.camera.json").write_text("{")
    assert target(root) is None
    change_row(root, **naming("gen3c/of_row.npy"))
    assert target(root) == "of_row.npy" and len(validate(Source(root=str(root)))) == 1


def test_numbers_in_a_csv_manifest_are_numbers(root):
    change_row(root, **naming("gen3c/of_row.npy"))
    rows = json.loads((root / "manifest.json").read_text())["videos"]
    (root / "manifest.json").unlink()
    with (root / "manifest.csv").open("w", newline="") as handle:
        writer = csv.DictWriter(handle, [*dict.fromkeys(name for row in rows for name in row)])
        writer.writeheader()
        writer.writerows(rows)
    assert target(root) == "of_row.npy" and validate(Source(root=str(root))) == []


def test_the_mere_file_beside_the_video_counts_where_no_sidecar_is_there(root):
    (root / f"{WR_VIDEO}.camera.json").unlink()
    assert target(root) == f"{NAME}.target_c2w.npy"
    (root / f"{WR_VIDEO}.target_c2w.npy").write_bytes(b"")
    (violation,) = validate(Source(root=str(root)))
    assert target(root) is None and "is empty" in violation.problem and violation.concerns == "target_poses"


def test_poses_of_three_rows_are_a_valid_target_that_the_inspector_draws(root):
    np.save(root / f"{WR_VIDEO}.target_c2w.npy", compile(WANTED)[:, :3])
    assert validate(Source(root=str(root))) == []
    clip = next(clip for clip in read(Source(root=str(root))).clips if clip.video.endswith(WR_VIDEO))
    np.testing.assert_array_equal(asked_path(clip), compile(WANTED))
