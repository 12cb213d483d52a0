"""Where networks run: `auto`, `cpu`, `cuda`, `cuda:1`, or a list of GPUs that the worker processes share out among themselves."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from lookback.extras import installed
from lookback.limits import cores, memory
from lookback.workers import worker_number

# device files of GPUs: NVIDIA, AMD, Windows and Jetson
GPU_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu")
WORKER_MEMORY = 2 * 2**30  # a worker with the embedded models and a clip of 1080p
NAMED = re.compile(r"auto|cpu|cuda(:\d+)?")


def _known(wanted: str | list[str]) -> str | list[str]:
    if isinstance(wanted, str):
        if NAMED.fullmatch(wanted):
            return wanted
    elif wanted and all(re.fullmatch(r"cuda:\d+", name) for name in wanted):
        return wanted
    raise ValueError("say auto, cpu, cuda, one GPU (cuda:1) or a list of GPUs ([cuda:0, cuda:1])")


Devices = Annotated[str | list[str], AfterValidator(_known)]


def usable_device(wanted: str | list[str]) -> str:
    """The device of this process. Worker processes take the GPUs in turn: the first worker the first GPU, and so on."""
    devices = all_devices(wanted)
    return devices[worker_number() % len(devices)]


def all_devices(wanted: str | list[str]) -> list[str]:
    """The devices to use: `auto` is every GPU that torch sees, else the CPU. Torch is not loaded where no GPU can be."""
    if isinstance(wanted, list):
        return wanted
    if wanted != "auto":
        return [wanted]
    if sys.platform == "linux" and not any(Path(file).exists() for file in GPU_FILES):
        return ["cpu"]
    if not installed("torch"):
        return ["cpu"]
    import torch

    return [f"cuda:{number}" for number in range(torch.cuda.device_count())] or ["cpu"]


def suited_workers(wanted: str | list[str]) -> int:
    """How many worker processes suit this machine: one for each core that has memory for it, or two for each GPU."""
    devices = all_devices(wanted)
    most = min(cores(), memory() // WORKER_MEMORY)
    return max(1, most if devices == ["cpu"] else min(most, 2 * len(devices)))


def kind_of(device: str) -> str:
    """`cpu` or `cuda`: which GPU of a machine made a number does not matter."""
    return device.partition(":")[0]
