"""Two runs on one folder, and a video that changes under its name after curation hashed it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lookback import stages
from lookback.errors import LookbackError, Reason
from lookback.media import encode
from lookback.params import RunParams
from lookback.params.load import validate
from lookback.pipeline.lock import run_lock

HOLDER = """
import sys, time
from pathlib import Path
from lookback.pipeline.lock import run_lock
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def picture(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 255, (6, 48, 64, 3), dtype=np.uint8)


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunParams:
    project = tmp_path / "project"
    (project / "params").mkdir(parents=True)
    (project / "notebooks").mkdir()
    monkeypatch.setenv("LOOKBACK_ROOT", str(project))
    for name in ("one", "two"):
        encode(tmp_path / "data" / "model" / f"{name}.mp4", picture(len(name)), 8)
    values = {"run": "r", "workers": 1, "device": "cpu", "curation": {"sources": [{"root": str(tmp_path / "data")}]}}
    return validate({**values, "extraction": {"roles": ["quality"]}}, "test")


def test_a_second_run_on_the_folder_is_told_who_holds_it(tmp_path: Path):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(LookbackError, match=rf"Another run \(process {holder.pid}\) is writing to .*; wait for it, .*--output"),
            run_lock(tmp_path),
        ):
            pass
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    with run_lock(tmp_path):  # nobody has to remove a lock that a killed run left
        pass


def test_a_video_that_changes_after_curation_is_noticed_and_spoils_nothing(params: RunParams, tmp_path: Path):
    stages.curation(params)
    video = tmp_path / "data" / "model" / "one.mp4"
    original, stamp = video.read_bytes(), video.stat()
    encode(video, picture(77), 8)
    os.utime(video, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # as a copy that keeps the time would
    table = stages.extraction(params)["artifacts"].set_index("clip_id")
    assert table.loc["one", "reason"] == Reason.INVALID_INPUT
    assert "run the curation stage again" in table.loc["one", "detail"]
    assert table.loc["two", "reason"] == ""
    # the old file is back: nothing of the other one was kept under its name
    video.write_bytes(original)
    assert set(stages.extraction(params)["artifacts"]["reason"]) == {""}


def test_a_video_that_changes_between_runs_is_extracted_again(params: RunParams, tmp_path: Path):
    before = stages.curation(params)["clips"].set_index("clip_id")
    stored = stages.extraction(params)["artifacts"].set_index("clip_id")["stored"]
    encode(tmp_path / "data" / "model" / "one.mp4", picture(77), 8)
    after = stages.curation(params)["clips"].set_index("clip_id")
    assert after.loc["one", "content_hash"] != before.loc["one", "content_hash"]
    again = stages.extraction(params)["artifacts"].set_index("clip_id")["stored"]
    assert again["one"] != stored["one"] and again["two"] == stored["two"]
