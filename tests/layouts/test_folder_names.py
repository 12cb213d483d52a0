"""A plain folder: which model made a video, by `models.csv`, by the pattern or by the file names."""

from __future__ import annotations

from pathlib import Path

import pytest
from layout_data import frame_folder, video
from lookback.benchmarks.folder.layout import Folder
from lookback.benchmarks.folder.names import guessed_names
from lookback.curation.inspection import ClipToInspect, inspect
from lookback.errors import NotScorable
from lookback.media import sample_fps
from lookback.params.stages import Source


def flat(root: Path, *names: str) -> Path:
    for seed, name in enumerate(names):
        video(root / f"{name}.mp4", seed=seed)
    return root


def read(root: Path, **more: str) -> tuple[dict[str, tuple[str, str]], list[str], list[str]]:
    """(video -> (clip, model), notes, problems)."""
    reading = Folder.read(Source(root=str(root), layout="folder", **more))
    found = {Path(clip.video).stem: (clip.clip_id, clip.model_id) for clip in reading.clips}
    return found, reading.notes, [violation.line for violation in reading.violations]


def test_names_of_the_form_scene_model_are_read_where_a_model_has_several_scenes(tmp_path):
    found, notes, _ = read(flat(tmp_path / "mine", "cat_wan", "red_dog_wan", "cat_ltx", "red_dog_ltx", "alone_once"))
    assert found["cat_wan"] == ("cat", "wan") and found["red_dog_ltx"] == ("red_dog", "ltx")
    assert found["alone_once"] == ("alone_once", "mine")
    assert any("4 of 5 videos read as <scene>_<model>" in note for note in notes)


@pytest.mark.parametrize("names", [["a_01", "b_01"], ["plain", "other"], ["_wan", "__wan"]])
def test_numbers_and_bare_names_are_no_models(names):
    assert guessed_names(names) == {}


def test_models_csv_counts_before_the_file_names(tmp_path):
    root = flat(tmp_path, "cat_wan", "dog_wan", "take7")
    (root / "models.csv").write_text("file,model,scene\ntake7.mp4,Genie,cat\ndog_wan,Wan 2.2,\n")
    found, notes, problems = read(root)
    assert found == {"cat_wan": ("cat", "wan"), "dog_wan": ("dog_wan", "Wan 2.2"), "take7": ("cat", "Genie")}
    assert any("2 of 3 videos named by models.csv" in note for note in notes) and not problems


def test_a_row_of_models_csv_that_names_no_video_is_one_line_with_its_place(tmp_path):
    root = flat(tmp_path, "cat_wan")
    (root / "models.csv").write_text("file,model\nmissing.mp4,Wan\ncat_wan.mp4,\n")
    found, _, problems = read(root)
    assert len(found) == 1 and len(problems) == 2
    assert "models.csv:2: model: names no video of this folder ('missing.mp4')" in problems[0] and "names no model" in problems[1]


def test_a_row_of_models_csv_names_the_video_at_its_path_and_a_name_of_several_videos_is_refused(tmp_path):
    flat(tmp_path, "cat", "a/cat", "z/cat", "a/dog")
    (tmp_path / "models.csv").write_text("file,model\ncat.mp4,wan\nz/cat,ltx\ncat,svd\ndog,svd\n")
    reading = Folder.read(Source(root=str(tmp_path), layout="folder", pattern="**/{clip}"))
    found = {str(Path(clip.video).relative_to(tmp_path)): clip.model_id for clip in reading.clips}
    assert (found["cat.mp4"], found["z/cat.mp4"], found["a/dog.mp4"]) == ("wan", "ltx", "svd") and found["a/cat.mp4"] != "svd"
    (line,) = [violation.line for violation in reading.violations]
    assert line.endswith("models.csv:4: file: 'cat' is the name of 3 videos; write the path of one of them, such as a/cat.mp4")


def test_a_video_that_models_csv_names_is_read_wherever_it_lies(tmp_path):
    flat(tmp_path, "cat", "a/cat", "z/cat")
    (tmp_path / "models.csv").write_text("file,model\ncat.mp4,wan\n")
    reading = Folder.read(Source(root=str(tmp_path), layout="folder"))
    assert sorted((clip.model_id, clip.clip_id) for clip in reading.clips) == [("a", "cat"), ("wan", "cat"), ("z", "cat")]


def test_a_pattern_switches_the_guess_off(tmp_path):
    found, _, _ = read(flat(tmp_path / "mine", "cat_wan", "dog_wan"), pattern="{clip}.mp4")
    assert found == {"cat_wan": ("cat_wan", "mine"), "dog_wan": ("dog_wan", "mine")}


def test_models_csv_may_name_the_subject(tmp_path):
    root = flat(tmp_path, "cat_wan", "dog_wan")
    (root / "models.csv").write_text("file,model,subject\ncat_wan,Wan,orange cat\n")
    clips = Folder.read(Source(root=str(root), layout="folder")).clips
    assert {clip.model_id: clip.object_name for clip in clips}["Wan"] == "orange cat"
    assert [clip.object_name for clip in clips if clip.model_id != "Wan"] == [""]


def test_models_csv_gives_the_rate_of_a_folder_of_frames_and_a_wrong_one_is_one_line(tmp_path):
    for name in ("cat", "dog", "cow"):
        frame_folder(tmp_path / "mine" / name, 4)
    (tmp_path / "models.csv").write_text("file,model,fps\nmine/cat,Wan,12.5\ndog,Wan,fast\ncow,Wan,0\n")
    reading = Folder.read(Source(root=str(tmp_path), layout="folder"))
    assert {clip.clip_id: (clip.model_id, clip.fps) for clip in reading.clips} == {
        "cat": ("Wan", 12.5), "dog": ("Wan", None), "cow": ("Wan", None),
    }  # fmt: skip
    lines = [violation.line.partition("models.csv:")[2] for violation in reading.violations]
    remedy = "write the frames a second, a number above 0 and up to 100,000"
    assert lines == [f"3: fps: is 'fast'; {remedy}", f"4: fps: is '0'; {remedy}"]
    curated = {clip.clip_id: inspect(ClipToInspect(clip)).clip for clip in reading.clips}
    assert curated["cat"].fps == 12.5 and curated["dog"].fps is None
    with pytest.raises(NotScorable, match=r"column fps of models\.csv"):
        sample_fps(4, curated["dog"].fps, 2.0)


def test_a_file_of_its_own_rate_keeps_it(tmp_path):
    flat(tmp_path, "cat")
    (tmp_path / "models.csv").write_text("file,model,fps\ncat,Wan,99\n")
    (clip,) = Folder.read(Source(root=str(tmp_path), layout="folder")).clips
    found = inspect(ClipToInspect(clip)).clip
    assert found is not None and found.fps not in (None, 99)


def test_a_video_that_is_rejected_has_matched_the_pattern_all_the_same(tmp_path):
    root = flat(tmp_path, "cat", "dog")
    (root / "cow.mp4").touch()
    _, notes, problems = read(root, pattern="{clip}.mp4")
    assert notes == ["Folder: 3 of 3 videos match '{clip}.mp4', 1 of them cannot be used"] and len(problems) == 1
    assert read(root, pattern="{clip}t.mp4")[1] == ["Folder: 1 of 3 videos match '{clip}t.mp4'"]
