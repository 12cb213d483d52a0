"""The released code of ImageReward and pyiqa, small and with random weights, through the real runner and into the metrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lookback import runners
from lookback.errors import LookbackError
from lookback.runners import environments
from own_environment import index_is_reached
from test_released_models import SCRIPTS, share_compiled

pytestmark = pytest.mark.long
FRAMES = np.random.default_rng(0).integers(0, 255, (3, 64, 96, 3), dtype=np.uint8)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A runner of a model's small network, in the environment that the real installer makes."""
    monkeypatch.setenv(environments.VARIABLE, str(tmp_path))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # the runner reads what the trial of the imports compiled
    started: list[runners.Runner] = []

    def start(name: str) -> runners.Runner:
        model = runners.model(name)
        weights = tmp_path / "weights"
        for file in model.weights.paths():
            (weights / file).parent.mkdir(parents=True, exist_ok=True)
            (weights / file).write_text("{}")
        try:
            found = environments.install(model, print, weights=weights)
        except LookbackError as error:
            if not index_is_reached(tmp_path / name / "environment" / "bin" / "python"):
                pytest.skip(f"the package index cannot be reached: {error}")
            raise
        share_compiled(Path(found.python))
        assert environments.try_imports(model, found) == ""
        launch = environments.launch(model, "cpu", {"script": str(model.script_path)})
        started.append(runners.Runner(runners.Launch(**{**launch.__dict__, "script": SCRIPTS / f"small_{model.script}"})))
        return started[-1]

    yield start
    for runner in started:
        runner.close()
        environments.remove(runners.model(runner.launch.name))


def ask(runner: runners.Runner, frames: np.ndarray, **facts: object) -> dict[str, np.ndarray]:
    runner.begin(**facts)
    runner.push(frames)
    return runner.answer().arrays


def test_pyiqa_measures_frames_as_its_networks_do(small):
    runner = small("pyiqa")
    both = ask(runner, FRAMES, measures=["musiq", "clipiqa"])
    for name in ("musiq", "clipiqa"):  # beside torchvision's own way from picture to tensor
        np.testing.assert_allclose(both[name], both[f"direct_{name}"], rtol=1e-4, atol=1e-5)
    assert len(set(both["musiq"].round(6))) == 3 and ((both["clipiqa"] > 0) & (both["clipiqa"] < 1)).all()
    floats = ask(runner, FRAMES[::-1].astype(np.float32) / 255, measures=["musiq"])
    assert set(floats) == {"musiq"}
    np.testing.assert_allclose(floats["musiq"][::-1], both["musiq"], rtol=1e-4)


def test_image_reward_scores_pictures_for_a_prompt(small):
    runner = small("image-reward")
    red = ask(runner, FRAMES, prompt="a red house")
    np.testing.assert_allclose(red["image_reward"], red["alone"], rtol=1e-4, atol=1e-5)
    assert len(set(red["image_reward"].round(6))) == 3
    blue = ask(runner, FRAMES[:1], prompt="a blue house")
    assert blue["image_reward"].shape == (1,) and not np.isclose(blue["image_reward"][0], red["image_reward"][0])
