"""What the tests of the desk share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_study import MODELS, SmallRun, clips


@pytest.fixture
def small_run(tmp_path, monkeypatch):
    def made(scenes: int = 4, models: tuple[str, ...] = MODELS) -> SmallRun:
        (tmp_path / "params").mkdir()
        (tmp_path / "notebooks").mkdir()
        (tmp_path / "params" / "small.yaml").write_text("description: a small run\ncuration: {}\n")
        monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
        return SmallRun(tmp_path, clips(scenes, models))

    return made
