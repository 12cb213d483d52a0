"""From records to what a model takes: prompts, paths, actions, and what is said about records that cannot be used."""

import json
import time
from pathlib import Path

import numpy as np
import pytest
from lookback.camera.intent import compile as compile_intent
from lookback.camera.intent import parse, preset
from lookback.camera.poses import relative_to_first, turned_yaw_deg
from lookback.cli.app import app
from lookback.conditions import build_conditions, read_conditions, read_interface
from lookback.conditions.interface import AXES, Interface, examples
from lookback.conditions.records import intent_of, spread
from lookback.errors import CannotWrite, ContractError, ParameterError, UsageError
from lookback.parity import run_released
from typer.testing import CliRunner

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
SUITE = SHARED / "clips" / "natural25"
PEER = SHARED / "peers" / "wrbench"
needs_suite = pytest.mark.skipif(not SUITE.is_dir(), reason="Natural-25 (../shared/clips) is not here")
needs_peer = pytest.mark.skipif(not PEER.is_dir(), reason="the released sources (../shared/peers) are not here")


def interface(**fields):
    return Interface(**{"model": "m", "takes": "camera-path", "image": False, **fields})


@pytest.fixture
def suite(tmp_path):
    """A little suite in Natural-25's form: one family, one event, three cameras."""
    folder = tmp_path / "suite"
    folder.mkdir()
    family = {"family_id": "kitchen_cup_tip", "scene": "a kitchen", "primary_object": {"name": "a cup"}}
    told = {"none": "", "static": " The camera holds.", "yaw_LR": " The camera goes left and comes back."}
    rows = [
        {
            "variant_id": f"kitchen_cup_tip__T0__{camera}", "family_id": "kitchen_cup_tip", "reasoning_tier": "T0",
            "oov_gap": camera, "event_delta": "none", "expected_state": "It stands.", "ti2v_prompt": f"A cup stands.{words}",
        }
        for camera, words in told.items()
    ]  # fmt: skip
    (folder / "families.jsonl").write_text(json.dumps(family) + "\n")
    (folder / "variants.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_the_camera_is_said_only_where_the_model_has_no_other_input_for_it(suite, tmp_path):
    spoken = build_conditions("wrbench", suite, interface(takes="text"), tmp_path / "a")
    shown = build_conditions("wrbench", suite, interface(), tmp_path / "b")
    assert (spoken.written, shown.written) == (3, 3) and not spoken.refused + shown.refused
    texts = {row["condition_id"]: row["prompt"] for row in read_conditions(tmp_path / "a")}
    assert texts["yaw_LR"] == "A cup stands. The camera goes left and comes back."
    assert {row["prompt"] for row in read_conditions(tmp_path / "b")} == {"A cup stands."}


def test_a_pan_is_spoken_of_as_the_turn_and_other_cameras_in_plain_words(suite, tmp_path):
    build_conditions("wrbench", suite, interface(takes="text"), tmp_path, ["pan_LR", "pitch:up:20@81"])
    texts = [row["prompt"] for row in read_conditions(tmp_path)]
    assert texts[0] == "A cup stands. The camera goes left and comes back."
    assert texts[1] == "A cup stands. The camera tilts up 20 degrees for 81 frames."


def test_paths_in_every_convention_say_the_same_motion(suite, tmp_path):
    target = compile_intent(preset("yaw_LR", 41))
    for axes, change in AXES.items():
        for matrix in ("c2w", "w2c"):
            name = f"{axes}-{matrix}"
            build_conditions("wrbench", suite, interface(model=name, axes=axes, matrix=matrix, frames=41), tmp_path, ["yaw_LR"])
            row = next(row for row in read_conditions(tmp_path) if row["model"] == name)
            poses = np.load(tmp_path / row["path"])
            poses = np.linalg.inv(poses) if matrix == "w2c" else poses
            points = np.array([[0.1, 0.2, 3.0], [-1.0, 0.5, 2.0]])  # in the camera, OpenCV's axes
            here = np.einsum("nij,kj->nki", target[:, :3, :3], points) + target[:, None, :3, 3]
            there = np.einsum("nij,kj->nki", poses[:, :3, :3], points @ change.T) + poses[:, None, :3, 3]
            np.testing.assert_allclose(there, here @ change.T, atol=1e-12)
            np.testing.assert_allclose(poses[0], np.eye(4), atol=1e-12)


def test_gains_change_what_is_delivered_and_not_what_is_asked(suite, tmp_path):
    build_conditions("wrbench", suite, interface(rotation_gain=2.0), tmp_path, ["yaw_LR"])
    (row,) = read_conditions(tmp_path)
    told = np.load(tmp_path / row["path"])
    asked = np.load((tmp_path / row["output"]).with_name(Path(row["output"]).name + ".target_c2w.npy"))
    turned = [np.degrees(np.arccos((np.trace(poses[:, :3, :3], axis1=1, axis2=2) - 1) / 2)).max() for poses in (asked, told)]
    assert turned == pytest.approx([60.0, 120.0])
    sidecar = json.loads((tmp_path / f"{row['output']}.camera.json").read_text())
    assert sidecar["yaw_peak_deg"] == 60.0 and sidecar["delivered_condition"]["rotation_gain"] == 2.0


def test_actions_add_up_to_the_request():
    intent, model = parse("yaw:left:60+dolly:forward:2@21,static@5,yaw:right:60@20"), interface()
    steps = model.steps(intent)
    assert steps.shape == (46, 6) and not steps[21:26].any()
    np.testing.assert_allclose(steps[:21].sum(axis=0), [-60, 0, 0, 0, 0, 2], atol=1e-9)
    np.testing.assert_allclose(steps.sum(axis=0), [0, 0, 0, 0, 0, 2], atol=1e-9)
    tokens = model.tokens(intent)
    assert tokens[0] == "yaw_left+dolly_forward" and tokens[22] == "hold" and tokens[-1] == "yaw_right" and len(tokens) == 46


def test_a_motion_of_one_frame_is_one_step_of_its_full_amount():
    steps = interface().steps(parse("static@40,yaw:left:10@1,yaw:left:5+yaw:left:5@6"))
    turned = turned_yaw_deg(compile_intent(parse("static@40,yaw:left:10@1,yaw:left:10@6")))
    np.testing.assert_allclose(np.cumsum(steps[:, 0]), turned, atol=1e-9)
    assert steps[40, 0] == -10
    np.testing.assert_array_equal(interface().steps(parse("dolly:forward:1@1,static@2"))[:, 5], [1, 0, 0])


def test_a_cameractrl_file_begins_with_a_line_that_its_readers_skip(suite, tmp_path):
    """CameraCtrl's inference.py, and every program after it, takes `readlines()[1:]`: a link to the source stands first."""
    build_conditions("wrbench", suite, interface(file="cameractrl", frames=41), tmp_path, ["yaw_LR"])
    lines = (tmp_path / read_conditions(tmp_path)[0]["path"]).read_text().splitlines()
    rows = np.array([[float(word) for word in line.strip().split(" ")] for line in lines[1:]])
    assert rows.shape == (41, 19) and rows[:, 0].tolist() == list(range(41))
    w2c = rows[:, 7:].reshape(-1, 3, 4)
    np.testing.assert_allclose(w2c, np.linalg.inv(compile_intent(preset("yaw_LR", 41)))[:, :3], atol=1e-8)
    np.testing.assert_array_equal(np.loadtxt(lines), rows)  # readers that skip comments get the same


def test_a_given_path_is_delivered_with_the_gains_as_a_request_is():
    model = interface(rotation_gain=1.5, translation_gain=2.0)
    request = parse("yaw:left:60+dolly:forward:2@40,static@5,yaw:right:80+pan:left:1@40")
    told = model.delivered_path(compile_intent(request))
    np.testing.assert_allclose(told, compile_intent(model.delivered(request)), atol=1e-9)
    np.testing.assert_allclose(interface().delivered_path(told), told, atol=1e-9)
    elsewhere = compile_intent(parse("yaw:right:30+crane:up:1@1"))[0]  # a path that begins somewhere keeps its first pose
    moved = model.delivered_path(elsewhere @ compile_intent(request))
    np.testing.assert_allclose(moved[0], elsewhere, atol=1e-12)
    np.testing.assert_allclose(relative_to_first(moved), told, atol=1e-9)


def test_a_motion_that_the_model_has_no_action_for_is_one_line(suite, tmp_path):
    model = interface(takes="discrete-actions", actions={"hold": "-", "yaw_left": "l", "yaw_right": "r"})
    built = build_conditions("wrbench", suite, model, tmp_path, ["yaw_LR", "pan_LR"])
    assert built.written == 1 and len(built.refused) == 1
    assert "the model has no action for 'pan_left'" in built.refused[0] and "\n" not in built.refused[0]
    assert set(json.loads((tmp_path / read_conditions(tmp_path)[0]["actions"]).read_text())["actions"]) == {"l", "r"}


def test_a_script_is_spread_over_the_frames_of_the_model():
    intent = intent_of("yaw:left:60@40,static@10,yaw:right:60@50", 33)
    assert intent.frames == 33 and [part.frames for part in intent.segments] == [13, 3, 17]
    assert spread(intent, 33) is intent
    assert [part.frames for part in intent_of("yaw:left:60@10,yaw:right:60@10", 81).segments] == [40, 41]  # as in a preset


@pytest.mark.parametrize(
    ("camera", "frames", "shares"),
    [
        ("yaw:left:60@40,static@1,yaw:right:60@40", 16, [7, 1, 8]),
        ("yaw:left:60@1,static@1,yaw:right:60@98", 3, [1, 1, 1]),
        ("static@1,yaw:left:9@1,static@1,yaw:right:9@997", 10, [1, 1, 1, 7]),
    ],
)
def test_a_short_segment_keeps_a_frame_and_a_path_has_a_pose_per_frame(camera, frames, shares):
    intent = intent_of(camera, frames)
    assert [part.frames for part in intent.segments] == shares
    assert len(compile_intent(intent)) == frames


def test_a_camera_with_more_segments_than_frames_is_refused_in_a_sentence():
    with pytest.raises(ParameterError, match="3 segments for 2 frames; use fewer"):
        intent_of("yaw:left:60@40,static@1,yaw:right:60@40", 2)


@pytest.mark.parametrize(
    ("actions", "cameras", "condition", "camera"),
    [
        (["left"] * 20 + ["wait"] * 10 + ["right"] * 10, [], "actions_2s", "yaw:left:60@8,static@4,yaw:right:60@4"),
        ("left_then_right", [], "left_then_right_2s", "yaw:left:60@8,yaw:right:60@8"),
        ("left", ["left_then_right_2.5s"], "left_then_right_2.5s", "yaw:left:60@8,yaw:right:60@8"),
    ],
)
def test_an_mbench_action_is_a_name_with_or_without_a_length_or_a_word_per_frame(actions, cameras, condition, camera, tmp_path):
    sample = tmp_path / "samples" / "causal" / "s1" / "sample.json"
    sample.parent.mkdir(parents=True)
    (tmp_path / "dataset.yaml").write_text("dataset_id: mbencha\n")
    told = {"sample_id": "s1", "subset": "causal", "metadata": {"caption": "A cup."}, "annotations": {"action": actions}}
    sample.write_text(json.dumps(told))
    interface = Interface(model="m", takes="camera-path", image=False, frames=16, fps=8)
    built = build_conditions("mbench", tmp_path, interface, tmp_path / "out", cameras)
    assert built.refused == []
    (row,) = read_conditions(tmp_path / "out")
    assert (row["condition_id"], row["camera"]) == (condition, camera)
    assert len(np.load(tmp_path / "out" / row["path"])) == 16


def test_captions_that_do_not_say_which_way_the_camera_goes_are_for_models_that_read_them(tmp_path):
    sample = tmp_path / "samples" / "causal" / "s1" / "sample.json"
    sample.parent.mkdir(parents=True)
    (tmp_path / "dataset.yaml").write_text("dataset_id: mbencht\n")
    captions = ["A man walks.", "The camera follows the man."]
    sample.write_text(json.dumps({"sample_id": "s1", "subset": "causal", "metadata": {"caption_segments": captions}}))
    text, path = (Interface(model=takes, takes=takes, image=False, frames=16, fps=8) for takes in ("text", "camera-path"))
    assert build_conditions("mbench", tmp_path, text, tmp_path / "out").refused == []
    (row,) = read_conditions(tmp_path / "out")
    assert row["prompt"] == " ".join(captions)
    (refused,) = build_conditions("mbench", tmp_path, path, tmp_path / "other").refused
    assert "The camera follows the man" in refused and refused.endswith("use an interface that takes text or text+image")


def test_bad_records_are_one_line_each_and_the_rest_goes_on(suite, tmp_path):
    lines = (suite / "variants.jsonl").read_text().splitlines()
    bad = json.loads(lines[0]) | {"variant_id": "kitchen_cup_tip__T0__fly", "oov_gap": "fly"}
    (suite / "variants.jsonl").write_text("\n".join([*lines, json.dumps(bad)]) + "\n")
    built = build_conditions("wrbench", suite, interface(), tmp_path)
    assert built.written == 3 and len(built.refused) == 1 and "'fly'" in built.refused[0]


def test_two_models_share_a_folder_and_a_second_call_replaces_only_its_own_lines(suite, tmp_path):
    for name in ("a", "b", "a"):
        build_conditions("wrbench", suite, interface(model=name), tmp_path, ["yaw_LR"] if name == "a" else [])
    assert [row["model"] for row in read_conditions(tmp_path)] == ["b", "b", "b", "a"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("takes: telepathy\nmodel: m\n", "takes"),
        ("model: m\ntakes: text\nframes: 1\n", "frames"),
        ("model: ../x\ntakes: text\n", "model"),
    ],
)
def test_a_wrong_interface_is_one_sentence(tmp_path, text, problem):
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(ParameterError, match=problem):
        read_interface(str(tmp_path / "m.yaml"))


