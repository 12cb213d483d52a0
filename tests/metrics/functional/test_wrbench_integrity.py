"""Visual integrity against WRBench's equations written out with torch loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lookback.metrics.functional import integrity_parts, visual_integrity


def reference(cls: np.ndarray, patches: np.ndarray, valid: np.ndarray) -> tuple[float, float]:
    """Eq. 11-13, one frame pair and one patch at a time; torch.quantile interpolates linearly."""
    unit = torch.nn.functional.normalize(torch.from_numpy(cls), dim=1)
    s_global = float((unit[0] @ unit[-1]).clamp(0, 1))
    per_pair = []
    for t in range(len(patches) - 1):
        here = [torch.from_numpy(p) / np.linalg.norm(p) for p, ok in zip(patches[t], valid[t], strict=True) if ok]
        there = [torch.from_numpy(p) / np.linalg.norm(p) for p, ok in zip(patches[t + 1], valid[t + 1], strict=True) if ok]
        best = [max(float((a @ b).clamp(0, 1)) for b in there) for a in here] + [
            max(float((a @ b).clamp(0, 1)) for a in here) for b in there
        ]
        per_pair.append(torch.quantile(torch.tensor(best, dtype=torch.float64), 0.2))
    return s_global, float(torch.quantile(torch.stack(per_pair), 0.2))


@pytest.fixture
def tokens(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    cls, patches = rng.normal(size=(6, 12)) + 0.5, rng.normal(size=(6, 20, 12)) + 0.4
    valid = rng.random((6, 20)) > 0.2
    return cls, patches, valid


def test_equals_the_equations_written_out(tokens: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    s_global, s_local = reference(*tokens)
    parts = integrity_parts(*tokens)
    assert (parts["s_global"], parts["s_local"]) == pytest.approx((s_global, s_local), abs=1e-9)
    assert visual_integrity(*tokens) == min(parts["s_global"], parts["s_local"])


def test_padding_does_not_count(tokens: tuple[np.ndarray, np.ndarray, np.ndarray], rng: np.random.Generator) -> None:
    cls, patches, _ = tokens
    valid = np.arange(20) < 15
    noise = np.where(valid[None, :, None], patches, rng.normal(size=patches.shape))
    zeros = np.where(valid[None, :, None], patches, 0.0)
    assert visual_integrity(cls, noise, valid) == visual_integrity(cls, zeros, valid)


def test_a_black_patch_resembles_nothing(tokens: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    cls, patches, _ = tokens
    dark = patches.copy()
    dark[2, :6] = 0
    assert 0 < integrity_parts(cls, dark)["s_local"] < integrity_parts(cls, patches)["s_local"]


def test_an_intact_clip_scores_one_even_when_patches_move(
    tokens: tuple[np.ndarray, np.ndarray, np.ndarray], rng: np.random.Generator
) -> None:
    cls, patches, _ = tokens
    moving = np.stack([rng.permutation(patches[0]) for _ in range(6)])
    assert visual_integrity(np.tile(cls[0], (6, 1)), moving) == pytest.approx(1.0)


def test_a_cut_lowers_the_global_term_and_local_collapse_the_local_one(rng: np.random.Generator) -> None:
    base, other = np.eye(16)[0], np.eye(16)[1]
    patches = np.tile(rng.normal(size=(30, 16)), (8, 1, 1))
    cut = integrity_parts(np.stack([base] * 4 + [other] * 4), patches)
    assert cut["s_global"] == 0.0
    collapsed = patches.copy()
    collapsed[::2, :12] = rng.normal(size=(4, 12, 16))
    parts = integrity_parts(np.tile(base, (8, 1)), collapsed)
    assert parts["s_global"] == pytest.approx(1.0)
    assert parts["s_local"] < 0.8


def test_the_patch_mean_diagnostic_ignores_padding() -> None:
    patches = np.zeros((2, 3, 2))
    patches[:, 0], patches[0, 1], patches[1, 1], patches[:, 2] = [1, 0], [1, 0], [0, 1], [9, 9]
    parts = integrity_parts(np.ones((2, 2)), patches, [True, True, False])
    # the means are (1,0) and (1/2,1/2): 45 deg apart
    assert parts["s_global_patch_mean"] == pytest.approx(np.sqrt(0.5))
