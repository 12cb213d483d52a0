"""Every failure: nothing at severity 0, more with more severity, at the right time, and what its name says."""

from functools import cache

import numpy as np
import pytest
from lookback.camera.poses import rotation_angle_deg, yaw_deg
from lookback.demo.clip import render_clip
from lookback.demo.failures import FAILURES, model_name
from lookback.demo.filming import SUBJECT, TWIN, make_context
from lookback.demo.truth import shown_state
from lookback.errors import UsageError

pytestmark = pytest.mark.long

NAMES = [name for name in FAILURES if name != "none"]
CAMERA = ("camera_inactivity", "wrong_direction", "camera_drift", "hard_cut")
WHOLE_CLIP = ("camera_inactivity", "wrong_direction", "camera_drift", "event_never_starts", "subject_dragged")

# where each failure shows best: scene, event, camera
DEMONSTRATIONS: dict[str, tuple[str, str, str]] = {
    "camera_inactivity": ("courtyard", "none", "yaw_LR"),
    "wrong_direction": ("courtyard", "none", "yaw_LR"),
    "camera_drift": ("gallery", "none", "yaw_LR"),
    "hard_cut": ("plaza", "none", "yaw_LR"),
    "object_vanishes": ("playroom", "none", "yaw_LR"),
    "identity_drift": ("study", "none", "yaw_LR"),
    "texture_drift": ("garage", "none", "yaw_RL"),
    "state_reset": ("dining", "state", "yaw_LR"),
    "event_never_starts": ("kitchen", "state", "yaw_LR"),
    "teleport": ("courtyard", "none", "yaw_LR"),
    "duplicate": ("plaza", "none", "yaw_LR"),
    "subject_dragged": ("study", "none", "yaw_LR"),
    "background_hallucination": ("office", "none", "yaw_LR"),
    "lighting_shift": ("gallery", "none", "yaw_LR"),
    "style_shift": ("plaza", "none", "yaw_LR"),
    "ghosting": ("courtyard", "none", "yaw_LR"),
    "geometric_melt": ("gallery", "none", "yaw_LR"),
}


rendered = cache(render_clip)  # several tests look at the same clip


def task(spec, name, severity, frames=12):
    scene, event, camera = DEMONSTRATIONS[name]
    return spec(scene, camera, event, name, severity, frames)


def test_every_failure_of_the_papers_is_there():
    assert set(NAMES) == set(DEMONSTRATIONS)
    assert len(NAMES) == 17


@pytest.mark.parametrize("name", NAMES)
def test_severity_zero_is_the_faithful_clip_byte_for_byte(name, spec):
    nothing = task(spec, name, 0.0)
    wrong, right = render_clip(nothing), rendered(nothing.faithful())
    for field in ("frames", "depth", "parts", "c2w", "visibility", "state", "position"):
        assert getattr(wrong, field).tobytes() == getattr(right, field).tobytes(), field


@pytest.mark.parametrize("name", NAMES)
def test_more_severity_changes_more(name, spec):
    right = rendered(task(spec, name, 0.0).faithful())
    clips = [rendered(task(spec, name, severity)) for severity in (0.25, 0.5, 1.0)]
    if name in CAMERA:
        errors = [rotation_angle_deg(right.c2w, clip.c2w).sum() for clip in clips]
        assert errors == sorted(errors) and errors[0] > 1.0
        return  # how far a turned view differs in pixels depends on what stands there
    if name == "teleport":
        jumps = [np.linalg.norm(clip.position[-1] - right.position[-1]) for clip in clips]
        assert jumps == sorted(jumps) and jumps[0] > 0.1
        return  # two places that no longer overlap differ in as many pixels, however far apart
    pixels = [np.abs(clip.frames.astype(int) - right.frames).mean() for clip in clips]
    assert pixels[0] > 0
    assert pixels[0] <= pixels[1] * 1.02 and pixels[1] <= pixels[2] * 1.02, pixels


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WHOLE_CLIP])
def test_failures_act_after_the_subject_has_left(name, spec):
    wrong = task(spec, name, 1.0)
    onset = np.argmax([make_context(wrong).weight(frame) > 0 for frame in range(wrong.frames)])
    right, clip = rendered(wrong.faithful()), rendered(wrong)
    assert right.d_start <= onset <= right.r_start
    np.testing.assert_array_equal(clip.frames[:onset], right.frames[:onset])
    assert not np.array_equal(clip.frames[-1], right.frames[-1])


