"""`lookback models`: what is listed, installed, checked and removed, and what a user is told when something is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from lookback import runners
from lookback.cli.app import app
from lookback.errors import BackendUnavailable, UsageError
from lookback.registry import BACKENDS, METRICS
from lookback.runners import environments
from typer.testing import CliRunner


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(environments.VARIABLE, str(tmp_path / "models"))
    return tmp_path / "models"


def call(*words: str, expect: int = 0) -> str:
    found = CliRunner().invoke(app, ["models", *words])
    assert found.exit_code == expect, (found.output, found.exception)
    return found.output


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    place = tmp_path / "weights"
    place.mkdir()
    for name in runners.model("vggt").weights.files:
        (place / name).write_text(name)
    return place


def installed(tmp_path: Path, weights: Path) -> str:
    (tmp_path / "checkout").mkdir(exist_ok=True)
    given = ["--python", sys.executable, "--source", f"vggt={tmp_path / 'checkout'}", "--weights", str(weights)]
    return call("install", "vggt", "--yes", *given)


def test_every_model_of_the_catalogue_has_its_script_and_every_pose_model_a_backend():
    assert {model.name for model in runners.catalogue().values() if model.proven == "nothing"} == {"vipe"}
    for model in runners.catalogue().values():
        assert model.script_path.is_file() and model.licence.code and model.licence.weights
        assert model.role != "pose" or f"pose={model.name}" in BACKENDS
    assert set(METRICS.names())  # registering the runners imports no model


def test_install_check_and_remove(tmp_path: Path, weights: Path, folder: Path):
    assert "not installed" in call("doctor")
    said = installed(tmp_path, weights)
    assert "licence of the weights: non-commercial" in said and "is installed" in said
    assert "installed" in call("list").split("vggt-omega")[0].split("vggt ")[1]
    assert "its code cannot be imported: ModuleNotFoundError: No module named 'vggt'" in call("doctor", "vggt", expect=1)
    assert "is removed" in call("remove", "vggt") and "was not installed" in call("remove", "vggt")
    assert not (folder / "vggt").exists() and weights.is_dir()


def test_a_changed_weight_file_is_noticed(tmp_path: Path, weights: Path):
    installed(tmp_path, weights)
    spec = BACKENDS.get("pose=vggt")
    before = spec.made_by()
    assert spec.available().usable and before.startswith("vggt@")
    (weights / "model.safetensors").write_text("another network")
    state = spec.available()
    assert not state.usable and "has changed since it was installed" in state.why and "models install vggt" in state.remedy
    installed(tmp_path, weights)
    assert spec.made_by() != before


def test_an_interrupted_installation_counts_as_none(tmp_path: Path, weights: Path, folder: Path):
    with pytest.raises(UsageError, match=r"holds no config\.json, which vggt needs"):
        environments.install(
            runners.model("vggt"), print, python=Path(sys.executable), sources={"vggt": tmp_path}, weights=tmp_path / "models"
        )
    assert runners.installed(runners.model("vggt")) is None
    with pytest.raises(BackendUnavailable, match="Run: lookback models install vggt"):
        runners.launch(runners.model("vggt"), "cpu", {})


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["install", "vgt"], "did you mean 'vggt'"),
        (["install", "vggt", "--yes", "--source", "vggt"], "write NAME=FOLDER"),
        (["install", "vggt", "--yes", "--source", "other=."], "has no source 'other'"),
        (["install", "vggt", "--yes", "--python", "nowhere"], "nowhere does not exist"),
    ],
)
def test_a_mistake_is_one_sentence(words: list[str], says: str):
    found = CliRunner().invoke(app, ["models", *words])
    assert found.exit_code and says in str(found.exception)


def test_the_answer_of_vipe_is_read_as_its_files_are(tmp_path: Path):
    from lookback.backends.pose.runners import write_answer

    arrays = {"data": np.tile(np.eye(4), (3, 1, 1)), "inds": np.arange(3), "intrinsics": np.tile([50.0, 50, 32, 24], (3, 1))}
    path = write_answer(tmp_path, "vipe", arrays)
    assert path.parent.name == "pose" and (tmp_path / "intrinsics" / path.name).is_file()
