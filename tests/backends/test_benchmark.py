"""The benchmark of the feature backend runs without an accelerator on a tiny network and reports both speeds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from lookback.paths import project_root


def test_both_speeds_are_measured_and_written(tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(project_root() / "bench"))
    import features_gpu

    target = tmp_path / "figures.json"
    words = "--device cpu --tiny --precision fp32 --frames 16 --batch 4 --max-side 56 --size 96x54 --repeats 1 --json"
    features_gpu.main([*words.split(), str(target)])
    figures = json.loads(target.read_text())
    assert figures["bare_fps"] > 0 and figures["share"] == pytest.approx(figures["backend_fps"] / figures["bare_fps"])
    assert figures["tokens"] == 17 and figures["cosine"] > 0.9999
    assert "bare forward" in capsys.readouterr().out
    sys.modules.pop("features_gpu")


def test_a_missing_device_is_one_sentence(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    monkeypatch.syspath_prepend(str(project_root() / "bench"))
    import features_gpu

    assert features_gpu.main([]) == 2 and "no CUDA device" in capsys.readouterr().err
    sys.modules.pop("features_gpu")
