"""The benchmark of GPUs runs without one on tiny networks, over a real video file, and writes its figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from lookback.media.encode import encode
from lookback.paths import project_root


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(project_root() / "bench"))
    import gpu

    yield gpu
    sys.modules.pop("gpu")


@pytest.mark.long
def test_both_speeds_are_measured_and_written(gpu, tmp_path: Path, capsys: pytest.CaptureFixture):
    frames = np.random.default_rng(0).integers(0, 255, (8, 64, 96, 3), np.uint8)
    encode(tmp_path / "clip.mp4", frames, fps=8)
    assert (
        gpu.main([str(tmp_path / "clip.mp4"), *f"--device cpu --tiny --only features --json {tmp_path / 'gpu.json'}".split()]) == 0
    )
    row = json.loads((tmp_path / "gpu.json").read_text())["rows"][0]
    run = row["1 process"]
    assert row["bare"] > 0 and run["share"] == pytest.approx(run["frames_per_s"] / row["bare"])
    assert run["frames_per_s"] == pytest.approx(8 * run["clips_per_s"])
    assert "| DINOv2" in capsys.readouterr().out


def test_a_missing_device_is_one_sentence(gpu, capsys: pytest.CaptureFixture):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    assert gpu.main(["clip.mp4"]) == 2 and "no CUDA device" in capsys.readouterr().err
