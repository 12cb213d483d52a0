"""The doctor reports every backend. For one that is not usable, it says why and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from lookback import doctor
from lookback.cli.app import app
from lookback.registry import BACKENDS, Availability
from typer.testing import CliRunner

ROLES = {
    "faces",
    "people",
    "features",
    "object_features",
    "person_features",
    "perceptual",
    "flow",
    "depth",
    "clip",
    "quality",
    "image_reward",
    "aesthetic",
}


def test_every_registered_backend_has_a_row_with_a_reason_and_a_remedy():
    frame = doctor.report()
    assert list(frame.columns) == doctor.COLUMNS
    keys = {f"{row['role']}={row['backend']}" for row in frame.to_dict("records")}
    assert keys >= {spec.key for spec in BACKENDS} and set(frame["role"]) >= ROLES
    unusable = frame[~frame["usable"]]
    assert (unusable["why"] != "").all() and (unusable["remedy"] != "").all()


def test_every_role_but_those_of_clip_and_image_reward_has_an_embedded_backend(embedded_weights: None):
    frame = doctor.report()
    for role in ROLES - {"clip", "image_reward", "aesthetic"}:
        rows = frame[(frame["role"] == role) & frame["embedded"]]
        assert len(rows) and rows["usable"].all(), role


def test_an_empty_weights_cache_shows_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LOOKBACK_WEIGHTS", str(tmp_path))
    frame = doctor.report().set_index(["role", "backend"])
    row = frame.loc[("features", "efficientnet-lite0")]
    assert not row["usable"] and row["remedy"] == "Run: python -m lookback.weights" and str(tmp_path) in row["why"]
    assert "f9e44c814b77203eaa57a6bdbbd535f21ede1415" in frame.loc[("features", "dinov2"), "remedy"]


def test_the_report_is_plain_json_and_names_the_environment():
    rows = json.loads(json.dumps(doctor.report().to_dict("records")))
    environment = {row["backend"]: row["why"] for row in rows if row["role"] == "environment"}
    assert environment["python"].startswith("3.") and "libavcodec" in environment["av (FFmpeg)"]
    assert all(isinstance(row["usable"], bool) for row in rows)


def test_a_backend_that_fails_to_answer_does_not_silence_the_others():
    def broken() -> Availability:
        raise RuntimeError("no idea")

    state = doctor._ask(broken)
    assert not state.usable and "RuntimeError: no idea" in state.why


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return doctor.report()


def test_the_short_page_names_what_works_what_does_not_and_ends_with_the_next_command(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("params", "notebooks"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
    monkeypatch.setattr(doctor, "report", lambda: frame)
    shown = CliRunner().invoke(app, ["doctor"]).output
    works, broken = shown.split("Does not work")
    assert "pose (classical)" in works and "geometric" in works and "da3" in broken and "openai" in broken
    assert len(shown.splitlines()) <= 30 and max(map(len, shown.splitlines())) <= doctor.WIDTH
    assert "not in the cache" not in shown and shown.rstrip().splitlines()[-1].startswith("Next: ")


def test_the_next_command_follows_from_what_is_there(frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    healthy = frame[frame["usable"]]
    monkeypatch.setattr(doctor, "find_project", lambda: None)
    assert doctor.next_command(healthy).startswith("lookback init study")
    monkeypatch.setattr(doctor, "find_project", lambda: tmp_path)
    assert doctor.next_command(healthy).startswith("make report")
    (tmp_path / "outputs" / "mine").mkdir(parents=True)
    (tmp_path / "outputs" / "mine" / "report.html").touch()
    assert doctor.next_command(healthy).startswith("lookback inspect --run mine")
    broken = healthy[healthy["embedded"]].tail(1).assign(role="features", usable=False, remedy="Run: python -m lookback.weights")
    assert doctor.next_command(pd.concat([healthy, broken])) == "python -m lookback.weights"


def test_all_shows_every_backend_with_its_remedy(frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "report", lambda: frame)
    shown = CliRunner().invoke(app, ["doctor", "--all"]).output
    assert all(spec.name in shown for spec in BACKENDS) and shown.count(" -> ") == (~frame["usable"]).sum()
    kinds = {line.split()[0]: line.partition("(")[2].partition(")")[0] for line in shown.splitlines() if "usable  " in line}
    named = {"files": "made elsewhere", "openai": "looks at frames", "dinov3": "paper's model", "geometric": "embedded"}
    assert {name: kinds[name] for name in named} == named