@pytest.mark.parametrize("name", ["lighting_shift", "object_vanishes", "style_shift", "teleport"])
def test_without_an_absence_a_failure_fades_in_during_the_second_half(name, spec):
    still = spec("garage", "static", "none", name, 1.0, 16)
    right, clip = rendered(still.faithful()), rendered(still)
    change = np.abs(clip.frames.astype(int) - right.frames).mean(axis=(1, 2, 3))
    assert (change[:8] == 0).all() and change[-1] > 0
    assert change[9] < change[-1], "it fades in"


def test_the_camera_that_never_moves(spec):
    clip = rendered(task(spec, "camera_inactivity", 1.0))
    assert np.ptp(clip.c2w, axis=0).max() == 0
    assert not clip.returns and clip.d_start is None


def test_the_camera_that_turns_the_wrong_way(spec):
    clip = rendered(task(spec, "wrong_direction", 1.0))
    np.testing.assert_allclose(yaw_deg(clip.c2w), -yaw_deg(clip.target_c2w), atol=1e-9)


def test_the_vanished_object_leaves_no_mask(spec):
    clip = rendered(task(spec, "object_vanishes", 1.0))
    assert not clip.returns
    assert not (clip.parts[-1] == SUBJECT).any()
    assert shown_state(clip).endswith("is gone")


def test_the_reset_state_is_the_first_one(spec):
    clip = rendered(task(spec, "state_reset", 1.0))
    assert clip.state[-1] == 0 and clip.expected[-1] == 1
    np.testing.assert_array_equal(clip.frames[-1], clip.frames[0])
    assert "stands tall" in shown_state(clip)


def test_the_event_that_never_starts_shows_no_change_at_any_time(spec):
    assert not rendered(task(spec, "event_never_starts", 1.0)).state.any()


def test_the_duplicate_has_a_mask_of_its_own(spec):
    clip = rendered(task(spec, "duplicate", 1.0))
    assert (clip.parts[-1] == TWIN).sum() > 200 and not (clip.parts[0] == TWIN).any()


def test_the_dragged_subject_never_leaves(spec):
    clip = rendered(task(spec, "subject_dragged", 1.0))
    assert clip.d_start is None
    centres = [np.argwhere(parts == SUBJECT)[:, 1].mean() for parts in clip.parts]
    assert np.ptp(centres) < 6, "it keeps its place in the picture"


def test_the_night_is_darker(spec):
    clip = rendered(task(spec, "lighting_shift", 1.0))
    assert clip.frames[-1].mean() < 0.6 * clip.frames[0].mean()


def test_the_hallucinated_background_leaves_the_subject_alone(spec):
    wrong = task(spec, "background_hallucination", 1.0)
    right, clip = rendered(wrong.faithful()), rendered(wrong)
    mask = (right.parts[-1] == SUBJECT) & (clip.parts[-1] == SUBJECT)
    change = np.abs(clip.frames[-1].astype(int) - right.frames[-1]).mean(axis=-1)
    assert change[~mask].mean() > 20 and np.median(change[mask]) == 0


def test_geometric_melt_bends_masks_and_depth_with_the_picture(spec):
    wrong = task(spec, "geometric_melt", 1.0)
    right, clip = rendered(wrong.faithful()), rendered(wrong)
    assert (clip.parts[-1] != right.parts[-1]).mean() > 0.05
    assert not np.array_equal(clip.depth[-1], right.depth[-1])


def test_failures_that_cannot_show_are_refused(spec):
    with pytest.raises(UsageError, match="needs an event"):
        render_clip(spec("kitchen", failure="state_reset", severity=1.0))
    with pytest.raises(UsageError, match="needs a camera that moves"):
        render_clip(spec("kitchen", "static", failure="camera_inactivity", severity=1.0))
    with pytest.raises(UsageError, match=r"outside \[0, 1\]"):
        render_clip(spec("kitchen", failure="teleport", severity=1.5))
    with pytest.raises(UsageError, match="no failure 'melting'"):
        render_clip(spec("kitchen", failure="melting", severity=0.5))


def test_model_names():
    assert model_name("none", 0.0) == "sim-faithful"
    assert model_name("object_vanishes", 0.5) == "sim-object-vanishes-050"
