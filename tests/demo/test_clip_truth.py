"""What a clip says about itself agrees with its pixels: masks, visibility, phases, events, determinism."""

import numpy as np
import pytest
from lookback.artifacts.masks import unpack_masks
from lookback.camera.intent import parse, preset
from lookback.demo.clip import VISIBLE, phases, render_clip
from lookback.demo.filming import SUBJECT, camera_for, renderer_for
from lookback.demo.scenes import SCENES, load_scene
from lookback.demo.spec import ClipSpec
from lookback.demo.truth import event_share, shown_state, write_record
from lookback.errors import UsageError


def test_scenes_cover_subsets_indoor_and_outdoor():
    scenes = [load_scene(name) for name in SCENES]
    assert len(scenes) >= 8
    assert {scene.subset for scene in scenes} == {"human", "object", "environment", "causal"}
    assert {scene.outdoor for scene in scenes} == {True, False}
    assert sum(set(scene.events) == {"none", "spatial", "state", "full"} for scene in scenes) >= 4, (
        "the 2x2 design needs several families"
    )


@pytest.mark.parametrize("name", sorted(SCENES))
def test_subject_leaves_and_returns_under_a_sixty_degree_yaw(name, spec):
    clip = render_clip(spec(name, frames=14))
    assert clip.visibility[0] > 0.6
    assert clip.visibility[6:8].max() < VISIBLE
    assert clip.returns and clip.visibility[-1] == pytest.approx(clip.visibility[0], abs=0.02)
    np.testing.assert_array_equal(clip.frames[0], clip.frames[-1])


@pytest.mark.parametrize("yaw", [60, 120, 180, 240, 300])
@pytest.mark.parametrize("name", ["study", "courtyard", "bar"])
def test_the_world_goes_on_all_around(name, yaw):
    turn = parse(f"yaw:right:{yaw}@2")
    clip = render_clip(ClipSpec(name, turn, width=160, height=96))
    assert (clip.parts[1] > 0).mean() > 0.999, "no hole in the surroundings"
    grey = clip.frames[1].astype(float).mean(axis=-1)
    assert np.hypot(*np.gradient(grey)).mean() > 1.5, "enough texture to track"


def test_masks_agree_with_visibility(faithful):
    area = (faithful.parts == SUBJECT).sum(axis=(1, 2))
    assert ((area == 0) == (faithful.visibility == 0)).all()
    inside = faithful.visibility > 0.99
    assert inside[0] and area[inside].min() > 0.5 * area[0]
    assert np.corrcoef(area, faithful.visibility)[0, 1] > 0.95


def test_phases_agree_with_masks(faithful):
    area = (faithful.parts == SUBJECT).sum(axis=(1, 2))
    d, r = faithful.d_start, faithful.r_start
    assert (area[:d] > 0).all() and (area[d:r] < 0.1 * area[0]).all() and (area[r:] > 0).all()


@pytest.mark.parametrize(
    ("visibility", "expected"),
    [
        ([1, 0.5, 0.0, 0.0, 0.6, 1], (2, 4)),
        ([1, 1, 1], (None, None)),
        ([1, 0.01, 0, 0], (1, None)),
        ([0, 0, 1], (None, None)),
        ([1, 0.04, 0.05, 1], (1, 2)),
    ],
)
def test_phases_of_known_timelines(visibility, expected):
    assert phases(np.array(visibility, float)) == expected


EVENTS = [(name, level) for name in sorted(SCENES) for level in load_scene(name).events]


@pytest.mark.parametrize(("name", "level"), EVENTS)
def test_events_reach_their_recorded_end_state(name, level, spec):
    clip = render_clip(spec(name, event=level, frames=8))
    scene = load_scene(name)
    event = scene.events[level]
    assert clip.state[0] == 0 and clip.state[-1] == (1.0 if level in ("state", "full") else 0.0)
    np.testing.assert_allclose(clip.position[-1] - clip.position[0], event.move, atol=1e-12)
    assert any(event.move) == (level in ("spatial", "full"))
    assert clip.visibility[-1] > 0.3, "the end state can be seen on return"
    assert shown_state(clip) == event.expected_state
    changed = np.abs(clip.frames[-1].astype(int) - clip.frames[0]).mean()
    assert changed == 0 if level == "none" else changed > 0.3
    assert event_share(clip) is None if level == "none" else event_share(clip) == pytest.approx(1.0)


def test_an_event_goes_on_while_the_subject_is_away(spec):
    clip = render_clip(spec("dining", event="state", frames=40))
    assert 0 < clip.state[clip.d_start] < clip.state[clip.r_start] == 1.0


def test_same_spec_same_bytes_with_and_without_shared_pictures(spec):
    wrong = spec("kitchen", event="full", failure="state_reset", severity=0.5, frames=10)
    render_clip(wrong.faithful())
    shared = render_clip(wrong)
    camera_for.cache_clear()
    renderer_for.cache_clear()
    alone = render_clip(wrong)
    for name in ("frames", "depth", "parts", "c2w", "visibility", "state"):
        assert getattr(shared, name).tobytes() == getattr(alone, name).tobytes(), name


def test_seed_changes_camera_and_light(spec):
    a, b = render_clip(spec(frames=4)), render_clip(spec(frames=4, seed=8))
    assert not np.array_equal(a.c2w, b.c2w)
    assert not np.array_equal(a.frames, b.frames)


def test_u_turn_sees_the_robot_from_behind():
    path = parse("dolly:forward:5.5+pan:right:0.6@14,yaw:right:180@14,dolly:forward:0.2@8")
    clip = render_clip(ClipSpec("courtyard", path, "spatial", width=160, height=96))
    assert clip.d_start < 14 < clip.r_start
    assert clip.visibility[-1] > 0.8


def test_third_person_figure_stays_in_view():
    clip = render_clip(ClipSpec("plaza", preset("yaw_LR", frames=9), width=160, height=96, third_person=True))
    figure = clip.part_names.index("figure")
    assert ((clip.parts == figure).sum(axis=(1, 2)) > 100).all()


def test_record_holds_what_was_rendered(tmp_path, faithful):
    write_record(tmp_path / "a.npz", faithful)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as record:
        np.testing.assert_array_equal(unpack_masks(record["subject_mask"], int(record["width"])), faithful.parts == SUBJECT)
        np.testing.assert_array_equal(record["c2w"], faithful.c2w)
        np.testing.assert_array_equal(record["visibility"], faithful.visibility)


def test_unknown_names_are_usage_errors(spec):
    with pytest.raises(UsageError, match="did you mean 'kitchen'"):
        render_clip(spec("kitchn"))
    with pytest.raises(UsageError, match="has no event 'state'"):
        render_clip(spec("plaza", event="state"))
