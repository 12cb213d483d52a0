"""The camera request: WRBench's grammar and presets, MBench's actions and captions, MIND's axes, and back."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lookback.benchmarks.mind import actions as mind_actions
from lookback.benchmarks.wrbench import sidecar
from lookback.camera import intent as ci
from lookback.camera import poses, text
from lookback.camera.requests import read_request
from lookback.errors import ParameterError


def motions():
    return st.sampled_from([(k, d) for k, ds in ci.SIGNS.items() for d in ds]).flatmap(
        lambda kd: st.floats(0.01, 170).map(lambda amount: ci.Motion(*kd, amount))
    )


def segments():
    combined = st.lists(motions(), max_size=3, unique_by=lambda m: m.kind).map(tuple)
    return st.builds(ci.Segment, combined, st.integers(2, 40))


intents = st.builds(ci.CameraIntent, st.lists(segments(), min_size=1, max_size=5).map(tuple))


@given(intents)
@settings(max_examples=60)
def test_grammar_round_trip(intent):
    assert ci.parse(ci.to_grammar(intent)).segments == intent.segments


def test_a_segment_without_frames_has_no_path():
    with pytest.raises(ParameterError, match="0 frames"):
        ci.compile(ci.CameraIntent((ci.Segment((), 4), ci.Segment((), 0))))


@given(intents)
@settings(max_examples=60)
def test_compile_gives_valid_poses_that_start_at_the_identity(intent):
    path = poses.validate_poses(ci.compile(intent))
    assert len(path) == intent.frames
    np.testing.assert_allclose(path[0], np.eye(4), atol=1e-12)


@given(intents)
@settings(max_examples=40)
def test_reversed_request_retraces_the_path(intent):
    back = tuple(ci.Segment(tuple(m.reversed() for m in s.motions), s.frames) for s in reversed(intent.segments))
    path = ci.compile(ci.CameraIntent(intent.segments + back))
    np.testing.assert_allclose(path[: intent.frames], path[intent.frames :][::-1], atol=1e-7)


def test_preset_yaw_is_the_published_script():
    assert ci.to_grammar(ci.preset("yaw_LR")) == "yaw:left:60@40,yaw:right:60@41"
    assert ci.preset("yaw_RL").segments[0].motions[0].direction == "right"


def test_yaw_left_is_negative_and_a_positive_peak_is_rl():
    for name, sign in (("yaw_LR", -1), ("yaw_RL", 1)):
        yaw = poses.yaw_deg(ci.compile(ci.preset(name)))
        peak = yaw[np.argmax(np.abs(yaw))]
        assert peak == pytest.approx(sign * 60.0)
        assert yaw[-1] == pytest.approx(0.0, abs=1e-9)


def test_half_amplitude_reference_vector():
    """WRBench: half the amplitude of yaw LR 60 deg in 81 frames has a mean rotation error of 15 deg, score 0.7165."""
    target, half = ci.compile(ci.preset("yaw_LR")), ci.compile(ci.preset("yaw_LR", degrees=30))
    error = poses.rotation_angle_deg(target, half).mean()
    assert error == pytest.approx(15.0)
    assert np.exp(-error / 45) == pytest.approx(0.7165, abs=5e-5)


def test_pan_moves_sideways_and_dolly_follows_the_heading():
    path = ci.compile(ci.parse("pan:right:0.5@10"))
    np.testing.assert_allclose(path[-1, :3, 3], [0.5, 0, 0], atol=1e-12)
    path = ci.compile(ci.parse("yaw:right:90@10,dolly:forward:2@10"))
    np.testing.assert_allclose(path[-1, :3, 3], [2, 0, 0], atol=1e-12)
    path = ci.compile(ci.parse("crane:up:1@5"))
    np.testing.assert_allclose(path[-1, :3, 3], [0, -1, 0], atol=1e-12)


def test_yaw_and_dolly_at_once_draw_an_arc():
    path = ci.compile(ci.parse("yaw:right:90+dolly:forward:3.14159265@400"))
    np.testing.assert_allclose(path[-1, :3, 3], [2, 0, 2], atol=1e-4)  # quarter circle of radius 2


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("spin:left:60@40", "'spin' is unknown; valid kinds are yaw, pitch, roll"),
        ("yaw:up:60@40", "'yaw' cannot go 'up'; valid directions are left and right"),
        ("yaw:left:sixty@40", "'sixty'"),
        ("yaw:left:60@4x", "'4x' frames"),
        ("yaw:left:60", "'yaw:left:60'.*valid kinds"),
        ("yaw:left:inf@40", "'yaw:left' needs a number"),
        ("yaw:left:60@0", "'0' frames"),
        ("yaw:left@40", "'yaw:left' is not kind:direction:value"),
        ("", "empty"),
    ],
)
def test_parse_errors_name_the_bad_token(script, words):
    with pytest.raises(ParameterError, match=words):
        ci.parse(script)


def test_unknown_preset_lists_the_valid_ones():
    with pytest.raises(ParameterError, match="static, yaw_LR"):
        ci.preset("spiral")
    with pytest.raises(ParameterError, match="too short"):
        ci.preset("orbit", 1)


def test_the_released_rule_composes_turns_as_written_and_travels_along_the_first_frames_axes():
    """Read off the released program: roll left is +z, a turn acts in the camera's own frame, a dolly ignores the yaw."""
    z_turn = ci.compile(ci.parse("roll:left:90@2"), "released")[-1, :3, :3]
    np.testing.assert_allclose(z_turn, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)
    path = ci.compile(ci.parse("pitch:up:90@2,yaw:right:90+dolly:forward:2@3"), "released")
    np.testing.assert_allclose(path[-1, :3, :3], [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(path[-1, :3, 3], [0, 0, 2], atol=1e-12)
    assert ci.to_grammar(ci.preset("orbit", 5)) == "yaw:left:60+pan:right:0.5@2,yaw:right:60+pan:left:0.5@3"
    assert ci.to_grammar(ci.preset("arc_RL", 4)) == "yaw:right:60+dolly:forward:1@2,yaw:left:60+dolly:back:1@2"
    one = ci.compile(ci.parse("yaw:left:30@1"), "released")
    assert poses.yaw_deg(np.concatenate([np.eye(4)[None], one]))[-1] == pytest.approx(-30.0)  # at its full amount at once


@pytest.mark.parametrize(
    ("condition", "grammar"),
    [
        ("left_then_right_25s", "yaw:left:60@40,yaw:right:60@41"),
        ("forward_then_backward_10s", "dolly:forward:1.5@40,dolly:back:1.5@41"),
        ("right_then_wait_then_left_25s", "yaw:right:60@27,static@27,yaw:left:60@27"),
        ("up_then_down_5s", "pitch:up:60@40,pitch:down:60@41"),
    ],
)
def test_mbench_action_conditions(condition, grammar):
    intent = text.parse_action(condition)
    assert ci.to_grammar(intent) == grammar
    assert intent.name == condition


def test_unknown_action_word_is_named():
    with pytest.raises(ParameterError, match="'jump'; valid are left, right"):
        text.parse_action("jump_then_right_25s")


def test_five_captions_round_trip():
    intent = ci.parse("static@16,yaw:left:60@16,static@16,yaw:right:60@16,static@17")
    captions = text.to_captions(intent)
    assert captions[1] == "The camera turns left 60 degrees."
    assert text.parse_captions(captions).segments == intent.segments


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("The camera slowly moves left until he is out of frame, revealing more empty floor space.", ("yaw", "left", 60)),
        ("The camera moves right back to the original framing.", ("yaw", "right", 60)),
        ("The camera then pans back to the right, and the glass re-enters the frame.", ("yaw", "right", 60)),
        ("The camera smoothly pans to the left by 45 degrees.", ("yaw", "left", 45)),
        ("The camera tilts up. A bird sings.", ("pitch", "up", 60)),
        ("The camera dollies back 2 units.", ("dolly", "back", 2)),
        ("The camera slides right 0.5 units.", ("pan", "right", 0.5)),
    ],
)
def test_captions_of_the_papers(caption, expected):
    assert text.parse_caption(caption) == [(ci.Motion(*expected),)]


