"""A folder of conditions that strangers wrote: no path in it leads out of it, in any command that reads the list."""

import json

import numpy as np
import pytest
from lookback.cli.app import app
from lookback.conditions import build_conditions, read_conditions
from lookback.conditions.build import LIST
from lookback.conditions.generate import LOG
from lookback.conditions.interface import Interface
from lookback.media import encode
from typer.testing import CliRunner

ESCAPES = (
    "{victim}", "../victim.mp4", "m/../../victim.mp4", "..\\victim.mp4", "m\\..\\..\\victim.mp4", "C:\\victim.mp4", "C:victim.mp4",
    "\\\\server\\share\\victim.mp4", "\\\\.\\COM1.mp4", "//victim.mp4", "/dev/stdin", "/dev/fd/1", "/proc/self/mem", "~/victim.mp4",
    "~root/victim.mp4", "~\\victim.mp4", "linked/victim.mp4", "linked.mp4", "loop/victim.mp4", "m/vic\0tim.mp4",
)  # fmt: skip
NO_VIDEO = ("", " ", ".", "m", "m/", LIST, LOG, "m/videos/.mp4", "m/video.sh", 5, None, ["m/a.mp4"], {"m": 1})


@pytest.fixture
def folder(tmp_path):
    """Conditions of one clip with a path, its video, and a file of somebody else beside the folder."""
    suite, out = tmp_path / "suite", tmp_path / "out"
    suite.mkdir()
    family = {"family_id": "f", "scene": "a room", "primary_object": {"name": "a cup"}}
    variant = {"variant_id": "v", "family_id": "f", "oov_gap": "yaw_LR", "event_delta": "none", "ti2v_prompt": "A cup."}
    (suite / "families.jsonl").write_text(json.dumps(family) + "\n")
    (suite / "variants.jsonl").write_text(json.dumps(variant) + "\n")
    interface = Interface(model="m", takes="camera-path", image=False, frames=9, fps=8, size=(48, 32))
    build_conditions("wrbench", suite, interface, out)
    encode(tmp_path / "made.mp4", np.zeros((9, 32, 48, 3), np.uint8), 8.0)
    (tmp_path / "victim.mp4").write_text("ORIGINAL")
    return out


def change(folder, **fields):
    (row,) = read_conditions(folder)
    (folder / LIST).write_text(json.dumps({**row, **fields}) + "\n")


def assert_refused(folder, field):
    """`generate` and `check` end with one sentence that names line and field, and nothing outside was touched."""
    made = str(folder.parent / "made.mp4")
    listed = set(folder.parent.rglob("*"))
    for call in (["generate", str(folder), "--command", f"cp {made} {{output}}"], ["conditions", "check", str(folder)]):
        result = CliRunner().invoke(app, call)
        said = str(result.exception or "") + result.output
        assert result.exit_code != 0 and field in said, said
        assert f"{LIST}:1" in said or "symbolic link" in said, said
        assert "Traceback" not in said
    assert set(folder.parent.rglob("*")) == listed
    assert (folder.parent / "victim.mp4").read_text() == "ORIGINAL"


@pytest.mark.parametrize("field", ["output", "path", "actions", "model"])
@pytest.mark.parametrize("escape", ESCAPES)
def test_no_path_leads_out_of_the_folder(folder, field, escape):
    change(folder, **{field: escape.format(victim=folder.parent / "victim.mp4")})
    if escape.startswith("linked"):
        (folder / escape.partition("/")[0]).symlink_to(folder.parent / ("victim.mp4" if escape == "linked.mp4" else "."))
    if escape.startswith("loop"):
        (folder / "loop").symlink_to(folder / "loop")
    assert_refused(folder, "" if escape.startswith(("linked", "loop")) else field)


@pytest.mark.parametrize("output", NO_VIDEO)
def test_a_video_is_never_written_over_a_document(folder, output):
    change(folder, output=output)
    assert_refused(folder, "output")


@pytest.mark.parametrize("place", [LOG, "manifest.json", "conditions/m", "m/videos"])
def test_no_link_in_the_folder_leads_out_of_it(folder, place):
    target = folder / place
    (target.rename(folder.parent / "moved") if target.is_dir() else target).exists()
    target.symlink_to(folder.parent / ("moved" if "/" in place else "victim.mp4"))
    assert_refused(folder, place.rpartition("/")[2])


def test_the_record_of_a_line_cannot_rename_its_model(folder):
    """A benchmark's documents are written below the folder of the model."""
    (record,) = (folder / "conditions" / "m").glob("*v.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "model": "../../evil", "output": "/victim.mp4"}))
    (row,) = read_conditions(folder)
    encode(folder / row["output"], np.zeros((9, 32, 48, 3), np.uint8), 8.0)
    assert CliRunner().invoke(app, ["conditions", "check", str(folder)]).exit_code == 0
    (video,) = json.loads((folder / "manifest.json").read_text())["videos"]
    assert (video["model"], video["path"]) == ("m", row["output"])


@pytest.mark.parametrize("broken", ['{"clip_id": "v"}', "[]", "{", '{"frames": 1e999}', "null"])
def test_a_line_that_is_no_condition_is_named(folder, broken):
    (folder / LIST).write_text(broken + "\n")
    assert_refused(folder, "")


@pytest.mark.parametrize("text", ["\ud800", "a\0b"])
def test_a_prompt_that_no_command_can_take_is_refused(folder, text):
    change(folder, prompt=text)
    assert_refused(folder, "character")
