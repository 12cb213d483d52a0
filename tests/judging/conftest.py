"""Clips, questions and judges for the judging tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from chat_server import KEY
from lookback.clips import Clip
from lookback.judging.asking import Asker, Budget, Patience
from lookback.judging.frames import Encoding, FrameSource
from lookback.judging.judges.base import JudgeContext
from lookback.judging.judges.openai_judge import OpenAIJudge
from lookback.judging.question import Part, Question
from lookback.judging.recording import Recording
from lookback.media import content_hash, encode
from lookback.params.stages import Judging


@pytest.fixture(autouse=True)
def key_in_environment(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LOOKBACK_JUDGE_KEY", KEY)
    for name in ("MBENCH_VLM_API_KEY", "OPENAI_API_KEY", "LOOKBACK_JUDGE_URL", "MBENCH_VLM_BASE_URL", "LOOKBACK_JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return KEY


def _moving_square(path: Path, n_frames: int, fps: float) -> Path:
    frames = np.full((n_frames, 96, 160, 3), 60, np.uint8)
    for index in range(n_frames):
        left = 120 * index // n_frames
        frames[index, 30:60, left : left + 30] = (200, 80, 30)
    return encode(path, frames, fps=fps)


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of a moving square."""
    return _moving_square(tmp_path_factory.mktemp("clip") / "clip.mp4", 16, 8)


@pytest.fixture(scope="session")
def long_video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds of a moving square."""
    return _moving_square(tmp_path_factory.mktemp("clip") / "long.mp4", 64, 16)


@pytest.fixture(scope="session")
def make_clip(video: Path):
    content = content_hash(video)

    def make(number: int = 0, **fields) -> Clip:
        values = {
            "benchmark": "wrbench",
            "setting": "natural25",
            "model_id": "m",
            "clip_id": f"clip_{number:04d}",
            "prompt": "A cat jumps.",
        }
        facts = {"video": str(video), "n_frames": 16, "fps": 8.0, "width": 160, "height": 96, "content_hash": content}
        return Clip(**{**values, **facts, **fields})

    return make


@pytest.fixture(scope="session")
def yes_no(make_clip):
    """A yes/no question; the number makes it different from the others."""

    def make(number: int = 0, frames: tuple[int, ...] = (0, 8, 15), **fields) -> Question:
        clip = make_clip(number, **fields)
        part = Part(f"q{number}", f"Is this the cat of clip {number}?")
        labels = tuple(f"Frame at {index / 8:.2f} s" for index in frames)
        return Question(
            clip, "probe", "yes_no", "Answer.", part.text, "test.v1", (part,), clip.video, clip.content_hash, frames, labels
        )

    return make


@pytest.fixture
def make_asker(tmp_path: Path):
    """An asker with the openai judge and short waits; it records below the folder of the test."""
    opened = []

    def make(url: str, folder: str = "judge_cache", **params) -> Asker:
        settings = Judging(judge="openai", model="tiny", base_url=url, **params)
        encoding = Encoding(64, 80)
        judge = OpenAIJudge(JudgeContext(settings, "tiny", seed=7, frames=FrameSource(encoding)))
        recording = Recording(tmp_path / folder)
        opened.append(recording)
        budget = Budget(settings.max_calls, settings.max_cost, settings.price_per_call, settings.price_per_million_input)
        patience = Patience(7, settings.max_wait_s, first_wait_s=0.01)
        return Asker(
            judge,
            recording,
            budget,
            patience,
            encoding=encoding,
            concurrency=settings.concurrency,
            max_retries=settings.max_retries,
        )

    yield make
    for recording in opened:
        recording.__exit__()
