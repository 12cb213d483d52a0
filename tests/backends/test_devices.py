"""Devices of a run: which are named, which worker takes which, and what happens when a GPU has too little memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from lookback import devices
from lookback.backends.base import BackendOptions
from lookback.backends.features.frames import Dinov2Features, LiteFeatures
from lookback.backends.flow import RaftLarge
from lookback.backends.runtime import FrameBatches, check_finite, in_parts, onnx_providers, precision_of, torch_device
from lookback.errors import BackendUnavailable, NotScorable, ParameterError
from lookback.extraction.identity import producer_of
from lookback.media.ahead import ahead
from lookback.params.load import apply_overrides, validate
from lookback.registry import BACKENDS
from lookback.workers import run_tasks
from time_limits import wait_until


def options(device: str = "cpu", **values: str) -> BackendOptions:
    return BackendOptions(device=device, values=values)


def params(*overrides: str):
    return validate(apply_overrides({"run": "try"}, list(overrides)), "try.yaml")


@pytest.mark.parametrize("wanted", ["auto", "cpu", "cuda", "cuda:1", "[cuda:0, cuda:1]"])
def test_devices_that_can_be_named(wanted: str) -> None:
    assert params(f"device={wanted}").device == (["cuda:0", "cuda:1"] if wanted.startswith("[") else wanted)


@pytest.mark.parametrize("wanted", ["gpu", "cuda:x", "[]", "[cpu, cuda:0]"])
def test_another_name_is_one_sentence_with_the_names(wanted: str) -> None:
    with pytest.raises(ParameterError, match=r"device.*say auto, cpu, cuda, one GPU"):
        params(f"device={wanted}")


def device_here(task: tuple[list[str], Path]) -> str:
    wanted, folder = task
    (folder / str(os.getpid())).touch()
    wait_until(lambda: len(list(folder.iterdir())) == len(wanted), "a worker did not start")  # nobody takes another's task
    return devices.usable_device(wanted)


def test_workers_take_the_gpus_in_turn(tmp_path) -> None:
    wanted = ["cuda:0", "cuda:1", "cuda:2"]
    found = dict(run_tasks(device_here, [(wanted, tmp_path)] * 6, workers=3))
    assert set(found.values()) == set(wanted)
    assert devices.usable_device(wanted) == "cuda:0", "a process that is no worker takes the first"


def test_auto_is_every_gpu_that_torch_sees(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(devices, "GPU_FILES", (str(tmp_path),))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert devices.all_devices("auto") == ["cuda:0", "cuda:1"]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert devices.all_devices("auto") == ["cpu"]


def test_workers_share_a_gpu_by_twos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cores", lambda: 16)
    monkeypatch.setattr(devices, "memory", lambda: 128 * 2**30)
    monkeypatch.setattr(devices, "all_devices", lambda wanted: wanted)
    assert devices.suited_workers(["cuda:0"]) == 2 and devices.suited_workers(["cuda:0", "cuda:1"]) == 4
    assert devices.suited_workers([f"cuda:{number}" for number in range(32)]) == 16


def test_a_gpu_that_is_not_there_is_named_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert torch_device(options(device="cuda:1")) == "cuda:1"
    with pytest.raises(BackendUnavailable, match="'cuda:2' is not usable: torch sees cuda:0 to cuda:1"):
        torch_device(options(device="cuda:2"))


def test_which_gpu_made_an_artifact_does_not_matter() -> None:
    spec = BACKENDS.get("pose=classical")
    first, second, cpu = (producer_of("pose", spec, params(f"device={name}")) for name in ("cuda:0", "cuda:1", "cpu"))
    assert first == second != cpu


def test_precision_is_full_on_a_cpu_and_the_fastest_that_holds_on_a_gpu() -> None:
    assert precision_of(Dinov2Features, options()) == "fp32"
    assert precision_of(Dinov2Features, options(device="cuda:0")) == "fp16"
    assert precision_of(RaftLarge, options(device="cuda")) == "tf32"
    assert precision_of(LiteFeatures, options(device="cuda")) == "fp32"
    assert precision_of(LiteFeatures, options(device="cuda", precision="fp16")) == "fp16"


def test_numbers_that_overflow_are_refused_with_the_remedy() -> None:
    check_finite(np.ones(3), "fp16")
    with pytest.raises(NotScorable, match="overflow in fp16; set its option precision: fp32"):
        check_finite(np.array([1, np.inf]), "fp16")


def test_a_batch_that_does_not_fit_is_computed_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    sizes: list[int] = []

    def compute(frames: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if len(frames) > 3:
            raise torch.OutOfMemoryError("the card is full")
        sizes.append(len(frames))
        return (frames.float() * 2,)

    frames = np.arange(11, dtype=np.uint8).reshape(11, 1, 1, 1)
    batches = FrameBatches("cpu", 11, 11, compute)
    batches.push(np.arange(11), frames)
    _, (found,) = batches.finish()
    assert found.ravel().tolist() == [2.0 * k for k in range(11)] and max(sizes) <= 3

    def never(frames: torch.Tensor) -> tuple[torch.Tensor, ...]:
        raise torch.OutOfMemoryError("the card is full")

    with pytest.raises(torch.OutOfMemoryError):
        in_parts(never, torch.zeros(4, 1))


def test_onnx_uses_cuda_only_where_its_gpu_package_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    assert onnx_providers("cuda:1") == ["CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])
    assert onnx_providers("cuda:1")[0] == ("CUDAExecutionProvider", {"device_id": "1"})
    assert onnx_providers("cpu") == ["CPUExecutionProvider"]


def test_work_ahead_keeps_order_bound_and_error() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(20):
            made.append(number)
            yield number
        raise OSError("the disk is gone")

    found: list[int] = []
    with pytest.raises(OSError, match="the disk is gone"):
        for number in ahead(items(), 3):
            found.append(number)
            assert len(made) <= number + 6, "at most three wait, one is being made, one is in hand"
    assert found == list(range(20))


def test_a_reader_that_leaves_early_ends_the_thread() -> None:
    before = threading.active_count()
    for number in ahead(iter(range(1000)), 2):
        if number == 3:
            break
    wait_until(lambda: threading.active_count() <= before, "the thread lives on")