def test_interfaces_of_the_package_are_valid_and_unknown_names_get_a_hint():
    assert {read_interface(name).takes for name in examples()} == {
        "text", "text+image", "camera-path", "discrete-actions", "continuous-actions",
    }  # fmt: skip
    with pytest.raises(UsageError, match="camera-path"):
        read_interface("camera-pth")


def test_a_folder_without_records_says_so(tmp_path):
    (tmp_path / "empty").mkdir()
    result = CliRunner().invoke(
        app, ["conditions", "make", str(tmp_path / "empty"), "--output", str(tmp_path / "o"), "--interface", "text"]
    )
    assert isinstance(result.exception, UsageError) and "holds no benchmark's records" in str(result.exception)
    with pytest.raises(UsageError, match="conditions make"):
        read_conditions(tmp_path / "empty")


@needs_suite
def test_natural25_becomes_text_path_and_action_conditions_in_seconds(tmp_path):
    started = time.process_time()
    for name in ("text", "camera-path", "discrete-actions", "continuous-actions"):
        assert build_conditions("wrbench", SUITE, read_interface(name), tmp_path).written == 400
    assert time.process_time() - started < 60
    rows = read_conditions(tmp_path)
    assert len(rows) == 1600 and len({(row["model"], row["clip_id"]) for row in rows}) == 1600
    assert len({row["scene"] for row in rows}) == 25


