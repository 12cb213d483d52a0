"""Plans of a user's own scenes become files that the readers take; a phase sheet is found in a video."""

import csv
import json

import cv2
import numpy as np
import pytest
from lookback.camera.intent import parse
from lookback.camera.poses import turned_yaw_deg
from lookback.cli.app import app
from lookback.conditions import build_conditions, read_conditions
from lookback.conditions.interface import Interface
from lookback.conditions.plans import Scene
from lookback.demo.clip import render_clip
from lookback.demo.datasets import subject_box
from lookback.demo.spec import ClipSpec
from lookback.errors import ParameterError
from lookback.media import encode
from lookback.params.stages import Source
from lookback.registry import LAYOUTS
from typer.testing import CliRunner

MEMOBENCH = """
benchmark: memobench
scenes:
  - {name: Kitchen_001, subject: a cup, prompt: The camera turns away and back., camera: yaw_LR, frames: 81, video: kitchen.mp4}
  - {name: Kitchen_002, subject: a cup, prompt: It turns a little., camera: "yaw:left:10@40,yaw:right:10@41"}
"""
MIND = """
benchmark: mind
scenes:
  - {name: hall, prompt: A hall., camera: "dolly:forward:2@40,yaw:right:30@41", mark_time: 30, group: mem_test}
  - {name: room, prompt: A room., group: mirror_test, frames: 20, paths: ["yaw:left:60@10", "dolly:forward:1@5,pan:right:1@5"]}
"""


def run(*arguments):
    return CliRunner().invoke(app, [*arguments])


def test_a_memobench_plan_is_read_back_with_its_phases_and_path(tmp_path):
    (tmp_path / "plan.yaml").write_text(MEMOBENCH)
    encode(tmp_path / "kitchen.mp4", np.full((81, 36, 64, 3), 90, np.uint8), 16.0)
    result = run("conditions", "plan", str(tmp_path / "plan.yaml"), "--output", str(tmp_path / "data"))
    assert result.exit_code == 1 and "1 scenes written" in result.output
    assert "Kitchen_002: the scene 'Kitchen_002': the subject never leaves the view" in result.output
    interface = Interface(model="m", takes="camera-path", frames=41, fps=16, size=(64, 36))
    assert build_conditions("memobench", tmp_path / "data", interface, tmp_path / "out").written == 1
    (row,) = read_conditions(tmp_path / "out")
    poses = np.load(tmp_path / "out" / row["path"])
    turned = np.degrees(np.arctan2(poses[:, 0, 2], poses[:, 2, 2]))
    assert len(poses) == 41 and turned.min() == pytest.approx(-60, abs=1.6) and abs(turned[-1]) < 1e-6
    build_conditions("memobench", tmp_path / "data", interface.model_copy(update={"rotation_gain": 2.0}), tmp_path / "gain")
    told = np.load(tmp_path / "gain" / read_conditions(tmp_path / "gain")[0]["path"])
    np.testing.assert_allclose(turned_yaw_deg(told), 2 * turned_yaw_deg(poses), atol=1e-6)
    video = tmp_path / "out" / row["output"]
    video.parent.mkdir(parents=True)
    encode(video, np.full((41, 36, 64, 3), 90, np.uint8), 16.0)
    reading = LAYOUTS.get("memobench").read(Source(root=str(tmp_path / "out"), layout="memobench", gt_root=str(tmp_path / "data")))
    (clip,) = reading.clips
    expected = Scene(name="x", camera="yaw_LR").hidden_span()
    assert (clip.d_start, clip.r_start, clip.gt_frames) == (*expected, 81) and clip.gt_poses and clip.object_name == "a cup"
    assert not [violation.line for violation in reading.violations]


def test_the_subject_is_hidden_while_the_view_has_turned_past_it():
    first, back = Scene(name="x", camera="yaw_LR", frames=81, fov_deg=60, subject_yaw_deg=0, subject_width_deg=10).hidden_span()
    yaw = 60 * np.concatenate([np.linspace(0, 1, 40), np.linspace(1, 0, 41)])
    gone = np.flatnonzero(yaw > 35)
    assert (first, back) == (gone[0], gone[-1] + 1)
    right = Scene(name="x", camera="yaw_LR", subject_yaw_deg=20).hidden_span()
    assert right[0] < first and right[1] > back  # a subject on the right leaves a left turn earlier
    with pytest.raises(ParameterError, match="does not come back"):
        Scene(name="x", camera="yaw:left:90@81").hidden_span()


