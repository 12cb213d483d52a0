"""Sharpness against scipy; pyiqa and ImageReward through a child process. Their own code runs in tests/runners."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from clips_in_memory import clip, options, run_job, shifting_clip, video_info
from lookback import runners
from lookback.backends.quality import ImageReward, PyIqa, Sharpness, sharpness
from lookback.clips import Clip, clips_to_frame
from lookback.errors import NotScorable, Reason, UsageError
from lookback.extraction import built
from lookback.media import content_hash, encode
from lookback.params import RunParams
from lookback.registry import Availability
from lookback.scoring import run as scoring_run
from lookback.tables import empty_table
from scipy.ndimage import convolve
from skimage.filters import gaussian


def test_sharpness_is_the_variance_of_scipys_laplacian(astronaut: np.ndarray):
    grey = np.repeat(astronaut[:100, :120, :1], 3, axis=2)
    kernel = [[0, 1, 0], [1, -4, 1], [0, 1, 0]]
    assert sharpness(grey) == pytest.approx(convolve(grey[..., 0].astype(float), kernel, mode="mirror").var(), rel=1e-9)


def test_blur_takes_sharpness_away_frame_by_frame(astronaut: np.ndarray):
    picture = astronaut[:96, 60:220]
    frames = np.stack([(gaussian(picture, sigma, channel_axis=-1) * 255).astype(np.uint8) for sigma in (0.01, 1, 2, 4)])
    entry = run_job(Sharpness(options(sample_fps=8)).start(clip(), video_info(frames), {}), frames)
    assert entry.frame_index.tolist() == [0, 1, 2, 3] and np.all(np.diff(entry.sharpness) < 0)
    assert set(entry.pack().arrays) == {"frame_index", "sharpness"}  # under its own name, never as a paper's score


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch):
    """Runs a made-up script in this environment in place of the installed models."""
    script = Path(__file__).parents[1] / "runners" / "scripts" / "made_up_scores.py"

    def launch(model: runners.Model, device: str, told: dict) -> runners.Launch:
        return runners.Launch(name=model.name, python=Path(sys.executable), script=script, device=device, options=told)

    monkeypatch.setattr(runners, "launch", launch)


def test_pyiqa_scores_every_sampled_frame(made_up, astronaut: np.ndarray):
    frames = shifting_clip(astronaut, 9, 40, 60, 5)
    backend = PyIqa(options())
    only = backend.measure(frames / np.float64(255), ("musiq",))
    assert list(only) == ["musiq"] and only["musiq"] == pytest.approx(frames.mean((1, 2, 3)) / 2.55, rel=1e-4)
    entry = run_job(backend.start(clip(), video_info(frames), {}), frames)
    expected = frames[entry.frame_index].mean((1, 2, 3)) / 255
    for name, scale in {"musiq": 100, "clipiqa": 1}.items():
        assert getattr(entry, name) == pytest.approx(expected * scale, rel=1e-4)
    backend.runner.close()
    with pytest.raises(UsageError, match="pyiqa has no option 'sampel_fps'; did you mean 'sample_fps'"):
        PyIqa(options(sampel_fps=2))


def test_sharpness_stands_in_for_no_other_measure(astronaut: np.ndarray):
    with pytest.raises(NotScorable, match="musiq need pyiqa; run: lookback models install pyiqa") as raised:
        Sharpness(options()).measure(astronaut[None], ("musiq",))
    assert raised.value.reason is Reason.BACKEND_UNAVAILABLE


def test_image_reward_scores_frames_for_the_prompt(made_up, astronaut: np.ndarray):
    frames = shifting_clip(astronaut, 9, 40, 60, 5)
    backend = ImageReward(options())
    entry = run_job(backend.start(clip(prompt="a small portrait"), video_info(frames), {}), frames)
    assert entry.image_reward == pytest.approx(3 * frames[entry.frame_index].mean((1, 2, 3)) / 255, rel=1e-5)
    with pytest.raises(NotScorable, match="has no prompt"):
        backend.start(clip(), video_info(astronaut[None]), {})
    backend.runner.close()


@pytest.mark.parametrize("kind", [PyIqa, ImageReward])
def test_what_is_not_installed_is_said_with_its_command(kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LOOKBACK_MODELS", str(tmp_path))
    state = kind.available()
    assert not state.usable and state.remedy == f"lookback models install {kind.model.name}"


def test_the_metrics_of_the_papers_take_their_values_from_the_child(made_up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """MIND's imaging is MUSIQ / 100, MemoBench's ImageReward the sigmoid of the reward: both by hand from the made-up scores."""
    monkeypatch.setattr(runners, "availability", lambda model: Availability(True))
    built.look_again()
    frames = np.full((5, 32, 64, 3), 100, np.uint8)
    video = encode(tmp_path / "clip.mkv", frames, 8.0, codec="ffv1", crf=None, pix_fmt="bgr0")
    facts = {"video": str(video), "n_frames": 5, "fps": 8.0, "width": 64, "height": 32, "content_hash": content_hash(video)}
    clips = [
        Clip(benchmark="memobench", setting="real", model_id="m", clip_id="c", prompt="a red house", **facts),
        Clip(benchmark="mind", setting="1st_data", subset="action_space_test", model_id="m", clip_id="c", **facts),
    ]
    params = RunParams(
        run="r",
        output=str(tmp_path / "run"),
        workers=1,
        device="cpu",
        extraction={"backends": {"quality": "pyiqa", "image_reward": "image-reward"}},
        scoring={"metrics": ["memobench.image_reward", "mind.visual"], "variant": "paper"},
    )
    try:
        _, items, _ = scoring_run.score_run(params, clips_to_frame(clips), empty_table("segments"), empty_table("artifacts"))
    finally:
        for key in [key for key in built._BUILT if key[0] in ("quality=pyiqa", "image_reward=image-reward")]:
            built._drop(key)
        built.look_again()
    found = items.set_index(["metric", "phase"])
    assert found.loc[("memobench.image_reward", ""), "value"] == pytest.approx(1 / (1 + np.exp(-3 * 100 / 255)), abs=1e-6)
    assert found.loc[("memobench.image_reward", ""), "backend"] == "image_reward=image-reward"
    assert found.loc[("mind.visual", "imaging"), "value"] == pytest.approx(100 / 255, abs=1e-4)
    assert found.loc[("mind.visual", "imaging"), "backend"].endswith("quality=pyiqa")
