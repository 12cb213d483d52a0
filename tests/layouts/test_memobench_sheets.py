"""MemoBench's own sheets: which clips count, how scenes are spelt, and where the true camera path comes from."""

import pytest
from layout_data import write_csv
from lookback.curation.contract import validate
from lookback.layouts import read
from lookback.params.stages import Source


def clips_of(root):
    return {clip.clip_id: clip for clip in read(Source(root=str(root))).clips}


def test_rows_with_skip_leave_the_clip_out_of_the_benchmark_and_the_note_says_so(dataset):
    root = dataset("memobench")
    rows = [["Study_001", 20, 6, 14, "Yes"], ["Real_007", 20, 5, 15, "no"]]
    write_csv(root / "data" / "phases.csv", ["clip", "n_frames", "d_start", "r_start", "skip"], rows)
    reading = read(Source(root=str(root)))
    assert {clip.clip_id for clip in reading.clips} == {"real_007"}
    assert any(note.startswith("MemoBench: 2 clips left out") for note in reading.notes)
    assert reading.violations == []


@pytest.mark.parametrize(("said", "kept"), [("yes", {"Study_001", "real_007"}), ("no", {"Study_001"})])
def test_only_available_real_clips_count_where_a_selection_sheet_lies(dataset, said, kept):
    root = dataset("memobench")
    write_csv(root / "data" / "Real_Selected.csv", ["ID", "Availability"], [["7.0", said], [8, "yes"]])
    assert set(clips_of(root)) == kept


def test_a_selection_sheet_in_the_old_format_asks_for_another_copy_and_drops_nothing(dataset):
    root = dataset("memobench")
    (root / "data" / "Real_Selected.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    assert set(clips_of(root)) == {"Study_001", "real_007"}
    assert any("save it as Real_Selected.xlsx" in found.remedy for found in validate(Source(root=str(root))))


def test_tables_that_spell_a_scene_differently_still_find_its_clips(dataset):
    root = dataset("memobench")
    data, prompt = root / "data", "Away and back."
    header = ["scene", "video_id", "subject", "exr_path", "prompt"]
    write_csv(data / "sam3_metadata" / "synthetic_metadata.csv", header, [["study_", 1, "cup", "x.jpg", prompt]])
    write_csv(data / "phases.csv", ["clip", "n_frames", "d_start", "r_start"], [["STUDY_001", 20, 6, 14], ["Real_007", 20, 5, 15]])
    clip = clips_of(root)["Study_001"]
    assert (clip.object_name, clip.prompt, clip.d_start) == ("cup", prompt, 6)


def test_the_renderer_s_camera_table_stands_in_for_missing_poses(dataset):
    root = dataset("memobench")
    folder = root / "data" / "Synthetic_processed" / "Study" / "Study_001"
    assert clips_of(root)["Study_001"].gt_poses_format == "c2w"
    (folder / "1" / "poses.npy").rename(folder / "poses.npy")
    (folder / "1" / "intrinsics.npy").rename(folder / "intrinsics.npy")
    moved = clips_of(root)["Study_001"]
    assert moved.gt_poses.endswith("Study_001/poses.npy") and moved.gt_intrinsics.endswith("Study_001/intrinsics.npy")
    (folder / "poses.npy").unlink()
    header = ["loc_x", "loc_y", "loc_z", "rot_x", "rot_y", "rot_z", "fx", "fy", "cx", "cy"]
    write_csv(folder / "camera_full1.csv", header, [[0, 0, 0, 0, 0, 0.1 * i, 40, 40, 32, 24] for i in range(20)])
    clip = clips_of(root)["Study_001"]
    assert clip.gt_poses.endswith("camera_full1.csv") and clip.gt_poses_format == "ue5"
