"""Backends that a session keeps: built once, and anew when what they are made of changes under its name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_checkpoints
from lookback.backends.choose import backend_options
from lookback.errors import BackendUnavailable
from lookback.extraction.built import built, look_again
from lookback.params import RunParams
from lookback.registry import BACKENDS, BackendSpec


def test_a_checkpoint_that_is_replaced_under_its_name_is_loaded_again(tmp_path: Path, astronaut: np.ndarray) -> None:
    """Its artifacts are stored under the new checkpoint's hash: made by the old one they would stay wrong for ever."""
    folder = tiny_checkpoints.dinov2(tmp_path / "dino")
    spec = BACKENDS.get("features=dinov2")
    params = RunParams(run="r", device="cpu", extraction={"options": {"features": {"path": str(folder), "max_side": 98}}})  # type: ignore[arg-type]
    first = built(spec, params, "mind")
    assert built(spec, params, "mind") is first
    frames = astronaut[None, :98, :98]
    before = first.encode(frames)
    tiny_checkpoints.dinov2(folder, registers=True)
    after = built(spec, params, "mind").encode(frames)
    fresh = spec.build(backend_options(spec, params, "mind")).encode(frames)
    assert np.array_equal(after.cls, fresh.cls) and not np.array_equal(before.cls, after.cls)


@pytest.mark.usefixtures("embedded_weights")
def test_weights_that_are_installed_in_the_session_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, params = BACKENDS.get("pose=classical"), RunParams(run="r", device="cpu")
    with monkeypatch.context() as without:
        without.setenv("LOOKBACK_WEIGHTS", str(tmp_path))
        assert built(spec, params, "").recognised_by == spec.made_by() == "sift"
    assert built(spec, params, "").recognised_by == spec.made_by() == "xfeat"


def test_a_failure_is_remembered_for_a_stage_and_then_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def build(options: object) -> object:
        tries.append(options)
        if len(tries) == 1:
            raise BackendUnavailable("the download broke off", "try again")
        return object()

    spec = BackendSpec(build=build, available=lambda: None, role="flow", name="made-up", title="", embedded=False)  # type: ignore[arg-type,return-value]
    monkeypatch.setattr("lookback.extraction.built.producer_of", lambda *given: spec)
    params = RunParams(run="r", device="cpu")
    for _ in range(2):
        with pytest.raises(BackendUnavailable, match="broke off"):
            built(spec, params, "")
    look_again()
    assert built(spec, params, "") is built(spec, params, "") and len(tries) == 2