def test_captions_without_a_camera_move_hold_still():
    assert text.parse_caption("The camera remains fixed in place throughout, with no movement.") == [()]
    assert text.parse_caption("The woman turns left and leaves.") == []
    assert text.parse_caption("The camera holds still while the woman turns left.") == [()]


@pytest.mark.parametrize(
    ("caption", "kind", "direction"),
    [
        ("The camera pans left while the dog sits still.", "yaw", "left"),
        ("As the camera returns to the right, the cup is still on the table.", "yaw", "right"),
        ("The camera turns in place to the right.", "yaw", "right"),
        ("The camera pushes in slowly.", "dolly", "in"),
    ],
)
def test_what_others_do_is_not_asked_of_the_camera(caption, kind, direction):
    ((found,),) = text.parse_caption(caption)
    assert (found.kind, found.direction) == (ci.motion(kind, direction, 1).kind, ci.motion(kind, direction, 1).direction)


def test_captions_go_on_from_those_before_them_and_share_the_frames_of_their_segment():
    captions = ["The camera pans left.", "A dog runs.", "The camera returns to its start.", "The camera tilts up and then down."]
    turns = "yaw:left:60@20,static@20,yaw:right:60@20,pitch:up:60@10,pitch:down:60@10"
    assert ci.to_grammar(text.parse_captions(captions, 80)) == turns


