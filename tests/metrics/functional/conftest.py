"""Scenes whose answers are known by construction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

CLIPS = Path(__file__).resolve().parents[4] / "shared" / "clips"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260)


@pytest.fixture
def photo() -> np.ndarray:
    """A real photograph, (512,512,3) uint8."""
    from skimage import data

    return data.astronaut()


@pytest.fixture
def there_and_back() -> Callable[[float], np.ndarray]:
    """WRBench's yaw profile: 81 frames, 40 out to the peak and 41 back, as angles in degrees."""
    return lambda peak: np.concatenate([np.linspace(0.0, peak, 40), np.linspace(peak, 0.0, 41)])


@pytest.fixture
def memobench_clips() -> Path:
    folder = CLIPS / "memobench"
    if not folder.is_dir():
        pytest.skip("needs the third-party clips in ../shared/clips/memobench")
    import av.logging

    # torchmetrics imports torchvision, which routes FFmpeg's log through Python: decoder threads then deadlock
    av.logging.set_level(None)
    return folder
