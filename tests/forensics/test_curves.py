"""What a clip shows over time, on videos whose camera and changes are known because a window is moved over one large picture."""

from __future__ import annotations

from pathlib import Path

import cv2
import made_artifacts
import numpy as np
import pytest
from forensics_evidence import make_clip
from lookback.forensics.collect import ProbeTask, curves_task
from lookback.forensics.curves import WIDTH, between, camera_motion, curves
from lookback.forensics.evidence import Evidence
from lookback.forensics.features import features
from lookback.forensics.probe import Inputs, probe
from lookback.media import encode
from lookback.store import Producer

HEIGHT = 180
NOBODY = Producer("forensics", "pixels", "")


@pytest.fixture(scope="module")
def world() -> np.ndarray:
    """A wide textured picture."""
    rng = np.random.default_rng(4)
    layers = [cv2.resize(rng.random((HEIGHT // s, 3 * WIDTH // s, 3)).astype(np.float32), (3 * WIDTH, HEIGHT)) for s in (6, 15, 45)]
    return (255 * np.clip(0.1 + 0.9 * np.mean(layers, axis=0), 0, 1)).astype(np.uint8)


def window(world: np.ndarray, left: float) -> np.ndarray:
    return np.ascontiguousarray(world[:, round(left) : round(left) + WIDTH])


def seen(folder: Path, frames: list[np.ndarray], truth: list[np.ndarray] | None = None, **facts: object) -> Evidence:
    encode(folder / "clip.mp4", np.stack(frames), fps=16)
    if truth is not None:
        encode(folder / "truth.mp4", np.stack(truth), fps=16)
    found = curves(folder / "clip.mp4", folder / "truth.mp4" if truth is not None else None)
    return Evidence(make_clip(**facts), curves={name: np.asarray(values) for name, values in found.items()})


def test_the_step_of_a_moved_window_is_measured_and_a_thing_fixed_to_the_camera_is_left_out(world):
    before, after = (cv2.cvtColor(window(world, left), cv2.COLOR_RGB2GRAY) for left in (100, 108))
    rng = np.random.default_rng(0)
    handlebar = rng.integers(0, 255, (70, 160), np.uint8)
    for picture in (before, after):
        picture[110:, 80:240] = handlebar
    motion = camera_motion(before, after)
    assert motion is not None and motion.shift(WIDTH, HEIGHT) * WIDTH == pytest.approx([-8.0, 0.0], abs=0.3)
    assert 0.5 < motion.rigid < 0.9  # of all tracks, those on the handlebar too


def test_a_camera_that_goes_and_returns_is_told_from_one_that_goes_and_one_that_stays(world, tmp_path):
    way = np.concatenate([np.linspace(0, 240, 16), np.linspace(240, 0, 16)])
    goes, stays, leaves = way, np.zeros(32), np.linspace(0, 240, 32)
    found = [features(seen(tmp_path, [window(world, 200 + left) for left in path])).values for path in (goes, stays, leaves)]
    back, still, away = found
    assert back["reach"] == pytest.approx(240 / WIDTH, rel=0.1) and away["reach"] == pytest.approx(240 / WIDTH, rel=0.1)
    assert still["reach"] < 0.01 and back["not_back"] < 0.1 and still["not_back"] < 0.1 and away["not_back"] > 0.5
    assert still["lost_in_view"] < 0.1 and back["lost_in_view"] < 0.2


def test_a_fast_pan_over_a_still_picture_is_explained_and_a_picture_that_melts_is_not(world):
    rng = np.random.default_rng(2)
    before, after = (cv2.cvtColor(window(world, left), cv2.COLOR_RGB2GRAY) for left in (100, 150))
    bends = [cv2.resize(rng.normal(0, 40, (12, 20)).astype(np.float32), (WIDTH, HEIGHT)) for _ in range(2)]
    x, y = np.meshgrid(np.arange(WIDTH, dtype=np.float32), np.arange(HEIGHT, dtype=np.float32))
    melted = cv2.remap(after, x + bends[0], y + bends[1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    panned = between(before, after)
    assert panned["step"] * WIDTH == pytest.approx(50, abs=0.5)
    assert [panned[name] * WIDTH for name in ("pan", "tilt")] == pytest.approx([-50, 0], abs=0.5)
    assert panned["unexplained"] < 0.02 and panned["own_motion"] < 50 / WIDTH  # where the picture leaves the view
    assert between(before, melted)["unexplained"] > 0.1


@pytest.mark.parametrize("height", [8, 20, 31])
def test_a_very_wide_picture_has_no_motion_and_does_not_end_the_search(world, height):
    assert between(world[:height, :WIDTH, 0].copy(), world[:height, 4 : WIDTH + 4, 0].copy()) == {}


def test_a_picture_that_turns_into_another_style_is_lost_although_the_camera_stays(world, tmp_path):
    first = window(world, 200)
    sharp = cv2.addWeighted(first, 6.0, cv2.GaussianBlur(first, (0, 0), 2), -5.0, 0)
    noisy = np.random.default_rng(1).permuted(sharp.reshape(-1, 3), axis=0).reshape(sharp.shape)
    odd = np.where(np.arange(WIDTH)[None, :, None] % 2 == 0, sharp, noisy).astype(np.uint8)
    found = features(seen(tmp_path, [first] * 16 + [odd] * 16)).values
    assert found["detail_change"] > 0.3 and found["lost_in_view"] > 0.4


def test_every_second_frame_is_looked_at_and_noise_is_measured_whatever_the_contrast(world, tmp_path):
    first = window(world, 200)
    noise = seen(tmp_path, [first] * 8 + [first // 2] * 8).curves["block_noise"]
    assert len(noise) == 8 and noise[7] == pytest.approx(noise[3], rel=0.3)


def test_brightness_and_the_ground_truth_of_the_same_moment_are_compared(world, tmp_path):
    path = np.linspace(0, 160, 24)
    truth = [window(world, 200 + left) for left in path]
    dark = [(frame * (0.5 if number >= 12 else 1.0)).astype(np.uint8) for number, frame in enumerate(truth)]
    same, dimmed, still = (features(seen(tmp_path, frames, truth)).values for frames in (truth, dark, [truth[0]] * 24))
    assert dimmed["light_largest"] == pytest.approx(np.log(2), abs=0.1) and same["light_largest"] < 0.2
    assert same["truth_match"] > 0.7 and same["truth_match"] > still["truth_match"] + 0.15
    assert dimmed["truth_palette"] < same["truth_palette"]


def test_a_ground_truth_that_was_replaced_is_compared_again(world, tmp_path):
    still, other = [window(world, 200)] * 16, [255 - window(world, 0)] * 16
    task = ProbeTask(
        make_clip(video=str(tmp_path / "clip.mp4"), ground_truth=str(tmp_path / "truth.mp4")), (), tmp_path / "store", NOBODY
    )
    likeness = []
    for truth in (still, other):
        seen(tmp_path, still, truth)
        likeness.append(np.nanmean(curves_task(task)["truth_palette"]))
    assert likeness[0] > 0.9 and likeness[1] < 0.6


def test_a_sharper_ground_truth_is_no_change_of_style(world, tmp_path):
    """The truth is larger and sharper than the model's pictures from the first frame on. The gain is taken against that start."""
    sharp = [window(world, 200)] * 16
    soft = [cv2.GaussianBlur(frame, (0, 0), 1.2) for frame in sharp]
    larger = [cv2.resize(frame, (2 * WIDTH, 2 * HEIGHT), interpolation=cv2.INTER_CUBIC) for frame in sharp]
    encode(tmp_path / "truth.mp4", np.stack(larger), fps=16)
    encode(tmp_path / "clip.mp4", np.stack(soft), fps=16)
    camera = np.array([[300.0, 0, WIDTH / 2], [0, 300.0, HEIGHT / 2], [0, 0, 1]])
    pose = made_artifacts.poses(np.tile(np.eye(4), (16, 1, 1)), intrinsics=np.tile(camera, (16, 1, 1)))
    facts = {"video": str(tmp_path / "clip.mp4"), "ground_truth": str(tmp_path / "truth.mp4"), "n_frames": 16, "height": HEIGHT}
    records = probe(Inputs(make_clip(**facts), pose, None, None))
    assert records and all(record["from_truth"] and record["detail"] == pytest.approx(1.0, abs=0.1) for record in records)


def test_frames_of_a_very_wide_clip_are_not_aligned(world, tmp_path):
    for name in ("clip", "truth"):
        encode(tmp_path / f"{name}.mkv", np.repeat(world[None, :14, :WIDTH], 16, 0), 16, codec="ffv1", crf=None, pix_fmt="bgr0")
    camera = np.array([[300.0, 0, WIDTH / 2], [0, 300.0, 7], [0, 0, 1]])
    pose = made_artifacts.poses(np.tile(np.eye(4), (16, 1, 1)), intrinsics=np.tile(camera, (16, 1, 1)))
    facts = {"video": str(tmp_path / "clip.mkv"), "ground_truth": str(tmp_path / "truth.mkv"), "n_frames": 16, "height": 14}
    assert probe(Inputs(make_clip(**facts), pose, None, None)) == []
