"""Describe the machine, for numbers that depend on it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lookback.devices import all_devices
from lookback.limits import cores

LIBRARIES = {"numpy": "numpy", "torch": "torch", "OpenCV": "opencv-python", "PyAV": "av", "onnxruntime": "onnxruntime"}
OPENCV = ("opencv-python", "opencv-python-headless")  # the same library; the second needs nothing of a screen


def machine() -> dict[str, str]:
    """Architecture, processor, cores, Python, the libraries that compute, and the GPU where there is one."""
    facts = {
        "architecture": platform.machine(),
        "processor": processor(),
        "cores": str(cores()),
        "Python": platform.python_version(),
        **{name: package_version(package) for name, package in LIBRARIES.items()},
        "GPU": gpu() or "none",
    }
    return {name: value for name, value in facts.items() if value}


def one_line() -> str:
    """The machine as a few words."""
    count = cores()
    graphics = gpu()
    return f"{platform.machine()}, {processor()}, {count} core{'s' * (count > 1)}" + (f", {graphics}" if graphics else "")


def described() -> str:
    """The machine with the versions of the libraries that its numbers depend on."""
    return "; ".join([one_line(), *(f"{name} {package_version(package)}" for name, package in LIBRARIES.items())])


def processor() -> str:
    """The processor's name: from lscpu, which also knows ARM's; else what Linux, macOS or Python call it."""
    if sys.platform == "darwin":
        return _said(["sysctl", "-n", "machdep.cpu.brand_string"]) or platform.processor()
    for line in _said(["lscpu"]).splitlines() + _cpuinfo():
        name, _, value = line.partition(":")
        if name.strip().lower() == "model name" and value.strip() not in ("", "-"):
            return value.strip()
    return platform.processor() or "unknown processor"


def gpu() -> str:
    """The CUDA device's name, empty where torch sees none."""
    if all_devices("auto") == ["cpu"]:
        return ""
    import torch

    return torch.cuda.get_device_name()


def _said(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return ""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, env={**os.environ, "LC_ALL": "C"}).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(errors="replace").splitlines() if path.is_file() else []


def package_version(name: str) -> str:
    """The installed version of a package, empty where it is not installed."""
    for each in OPENCV if name in OPENCV else (name,):
        with suppress(PackageNotFoundError):
            return version(each)
    return ""
