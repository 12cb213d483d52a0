import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "layouts"))  # the datasets written by hand


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project folder of its own, so that runs and caches of a test touch nothing else."""
    root = tmp_path / "project"
    (root / "params").mkdir(parents=True)
    (root / "notebooks").mkdir()
    monkeypatch.setenv("LOOKBACK_ROOT", str(root))
    return root
