"""A plain folder: which model made a video, by `models.csv`, by the pattern or by the file names."""

from __future__ import annotations

from pathlib import Path

import pytest
from layout_data import video
from lookback.benchmarks.folder.layout import Folder
from lookback.benchmarks.folder.names import guessed_names
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


def test_a_pattern_switches_the_guess_off(tmp_path):
    found, _, _ = read(flat(tmp_path / "mine", "cat_wan", "dog_wan"), pattern="{clip}.mp4")
    assert found == {"cat_wan": ("cat_wan", "mine"), "dog_wan": ("dog_wan", "mine")}


def test_models_csv_may_name_the_subject(tmp_path):
    root = flat(tmp_path, "cat_wan", "dog_wan")
    (root / "models.csv").write_text("file,model,subject\ncat_wan,Wan,orange cat\n")
    clips = Folder.read(Source(root=str(root), layout="folder")).clips
    assert {clip.model_id: clip.object_name for clip in clips}["Wan"] == "orange cat"
    assert [clip.object_name for clip in clips if clip.model_id != "Wan"] == [""]
