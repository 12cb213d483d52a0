"""MemoBench's presets at work: which frames each variant looks at, at which size, and how its numbers are rounded and joined."""

from __future__ import annotations

from pathlib import Path

import made_artifacts
import numpy as np
import pandas as pd
import pytest
from answered import answered
from lookback.artifacts import Features, TruePoseTrack
from lookback.backends.features.geometry import Pad, ResizeCrop
from lookback.benchmarks.memobench.metrics.camera_controllability import camera_controllability, smoothed
from lookback.benchmarks.memobench.metrics.ors import FoundMasks, subject_phrase
from lookback.camera import compile, preset
from lookback.camera.poses import from_yaw_pitch_roll, rotation_angle_deg, total_rotation_deg
from lookback.camera.resample import poses_at
from lookback.clips import Clip
from lookback.errors import Reason
from lookback.media import encode
from lookback.metrics.functional import ground_truth_pairs
from lookback.registry import METRICS
from lookback.scoring.clip import score_clip
from lookback.scoring.contract import Paired, Scored, ScoringClip
from scipy.spatial.transform import Rotation

COUNT, HEIGHT, WIDTH = 30, 40, 700
PROMPT = "A man walks and sees a red car(subject) parked, then turns."


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    """30 frames, wider than the program's limit; V = 0..9, D = 10..19, R = 20..29 (closed: V and D end one frame later)."""
    path = tmp_path_factory.mktemp("clip") / "video.mp4"
    shades = np.linspace(20, 230, COUNT).astype(np.uint8)
    encode(path, np.broadcast_to(shades[:, None, None, None], (COUNT, HEIGHT, WIDTH, 3)).copy(), 16)
    names = {"benchmark": "memobench", "setting": "synthetic", "model_id": "m", "clip_id": "c", "content_hash": "0" * 64}
    facts = {"n_frames": COUNT, "fps": 16.0, "width": WIDTH, "height": HEIGHT, "gt_frames": COUNT, "d_start": 10, "r_start": 20}
    return Clip(**names, **facts, video=str(path), prompt=PROMPT, object_name="car")


class Tools:
    """Every role at once: remembers the frames that it was shown, and answers from their shade."""

    def __init__(self):
        self.sizes, self.shown, self.asked = set(), [], []

    def see(self, frames: np.ndarray) -> np.ndarray:
        self.sizes |= {frames.shape[1:3]}
        shades = frames.reshape(len(frames), -1).mean(axis=1)
        self.shown += np.rint((shades - 20) / 210 * (COUNT - 1)).astype(int).tolist()
        return shades

    def rewards(self, prompt, frames):
        return self.see(frames) / 255

    def scores(self, frames, head, antialias):
        assert (head, antialias) == ("mlp", True)
        return self.see(frames) * 0 + 5.0

    def measure(self, frames, names):
        return {name: np.full(len(frames), 0.60004) for name in names}

    def maps(self, frames, clip, indices):
        base = np.arange(12.0).reshape(3, 4)
        return np.stack([base + shade / 255 * np.eye(3, 4) for shade in self.see(frames)])

    def encode(self, frames, shaping):
        self.asked.append(shaping)
        patches = np.stack([np.outer(np.ones(5), [1.0, shade / 255, 0.5]) for shade in self.see(frames)]).astype(np.float16)
        plain = {"cls": patches[:, 0].astype(np.float32), "valid": np.ones((len(frames), 5), bool), "grid": np.array([1, 5])}
        return Features(frame_index=np.arange(len(frames)), patches=patches, **plain)

    def flow(self, a, b, inputs):
        self.asked.append(inputs)
        self.see(np.stack([a, b]))
        return np.zeros((*a.shape[:2], 2), np.float32)


class Asked(Tools):
    """Masks by words: one tiny, one large, in every frame."""

    def query(self, frame, words, threshold):
        self.asked.append((words, threshold))
        self.see(frame[None])
        return FoundMasks(np.array([0.0002, 0.3]), np.array([0.9, 0.7]))


def scored(name: str, clip: Clip, variant: str, tools: object, artifacts=(), **constants: float) -> Scored:
    spec = METRICS.get(f"memobench.{name}")
    entries = {artifact.role: artifact.pack() for artifact in artifacts}
    given = (clip, variant, constants, pd.DataFrame(), entries.__getitem__, lambda role: tools)
    return score_clip([(spec, ScoringClip(*given, settings=spec.preset(variant, constants)))])[0]


