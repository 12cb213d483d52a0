"""PSNR and SSIM against scikit-image and torchmetrics, and the released code's rules on hand-made pictures."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from lookback.benchmarks.memobench.metrics.fidelity import frame_psnr, frame_ssim, to_generated_size
from lookback.measures.images import PairComparison
from lookback.media import SharedFrame
from lookback.metrics.functional import psnr, ssim
from skimage.metrics import peak_signal_noise_ratio, structural_similarity
from torchmetrics.functional.image import structural_similarity_index_measure

GAUSSIAN = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}


@pytest.fixture
def pair(photo: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shaken = np.roll(photo, (2, -3), axis=(0, 1)) + rng.normal(0, 8, photo.shape)
    return photo, np.clip(shaken, 0, 255).astype(np.uint8)


def luma(image: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)


class TestPsnr:
    def test_equals_scikit_image(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        expected = peak_signal_noise_ratio(*pair, data_range=255)
        assert psnr(*pair) == pytest.approx(expected, abs=1e-9)
        assert psnr(*(image / 255.0 for image in pair)) == pytest.approx(expected, abs=1e-4)
        assert psnr(pair[0], pair[1] / 255.0) == pytest.approx(expected, abs=1e-4)

    def test_only_identical_frames_give_99_db_as_in_the_released_code(self, photo: np.ndarray) -> None:
        """One grey level in one value of the picture: 10 log10(255^2 N)."""
        other = photo.copy()
        other[0, 0, 0] ^= 1
        assert psnr(photo, other) == pytest.approx(10 * np.log10(255.0**2 * photo.size)) and psnr(photo, other) > 99

    def test_identical_frames_give_99_db(self, photo: np.ndarray) -> None:
        assert psnr(photo, photo) == 99.0
        assert psnr(photo / 255.0, photo / 255.0) == 99.0

    def test_a_constant_offset_by_hand(self) -> None:
        # every value off by 0.1 of the peak: mse 0.01, 20 dB
        assert psnr(np.full((16, 16, 3), 0.5), np.full((16, 16, 3), 0.6)) == pytest.approx(20.0, abs=1e-5)

    def test_a_video_scores_the_mean_of_its_frames(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        a, b = np.stack([pair[0], pair[0]]), np.stack([pair[1], pair[0]])
        assert psnr(a, b) == pytest.approx((psnr(*pair) + 99.0) / 2)


class TestSsim:
    def test_equals_scikit_image_on_the_luma(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        expected = structural_similarity(luma(pair[0]), luma(pair[1]), data_range=255, **GAUSSIAN)
        assert ssim(*pair) == pytest.approx(expected, abs=1e-5)

    def test_official_equals_torchmetrics_which_also_reflects_the_border(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        a, b = (torch.from_numpy(luma(image).astype(np.float64))[None, None] for image in pair)
        expected = structural_similarity_index_measure(a, b, data_range=255.0).item()
        assert frame_ssim(*pair, variant="official") == pytest.approx(expected, abs=1e-5)

    def test_colour_images_equal_scikit_image_too(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        comparison = PairComparison(pair[0].shape)
        comparison.load(*pair)
        expected = structural_similarity(*pair, data_range=255, channel_axis=-1, **GAUSSIAN)
        assert comparison.ssim(255.0, margin=5) == pytest.approx(expected, abs=1e-5)

    @pytest.mark.parametrize("level", [0, 3, 128, 252, 255])
    def test_flat_pictures_keep_their_precision(self, level: int, rng: np.random.Generator) -> None:
        """Nearly constant pictures are where float32 variances could drown: compare with scikit-image in float64."""
        a = np.clip(level + rng.integers(-2, 3, (64, 80)), 0, 255).astype(np.uint8)
        b = np.clip(level + rng.integers(-2, 3, (64, 80)), 0, 255).astype(np.uint8)
        comparison = PairComparison(a.shape)
        comparison.load(a, b)
        expected = structural_similarity(a.astype(float), b.astype(float), data_range=255.0, **GAUSSIAN)
        assert comparison.ssim(255.0, margin=5) == pytest.approx(expected, abs=1e-5)

    def test_buffers_do_not_leak_from_pair_to_pair(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        first = ssim(*pair)
        assert ssim(pair[0], pair[0]) == pytest.approx(1.0, abs=1e-6)
        assert ssim(*pair) == first

    def test_falls_with_blur(self, photo: np.ndarray) -> None:
        scores = [ssim(photo, cv2.GaussianBlur(photo, (0, 0), s)) for s in (0.5, 1.0, 2.0, 5.0)]
        assert all(a > b for a, b in pairwise(scores))


class TestOfficialSize:
    def test_the_truth_is_brought_to_the_generated_size_of_at_most_640_px(self, photo: np.ndarray) -> None:
        wide = cv2.resize(photo, (832, 480), interpolation=cv2.INTER_AREA)
        truth = cv2.resize(photo, (1920, 1080), interpolation=cv2.INTER_LINEAR)
        generated, resized = to_generated_size(wide, truth, 640)
        assert generated.shape == resized.shape == (369, 640, 3)
        assert to_generated_size(wide, truth)[1].shape == (480, 832, 3)

    def test_a_truth_of_that_size_is_not_kept_by_itself(self) -> None:
        """A frame that held itself would stay in memory until the next collection."""
        truth = np.zeros((24, 32, 3), np.uint8).view(SharedFrame)
        assert to_generated_size(np.zeros((24, 32, 3), np.uint8), truth, 640)[1] is truth
        assert not truth._derived

    def test_scores_equal_the_released_formula_written_out(self, photo: np.ndarray) -> None:
        """The released code in numpy: area resize, uint8 mse, Gaussian blurs of 11x11 with sigma 1.5 and reflected border."""
        wide, truth = cv2.resize(photo, (832, 480), interpolation=cv2.INTER_AREA), cv2.resize(photo[10:], (1920, 1080))
        small = cv2.resize(wide, (640, 369), interpolation=cv2.INTER_AREA)
        small_truth = cv2.resize(truth, (640, 369), interpolation=cv2.INTER_AREA)
        mse = ((small.astype(np.float64) - small_truth) ** 2).mean()
        a, b = (luma(image).astype(np.float64) for image in (small, small_truth))
        blur = lambda image: cv2.GaussianBlur(image, (11, 11), 1.5)  # noqa: E731
        mu_a, mu_b = blur(a), blur(b)
        top = (2 * mu_a * mu_b + 6.5025) * (2 * (blur(a * b) - mu_a * mu_b) + 58.5225)
        bottom = (mu_a**2 + mu_b**2 + 6.5025) * (blur(a * a) - mu_a**2 + blur(b * b) - mu_b**2 + 58.5225)
        assert psnr(wide, truth, variant="official") == pytest.approx(10 * np.log10(255**2 / mse), rel=1e-12)
        assert ssim(wide, truth, variant="official") == pytest.approx((top / bottom).mean(), abs=1e-6)


@pytest.mark.clips
def test_real_clips_agree_with_scikit_image(memobench_clips: Path) -> None:
    """81 frames of 832x480 against a 1080p truth. How long that takes is measured by `make bench`, not by a test."""
    from lookback.media import open_video

    count = 0
    with open_video(memobench_clips / "Real_007_wan.mp4") as generated, open_video(memobench_clips / "Real_007_gt.mp4") as truth:
        for (index, frame), (_, other) in zip(generated, truth, strict=True):
            count += 1
            if index == 40:
                a, b = to_generated_size(frame, other, 640)
    assert count == 81
    assert frame_psnr(a, b) == pytest.approx(peak_signal_noise_ratio(a, b, data_range=255), abs=1e-6)
    ours = frame_ssim(a, b, variant="official")
    assert ours == pytest.approx(structural_similarity(luma(a), luma(b), data_range=255, **GAUSSIAN), abs=0.01)