@needs_suite
def test_the_table_of_25_scenes_and_4_events_gives_400_records(tmp_path):
    built = build_conditions("wrbench", SUITE / "scene_events_25x4.csv", read_interface("text"), tmp_path)
    assert built.written == 400 and not built.refused


@needs_peer
def test_texts_are_those_of_the_released_library(tmp_path):
    """Every variant in words, and every canonical camera of the text-only track without the camera."""
    suite = PEER / "src" / "wrbench" / "data" / "natural25"
    driver = """
from wrbench.prompts.task import generate_variants_deterministic
from wrbench.datasets import (build_natural25_candidates, load_natural25_families, load_jsonl, natural25_variants_path,
    resolve_variant_prompt)
give("ids", [row["variant_id"] for row in load_jsonl(natural25_variants_path())])
give("prompts", [resolve_variant_prompt(row) for row in load_jsonl(natural25_variants_path())])
bare = [row for row in load_jsonl(natural25_variants_path()) if row["oov_gap"] == "none"]
give("bare", [row["variant_id"] for row in bare])
give("text_only", [resolve_variant_prompt(row, prompt_profile="t2v_layout_anchor") for row in bare])
"""
    theirs = run_released(PEER, driver, folders=("src",))
    assert not theirs.note("prompts"), theirs.note("prompts")
    expected = dict(zip(theirs.arrays["ids"].tolist(), theirs.arrays["prompts"].tolist(), strict=True))
    build_conditions("wrbench", suite, interface(takes="text+image"), tmp_path / "spoken")
    ours = {row["clip_id"]: row["prompt"] for row in read_conditions(tmp_path / "spoken")}
    assert len(ours) == 400 and ours == expected
    build_conditions("wrbench", suite, interface(takes="text"), tmp_path / "words")
    words = {row["clip_id"]: row["prompt"] for row in read_conditions(tmp_path / "words")}
    alone = dict(zip(theirs.arrays["bare"].tolist(), theirs.arrays["text_only"].tolist(), strict=True))
    assert len(alone) == 100 and all(words[name] == text for name, text in alone.items())