@pytest.mark.parametrize(("variant", "size"), [("paper", (HEIGHT, WIDTH)), ("official", (37, 640))])
@pytest.mark.parametrize(
    ("name", "frames"),
    [
        ("image_reward", {0, 7, 14, 21, 29}),
        ("visual_quality", set(range(0, 30, 4))),
        ("object_identity", {0, 20, 21, 22, 23, 24, 25, 26, 27, 29}),
    ],
)
def test_each_metric_looks_at_the_frames_and_the_size_of_its_preset(clip, name, frames, variant, size):
    tools = Tools()
    assert scored(name, clip, variant, tools).items[0].value is not None
    if (name, variant) == ("object_identity", "official"):
        size = 256, int(256 * 640 / 37)  # scaled before the network sees it
    assert (set(tools.shown), tools.sizes) == (frames, {size})


def test_object_identity_crops_under_official_and_keeps_the_whole_frame_under_paper(clip):
    tools = Tools()
    for variant in ("official", "paper"):
        scored("object_identity", clip, variant, tools)
    assert tools.asked == [ResizeCrop(256, 224), Pad(448, square=False)]


def test_geo3d_takes_three_frames_of_each_phase_and_official_counts_the_end_of_v(clip):
    for variant, frames in (("paper", [0, 4, 9, 20, 24, 29]), ("official", [0, 5, 10, 20, 24, 29])):
        tools = Tools()
        assert [unit.phase for unit in scored("geo3d", clip, variant, tools).units] == ["V", "V", "R", "R"]
        assert tools.shown == frames
    assert len(scored("geo3d", clip, "paper", Tools(), depth_samples=5).units) == 8


def test_flat_depth_and_short_phases_are_refused_by_the_paper_and_count_as_zero_in_the_release(clip):
    class Flat(Tools):
        def maps(self, frames, clip, indices):
            return np.ones((len(frames), 3, 4))

    assert scored("geo3d", clip, "paper", Flat()).items[0].reason == "undefined"
    assert scored("geo3d", clip, "official", Flat()).items[0].value == 0.0
    late = clip.model_copy(update={"r_start": 29})
    assert scored("geo3d", late, "paper", Tools()).items[0].reason == "too_short"
    assert scored("geo3d", late, "official", Tools()).items[0].value == pytest.approx(0.35, abs=0.01)  # 0.7 * (1 + 0) / 2 + 0.3 * 0


def test_motion_smoothness_joins_pairs_or_phases(clip):
    """Every 4th frame: 0, 4, 8 and 20, 24, 28. Shades rise evenly, so that each pair has the same error."""
    tools = Tools()
    paper, official = (scored("motion_smoothness", clip, variant, tools) for variant in ("paper", "official"))
    assert tools.asked == ["signed"] * 4 + ["unit"] * 4 and tools.sizes == {(29, 512), (37, 640)}
    assert [(unit.frame_other, unit.frame) for unit in official.units] == [(0, 4), (4, 8), (20, 24), (24, 28)]
    error = 210 / 29 * 4 / 255
    assert paper.items[0].value == pytest.approx(np.exp(-error / 0.15), abs=0.005)
    assert 100 * official.items[0].value == pytest.approx(round(100 * official.items[0].value, 1), abs=1e-9)
    assert official.items[0].value == pytest.approx(paper.items[0].value, abs=0.005)


def test_a_phase_of_two_samples_counts_as_zero_in_the_release_and_as_it_is_in_the_paper(clip):
    late = clip.model_copy(update={"r_start": 24})
    paper, official = (scored("motion_smoothness", late, variant, Tools()).items[0].value for variant in ("paper", "official"))
    assert official == pytest.approx(paper / 2, abs=0.005)
    last = clip.model_copy(update={"r_start": 28})  # R has one step: the release leaves it out
    assert scored("motion_smoothness", last, "official", Tools()).items[0].value == pytest.approx(paper, abs=0.005)


def test_visual_quality_rounds_to_a_tenth_before_it_averages(clip):
    paper, official = (scored("visual_quality", clip, variant, Tools()).items[0].value for variant in ("paper", "official"))
    assert paper == pytest.approx((4 / 9 + 0.60004) / 2, abs=1e-6)
    assert official == pytest.approx((0.5 + 0.6) / 2, abs=1e-12)


