"""What the tests of the desk share."""

import shutil
import sys
from pathlib import Path

import pytest
from lookback.desk import practice

sys.path.insert(0, str(Path(__file__).parent))
from small_study import MODELS, SmallRun, clips


@pytest.fixture(scope="session")
def practice_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("practice")


@pytest.fixture(autouse=True)
def practice_is_drawn_once(practice_folder, monkeypatch):
    """The practice clips are the same in every study."""

    def copied(name: str, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(practice.practice_clip(name, practice_folder), folder))

    monkeypatch.setattr("lookback.desk.study.practice_clip", copied)


@pytest.fixture
def small_run(tmp_path, monkeypatch):
    def made(scenes: int = 4, models: tuple[str, ...] = MODELS) -> SmallRun:
        (tmp_path / "params").mkdir()
        (tmp_path / "notebooks").mkdir()
        (tmp_path / "params" / "small.yaml").write_text("description: a small run\ncuration: {}\n")
        monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
        return SmallRun(tmp_path, clips(scenes, models))

    return made
