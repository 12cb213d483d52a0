"""How far each number changes when the machine or the picture is disturbed a little. The tolerances come from this.

Each disturbance runs in its own process, because libraries read their settings when they are loaded:
`python -m lookback.selfcheck.sensitivity NAME FILE NAMED` measures under one disturbance and writes the rows as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lookback.errors import LookbackError
from lookback.files import write_json
from lookback.selfcheck.clips import Noise, write_samples
from lookback.selfcheck.measure import Measured, measure

# Simple code paths: without the vector instructions of x86_64 (AVX2, AVX-512, FMA) and ARM, and without Intel's own libraries.
PLAIN = {
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_CBWR": "COMPATIBLE",
    "OPENCV_IPP": "disabled",
    "OPENCV_CPU_DISABLE": "SSE4_1,SSE4_2,POPCNT,AVX,FP16,FMA3,AVX2,AVX512-SKX,NEON_DOTPROD,NEON_FP16",
}
CORES = {"x86_64": "Nehalem", "AMD64": "Nehalem", "aarch64": "ARMV8", "arm64": "ARMV8"}


@dataclass(frozen=True)
class Disturbance:
    """What is changed: the environment before the libraries load, settings afterwards, or the pictures."""

    title: str
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Callable[[], None] = lambda: None
    noise: Noise = field(default_factory=Noise)


def _two_threads() -> None:
    import cv2
    import torch

    torch.set_num_threads(2)
    cv2.setNumThreads(2)


def _plain_code() -> None:
    import cv2

    cv2.setUseOptimized(False)


def _no_onednn() -> None:
    import torch

    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]


def _without_numba() -> None:
    sys.modules["numba"] = None  # type: ignore[assignment]  # Python takes it for a package that is not there


def _exact_colours() -> None:
    from lookback.media import container

    container.CONVERSION = container.EXACT


DISTURBANCES = {
    "threads": Disturbance("two threads", {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}, _two_threads),
    "plain": Disturbance("plain code in torch, OpenCV and numpy", PLAIN, _plain_code),
    "onednn": Disturbance("torch without oneDNN", {}, _no_onednn),
    "numba": Disturbance("OpenCV in place of compiled loops", {}, _without_numba),
    "colours": Disturbance("colours converted without swscale's shortcuts", {}, _exact_colours),
    "noise1": Disturbance("one grey level in 1 of 10,000 pixels", noise=Noise(10_000, 1)),
    "noise2": Disturbance("one grey level in 1 of 10,000 pixels", noise=Noise(10_000, 2)),
    "noise3": Disturbance("one grey level in 1 of 100 pixels", noise=Noise(100, 3)),
}


def disturbed_rows(named: Mapping[str, str], done: Callable[[str], None]) -> dict[str, list[Measured]]:
    """The rows under each disturbance. Noise in the pictures is used only for numbers that come from a backend."""
    found: dict[str, list[Measured]] = {}
    for name, disturbance in DISTURBANCES.items():
        done(disturbance.title)
        rows = _in_process(name, disturbance, named)
        if disturbance.noise.every:
            rows = [row for row in rows if row.backend != "none"]
        found[f"{disturbance.title} ({name})" if disturbance.title in found else disturbance.title] = rows
    return found


def _in_process(name: str, disturbance: Disturbance, named: Mapping[str, str]) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="lookback-selfcheck-") as scratch:
        target = Path(scratch) / "rows.json"
        command = [sys.executable, "-m", "lookback.selfcheck.sensitivity", name, str(target), json.dumps(dict(named))]
        environment = {**os.environ, **_numpy_plain(disturbance), **disturbance.environment}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True)
        if ended.returncode or not target.is_file():
            last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
            raise LookbackError(f"Measuring under '{disturbance.title}' failed: {last}")
        return [Measured(**row) for row in json.loads(target.read_text())]


def _numpy_plain(disturbance: Disturbance) -> dict[str, str]:
    """Settings that turn off the code that numpy and OpenBLAS choose for the processor at run time."""
    if disturbance.environment is not PLAIN:
        return {}
    import platform

    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    chosen = " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))
    core = CORES.get(platform.machine(), "")
    return {"NPY_DISABLE_CPU_FEATURES": chosen} | ({"OPENBLAS_CORETYPE": core} if core else {})


def main(name: str, target: Path, named: Mapping[str, str]) -> None:
    """Measure under one disturbance."""
    disturbance = DISTURBANCES[name]
    disturbance.settings()
    with tempfile.TemporaryDirectory(prefix="lookback-selfcheck-") as scratch:
        samples = write_samples(Path(scratch), noise=disturbance.noise)
        write_json(target, [asdict(row) for row in measure(samples, named, Path(scratch), ["cpu"])])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))