def test_ors_asks_every_frame_of_r_in_the_preset_s_words(clip):
    for variant, words in (("paper", "car"), ("official", "a red car(subject) parked")):
        tools = Asked()
        result = scored("ors", clip, variant, tools)
        assert tools.asked == [(words, 0.0)] * 10 and tools.shown == list(range(20, 30)) and tools.sizes == {(HEIGHT, WIDTH)}
        assert result.items[0].value == pytest.approx(0.7) and result.items[0].n_units == 10
        assert scored("ors", clip, variant, Asked(), ors_low=0.0001).items[0].value == pytest.approx(0.9)


def test_ors_keeps_the_masks_that_other_ranges_would_choose(clip):
    units = scored("ors", clip, "official", Asked()).units
    assert [(unit.kind, unit.value, unit.raw) for unit in units[:2]] == [("frame", 0.7, 0.3), ("mask", 0.9, 0.0002)]


def test_masks_that_follow_a_box_serve_the_paper_and_are_refused_by_official(clip):
    shown = np.zeros((COUNT, 10, 10), bool)
    shown[:, :2, :5] = True
    followed = made_artifacts.masks(shown, confidence=np.full(COUNT, 0.5, np.float32))
    assert scored("ors", clip, "paper", None, [followed]).items[0].value == pytest.approx(0.5)
    refused = scored("ors", clip, "official", None, [followed]).items[0]
    assert refused.reason == "backend_unavailable" and "a red car(subject) parked" in refused.detail
    asked = made_artifacts.masks(shown, confidence=np.full(COUNT, 0.5, np.float32), facts={"query": "a red car(subject) parked"})
    assert scored("ors", clip, "official", None, [asked]).items[0].value == 0.5


def test_the_phrase_of_a_real_clip_is_its_subject(clip):
    assert subject_phrase(clip.model_copy(update={"setting": "real"})) == "car"
    assert subject_phrase(clip.model_copy(update={"prompt": "No such words."})) == "car"


def shaky(count: int, seed: int) -> np.ndarray:
    path = compile(preset("yaw_LR", count))
    noise = Rotation.from_rotvec(np.random.default_rng(seed).normal(0, 0.02, (count, 3))).as_matrix()
    path[:, :3, :3] = path[:, :3, :3] @ noise
    return path


def test_real_truth_is_smoothed_by_the_paper_alone(clip):
    """Smoothing brings an estimated path nearer to the true one; the release compares with the raw one, at its nearest pose."""
    true, raw = compile(preset("yaw_LR", 60)), shaky(60, 0)
    assert total_rotation_deg(smoothed(raw, 7)) < 0.7 * total_rotation_deg(raw)
    assert rotation_angle_deg(true, smoothed(raw, 7)).mean() < rotation_angle_deg(true, raw).mean()
    generated = made_artifacts.poses(compile(preset("yaw_LR", COUNT)))
    truth = TruePoseTrack.unpack(made_artifacts.poses(raw).pack())
    real = clip.model_copy(update={"setting": "real", "gt_frames": 60})
    values = {
        variant: scored("camera_controllability", real, variant, None, [generated, truth]).items[0].value
        for variant in ("paper", "official")
    }
    nearest = raw[np.rint(np.arange(COUNT) * 59 / 29).astype(int)]
    assert values["official"] == pytest.approx(camera_controllability(nearest, generated.c2w), abs=5.1e-4)
    between = poses_at(smoothed(raw, 7), np.arange(COUNT) * 59 / 29)
    assert values["paper"] == pytest.approx(camera_controllability(between, generated.c2w), abs=1e-9)
    synthetic = scored(
        "camera_controllability", real.model_copy(update={"setting": "synthetic"}), "paper", None, [generated, truth]
    )
    known = poses_at(raw, np.arange(COUNT) * 59 / 29)
    assert synthetic.items[0].value == pytest.approx(camera_controllability(known, generated.c2w), abs=1e-9)


@pytest.mark.parametrize(("source", "reason"), [("file", ""), ("assumed: 60 deg", Reason.UNTRUSTED_PATH)])
def test_paths_of_unlike_lenses_are_compared_unless_one_lens_is_assumed(clip, source, reason):
    path = compile(preset("yaw_LR", COUNT))
    wide, narrow = (np.tile(np.array([[f, 0, 319.5], [0, f, 239.5], [0, 0, 1]]), (COUNT, 1, 1)) for f in (300.0, 600.0))
    generated = made_artifacts.poses(path, intrinsics=wide, focal_source=source)
    truth = TruePoseTrack.unpack(made_artifacts.poses(path, intrinsics=narrow, focal_source="file").pack())
    assert scored("camera_controllability", clip, "paper", None, [generated, truth]).items[0].reason == reason