def test_a_mind_plan_gives_actions_and_mirrored_paths_that_become_conditions(tmp_path):
    (tmp_path / "plan.yaml").write_text(MIND)
    result = run("conditions", "plan", str(tmp_path / "plan.yaml"), "--output", str(tmp_path))
    assert result.exit_code == 0, result.output
    truth = tmp_path / "MIND-Data" / "1st_data" / "test"
    document = json.loads((truth / "mem_test" / "hall" / "action.json").read_text())
    assert document["mark_time"] == 30 and document["total_time"] == 81 and document["data"][0]["ws"] == 1
    mirrored = json.loads((truth / "mirror_test" / "room" / "path-2.json").read_text())["data"]
    opposite = {0: 0, 1: 2, 2: 1}
    for frame in range(10):
        there, back = mirrored[frame], mirrored[19 - frame]
        assert all(back[axis] == opposite[there[axis]] for axis in ("ws", "ad", "ud", "lr"))
    interface = Interface(model="m", takes="discrete-actions", image=False, frames=20, fps=16, size=(64, 36))
    built = build_conditions("mind", tmp_path / "MIND-Data", interface, tmp_path / "out")
    rows = {row["clip_id"]: row for row in read_conditions(tmp_path / "out")}
    assert built.written == 3 and not built.refused
    tokens = json.loads((tmp_path / "out" / rows["1st_data/mem_test/hall"]["actions"]).read_text())["actions"]
    assert tokens == ["dolly_forward"] * 10 + ["yaw_right"] * 10
    assert rows["1st_data/mirror_test/room/path-1"]["output"] == "test_root/m/1st_data/mirror_test/room/path-1.mp4"


def test_mind_says_which_way_and_nothing_invents_how_far(tmp_path):
    """Its action.json has no distances: words without amounts, and no path or continuous actions."""
    (tmp_path / "plan.yaml").write_text(MIND)
    run("conditions", "plan", str(tmp_path / "plan.yaml"), "--output", str(tmp_path))
    made = {}
    for takes in ("text", "discrete-actions", "camera-path", "continuous-actions"):
        interface = Interface(model="m", takes=takes, image=False, frames=20)
        made[takes] = build_conditions("mind", tmp_path / "MIND-Data", interface, tmp_path / takes)
        if takes in ("camera-path", "continuous-actions"):
            assert not made[takes].written and len(made[takes].refused) == 3 and not list(tmp_path.glob(f"{takes}/**/*.npy"))
            assert all("not how far" in line and "text, text+image or discrete-actions" in line for line in made[takes].refused)
        else:
            assert made[takes].written == 3
            assert {row["camera"] for row in read_conditions(tmp_path / takes)} == {""}
    prompts = {row["clip_id"]: row["prompt"] for row in read_conditions(tmp_path / "text")}
    said = "A hall. The camera moves forward for 10 frames, then turns right for 10 frames."
    assert prompts["1st_data/mem_test/hall"] == said
    assert "slides right for 5 frames, then slides left for 5 frames" in prompts["1st_data/mirror_test/room/path-2"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("benchmark: mind\nscenes: []\n", "scenes"),
        ("benchmark: mind\nscenes: [{name: ../x}]\n", "name"),
        ("benchmark: wrbench\nscenes: [{name: x}]\n", "no files for planned scenes"),
        ("benchmark: mindd\nscenes: [{name: x}]\n", "mind"),
    ],
)
def test_a_wrong_plan_is_one_sentence(tmp_path, text, problem):
    (tmp_path / "plan.yaml").write_text(text)
    result = run("conditions", "plan", str(tmp_path / "plan.yaml"), "--output", str(tmp_path / "o"))
    assert result.exit_code != 0 and problem in str(result.exception) and "\n" not in str(result.exception)


def test_phases_are_found_in_a_video_and_shown(tmp_path):
    clip = render_clip(ClipSpec("playroom", parse("yaw:left:60@30,static@12,yaw:right:60@30"), "full", width=160, height=96))
    encode(tmp_path / "truth.mp4", clip.frames, 16.0)
    box = ",".join(f"{value:g}" for value in subject_box(clip))
    sheet = tmp_path / "phases.csv"
    result = run("conditions", "phases", str(tmp_path / "truth.mp4"), "--box", box, "--output", str(sheet), "--clip", "Kitchen_001")
    assert result.exit_code == 0, result.output + str(result.exception)
    (row,) = list(csv.DictReader(sheet.open()))
    assert abs(int(row["d_start"]) - clip.d_start) <= 2 and abs(int(row["r_start"]) - clip.r_start) <= 2, row
    assert cv2.imread(str(tmp_path / "Kitchen_001_phases.png")).shape[1] > 600


def test_a_box_that_is_no_box_is_one_sentence(tmp_path):
    encode(tmp_path / "v.mp4", np.zeros((8, 32, 48, 3), np.uint8), 8.0)
    result = run("conditions", "phases", str(tmp_path / "v.mp4"), "--box", "1,2,3", "--output", str(tmp_path / "p.csv"))
    assert result.exit_code != 0 and "--box 1,2,3" in str(result.exception)
