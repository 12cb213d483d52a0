"""SSIM in strips against the whole-picture comparison and against scikit-image in double precision."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest
from lookback.measures.grey_ssim import WIDTHS, grey_ssim
from lookback.measures.images import MARGIN, PairComparison, mean_inside
from skimage.metrics import structural_similarity

GAUSSIAN = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
SIZES = [(11, 11), (12, 40), (48, 64), (49, 17), (97, 101), (192, 336), (369, 640)]


def made_pair(height: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    smooth = cv2.GaussianBlur(rng.random((height, width)), (0, 0), 3)
    first = cv2.normalize(smooth, None, 0, 255, cv2.NORM_MINMAX)
    return tuple(np.clip(first + rng.normal(0, noise, first.shape), 0, 255).astype(np.uint8) for noise in (2, 12))


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_strips_give_the_means_of_the_whole_map(height: int, width: int) -> None:
    a, b = made_pair(height, width)
    whole = PairComparison(a.shape)
    whole.load(a, b)
    ssim_map = whole.ssim_map(255.0)
    found = grey_ssim(a, b)
    rounding = 2e-7 if a.size > 2000 else 2e-6  # a mean of few values keeps more of their rounding
    assert found.whole == pytest.approx(mean_inside(ssim_map, 0), abs=rounding)
    assert found.inside == pytest.approx(mean_inside(ssim_map, MARGIN), abs=rounding)


@pytest.mark.parametrize(("height", "width"), SIZES[2:])
def test_it_is_the_ssim_of_scikit_image(height: int, width: int) -> None:
    a, b = made_pair(height, width, seed=1)
    expected = structural_similarity(a.astype(float), b.astype(float), data_range=255.0, **GAUSSIAN)
    assert grey_ssim(a, b).inside == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("level", [0, 128, 255])
def test_bright_flat_pictures_keep_their_precision(level: int) -> None:
    rng = np.random.default_rng(level)
    a, b = (np.clip(level + rng.integers(-2, 3, (96, 160)), 0, 255).astype(np.uint8) for _ in range(2))
    expected = structural_similarity(a.astype(float), b.astype(float), data_range=255.0, **GAUSSIAN)
    assert grey_ssim(a, b).inside == pytest.approx(expected, abs=1e-5)
    assert grey_ssim(a, a).whole == pytest.approx(1.0, abs=1e-7)


def test_threads_and_reused_buffers_do_not_change_a_digit() -> None:
    pairs = [made_pair(40 + 8 * (seed % 3), 30 + 16 * (seed % (WIDTHS + 3)), seed) for seed in range(40)]
    alone = [grey_ssim(a, b) for a, b in pairs]
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(lambda pair: grey_ssim(*pair), pairs)) == alone
    assert [grey_ssim(a, b) for a, b in reversed(pairs)] == alone[::-1]