def test_the_nearest_true_pose_is_that_of_the_release(clip):
    """_resample rounds i (N - 1) / (n - 1): 62 for frame 41 of 81 with 121 true poses, where 41 / 80 * 120 is just below 61.5."""
    truth = TruePoseTrack.unpack(made_artifacts.poses(from_yaw_pitch_roll(np.arange(121.0))).pack())
    generated = made_artifacts.poses(from_yaw_pitch_roll(np.zeros(81)))
    long = clip.model_copy(update={"n_frames": 81, "gt_frames": 121})
    units = scored("camera_controllability", long, "official", None, [generated, truth]).units
    assert [round(unit.raw) for unit in units] == [round(i * 120 / 80) for i in range(81)]


def test_psnr_does_not_need_the_window_of_ssim(clip, tmp_path: Path):
    video = np.random.default_rng(0).integers(0, 255, (COUNT, 8, 48, 3), np.uint8)
    paths = {name: str(encode(tmp_path / f"{name}.mp4", video, 16)) for name in ("video", "ground_truth")}
    small = clip.model_copy(update={**paths, "width": 48, "height": 8})
    for variant in ("paper", "official"):
        assert [item.value for item in scored("psnr", small, variant, None).items] == [99.0] * 4
        refused = scored("ssim", small, variant, None).items
        assert [(item.reason, "11x11 window" in item.detail) for item in refused] == [("invalid_input", True)] * 4


def test_a_phase_is_scored_against_its_own_true_frames(clip):
    """Each pair scores the number of its true frame: a phase of another pace than the clip matches other frames."""
    paced = clip.model_copy(update={"n_frames": 20, "ground_truth": "truth.mp4", "gt_frames": 33, "d_start": 8, "r_start": 21})
    spec = METRICS.get("memobench.psnr")
    given = (paced, "paper", {}, pd.DataFrame(), lambda role: None, lambda role: None)
    context = ScoringClip(*given, settings=spec.preset("paper", {}))

    def numbers(asked: list[Paired]) -> list[dict[int, dict[str, float]]]:
        return [{int(i): {"psnr": float(t)} for i, t in zip(pair.indices, pair.truth, strict=True)} for pair in asked]

    found = {item.phase: item.value for item in answered(spec.score(context), numbers).items}
    expected = {phase: truth.mean() for phase, (_, truth) in ground_truth_pairs(8, 21, 33, 20).items()}
    assert found == pytest.approx(expected)


def test_smoothing_keeps_the_turning_point_and_short_paths():
    """A camera that pans 40 degrees away and back, 2 degrees a frame: a Gaussian of two frames would cut 3 degrees off."""
    yaw = 40 - 2 * np.abs(np.arange(41) - 20.0)
    path = from_yaw_pitch_roll(yaw, np.zeros(41), np.zeros(41))
    assert rotation_angle_deg(path, smoothed(path, 7)).max() < 1.2
    assert smoothed(path[:4], 7) is not None and np.array_equal(smoothed(path[:4], 7), path[:4])


@pytest.mark.parametrize("degrees", [300.0, -300.0])
def test_smoothing_knows_no_jump_where_the_camera_turns_most_of_the_way_round(degrees):
    path = from_yaw_pitch_roll(np.linspace(0, degrees, 61))
    assert rotation_angle_deg(path, smoothed(path, 7)).max() < 0.1


def test_official_scores_no_clip_without_phases_and_none_with_a_broken_frame(clip, tmp_path: Path):
    video = np.random.default_rng(0).integers(0, 255, (COUNT, 32, 48, 3), np.uint8)
    short, truth = encode(tmp_path / "video.mp4", video[:-2], 16), encode(tmp_path / "truth.mp4", video, 16)
    facts = {"video": str(short), "ground_truth": str(truth), "width": 48, "height": 32}
    known = clip.model_copy(update=facts)
    paper, official = (scored("psnr", known, variant, None).items for variant in ("paper", "official"))
    assert paper[-1].value > 20 and "2 of 30 units missing" in paper[-1].detail
    assert {item.phase: item.reason for item in official} == {"V": "", "D": "", "R": "decode_failed", "": "decode_failed"}
    assert official[0].value == round(official[0].value, 4)
    unmarked = known.model_copy(update={"d_start": None, "r_start": None, "n_frames": COUNT - 2})
    assert scored("psnr", unmarked, "paper", None).items[0].value is not None
    refused = scored("psnr", unmarked, "official", None).items
    assert {item.phase: item.reason for item in refused} == dict.fromkeys(["", "V", "D", "R"], "no_phases")