@needs_peer
def test_paths_are_those_of_the_released_library(tmp_path):
    """Every canonical camera at several lengths: the released compiler and ours give the same poses."""
    driver = """
import wrbench
from wrbench.benchmark import NATURAL25_CAMERA_COMBOS
give("names", list(NATURAL25_CAMERA_COMBOS))
for name in NATURAL25_CAMERA_COMBOS:
    for frames in (49, 81, 121):
        script = wrbench.presets.build_preset(name, frames=frames)
        attempt(f"{name}-{frames}", lambda: wrbench.build_camera_trajectory(script, width=832, height=480).to_c2w())
"""
    theirs = run_released(PEER, driver, folders=("src",))
    names = theirs.arrays["names"].tolist()
    assert sorted(names) == ["pan_LR", "pan_RL", "static", "yaw_LR", "yaw_RL"]
    for name in names:
        for frames in (49, 81, 121):
            assert not theirs.note(f"{name}-{frames}"), theirs.note(f"{name}-{frames}")
            ours = compile_intent(intent_of(name, frames))
            np.testing.assert_allclose(ours, theirs.arrays[f"{name}-{frames}"], atol=2e-6, err_msg=f"{name} {frames}")


def test_contract_errors_name_the_line(tmp_path):
    (tmp_path / "conditions.jsonl").write_text('{"model": "m"}\n')
    with pytest.raises(ContractError, match=r"conditions\.jsonl:1: 'benchmark': field required"):
        read_conditions(tmp_path)