def test_a_caption_that_does_not_say_which_way_is_refused_with_its_words():
    with pytest.raises(ParameterError, match=r"'The camera pans back and forth\.' moves the camera, but not in one known way"):
        text.parse_captions(["The camera pans left.", "The camera pans back and forth."])


def test_plain_sentence():
    assert text.to_text(ci.preset("yaw_LR")) == (
        "The camera turns left 60 degrees for 40 frames, then turns right 60 degrees for 41 frames."
    )


@pytest.mark.parametrize("convention", mind_actions.CONVENTIONS)
def test_mind_rows_name_the_actions_of_every_frame(convention):
    intent = ci.parse("dolly:forward:0.9+yaw:right:18@10,static@4,pan:left:0.4@5,pitch:down:6@4,dolly:back:0.9+yaw:left:18@10")
    rows = mind_actions.to_mind(intent, convention)
    names = [("forward+look_right", 10), ("no_op", 4), ("left", 5), ("look_down", 4), ("backward+look_left", 10)]
    assert [mind_actions.action_name(row, convention) for row in rows] == [name for name, count in names for _ in range(count)]
    assert [row["time"] for row in rows] == list(range(intent.frames))


def test_mind_convention_is_detected_by_a_two():
    rows = mind_actions.to_mind(ci.parse("yaw:right:10@5"), "code")
    assert rows[0]["lr"] == 2
    assert mind_actions.detect_convention(rows) == "code"
    assert mind_actions.detect_convention([{"ws": 0, "lr": 1}]) == "readme"


def test_mind_has_no_axis_for_roll():
    with pytest.raises(ParameterError, match="no action axis for 'roll'"):
        mind_actions.to_mind(ci.parse("roll:left:5@5"))


def test_sidecar_names_files_and_profile():
    intent = ci.preset("yaw_RL")
    side = sidecar.to_sidecar(intent, "clip.mp4", fps=16, width=320, height=192, fov=60.0)
    assert json.loads(json.dumps(side)) == side
    assert side["target_coordinate_convention"] == "opencv_c2w"
    assert (side["control_direction"], side["control_family"], side["control_profile"]) == ("yaw_RL", "rotation", "canonical_60deg")
    assert side["target_pose_path"] == "clip.mp4.target_c2w.npy"
    assert (side["num_frames"], side["image_size"]) == (81, [320, 192])
    assert ci.parse(side["frame_action_script"]).segments == intent.segments


def test_sidecar_of_a_smaller_yaw_is_diagnostic():
    side = sidecar.to_sidecar(ci.preset("yaw_LR", degrees=30), "a.mp4", 16, 320, 192, 60.0)
    assert side["control_profile"] == "diagnostic_30deg"


def test_trajectory_repeats_the_intrinsics_per_frame():
    intent = ci.preset("pan_LR", frames=9)
    matrix = np.array([[200.0, 0, 160], [0, 200, 96], [0, 0, 1]])
    out = sidecar.to_trajectory(intent, ci.compile(intent), matrix, 16)
    assert np.asarray(out["intrinsics"]).shape == (9, 3, 3)
    np.testing.assert_allclose(out["c2w"], ci.compile(intent))
    assert sidecar.fov_deg(matrix, 320) == pytest.approx(np.degrees(2 * np.arctan(0.8)))


def test_a_sidecar_names_a_turn_beyond_half_a_circle():
    written = sidecar.to_sidecar(ci.preset("yaw_LR", degrees=270), "v.mp4", 16.0, 320, 180, 60.0)
    assert written["control_profile"] == "diagnostic_270deg"


def test_a_mistyped_preset_leads_to_the_preset():
    with pytest.raises(ParameterError, match="did you mean 'yaw_LR'"):
        read_request("Yaw_LR", 81)
