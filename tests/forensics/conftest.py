"""Pictures made by construction: a textured room, and a striped disc to put into it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from forensics_evidence import HEIGHT, WIDTH


@pytest.fixture(scope="session")
def room() -> np.ndarray:
    """A room of coloured noise with structure at several scales, float RGB in [0,1]."""
    rng = np.random.default_rng(3)
    layers = [cv2.resize(rng.random((HEIGHT // s, WIDTH // s, 3)).astype(np.float32), (WIDTH, HEIGHT)) for s in (4, 12, 32)]
    return np.clip(0.25 + 0.5 * np.mean(layers, axis=0), 0, 1).astype(np.float32)


@pytest.fixture(scope="session")
def figure() -> tuple[np.ndarray, np.ndarray]:
    """A red and white striped disc and its mask."""
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.circle(mask, (110, 100), 32, 1, -1)
    stripes = np.where((np.arange(WIDTH) // 7 % 2)[None, :, None] > 0, [0.95, 0.05, 0.1], [1.0, 1.0, 0.95]).astype(np.float32)
    return np.broadcast_to(stripes, (HEIGHT, WIDTH, 3)).copy(), mask.astype(bool)