def called(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_call_that_makes_nothing_leaves_what_was_made_before(suite, tmp_path):
    build_conditions("wrbench", suite, interface(), tmp_path)
    before = read_conditions(tmp_path)
    (suite / "variants.jsonl").write_text('{"variant_id": "x__T0__none", "family_id": "nobody"}\n')
    result = called("conditions", "make", suite, "--output", tmp_path, "--interface", "camera-path")
    assert result.exit_code == 1 and "next:" not in result.output
    assert read_conditions(tmp_path) == before


def test_a_wrong_camera_is_said_once_and_a_place_that_cannot_be_written_in_a_sentence(suite, tmp_path):
    with pytest.raises(ParameterError, match="nonsense"):
        build_conditions("wrbench", suite, interface(), tmp_path, ["nonsense"])
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="file"):
        build_conditions("wrbench", suite, interface(), tmp_path / "file")


def test_first_frames_that_are_not_there_are_counted(suite, tmp_path):
    built = build_conditions("wrbench", suite, interface(image=True), tmp_path)
    assert [Path(name).name for name in built.missing_images] == ["kitchen_cup_tip.png"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model: a/b\ntakes: text", "A-Za-z"),
        ("- 1", "list of names and values"),
        ("model: m\ntakes: discrete-actions\nactions: {yaw_lft: a}", "did you mean 'yaw_left'"),
    ],
)
def test_a_wrong_interface_is_refused_in_plain_words(text, says, tmp_path):
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(ParameterError, match=says):
        read_interface(str(tmp_path / "m.yaml"))
