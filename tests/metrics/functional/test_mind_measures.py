"""MIND's measures against torchmetrics and torch, and the released code's dropped batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lookback.benchmarks.mind.metrics.shared import lcm_length, scored_length
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant
from lookback.metrics.functional import dino_mse, gsc, lcm, preprocess, visual
from torchmetrics.functional.image import peak_signal_noise_ratio, structural_similarity_index_measure
from torchvision.transforms.functional import center_crop


def tensor(frame: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.asarray(frame, dtype=np.float64)).permute(2, 0, 1)[None]


@pytest.fixture
def videos(photo: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Three frames of 96x128 in [0,1], and a shifted, noisy and dimmed prediction of them."""
    truth = np.stack([photo[i * 20 : i * 20 + 96, 200:328] for i in range(3)]) / 255.0
    noisy = np.clip(np.roll(truth, 1, axis=2) + rng.normal(0, 0.05, truth.shape), 0, 1) * 0.9
    return noisy.astype(np.float32), truth.astype(np.float32)


class TestLcm:
    def test_equals_torchmetrics_frame_by_frame(self, videos: tuple[np.ndarray, np.ndarray]) -> None:
        result = lcm(*videos)
        for index, (p, t) in enumerate(zip(*videos, strict=True)):
            assert result["mse"][index] == pytest.approx(torch.nn.functional.mse_loss(tensor(p), tensor(t)).item(), rel=1e-5)
            assert result["psnr"][index] == pytest.approx(
                peak_signal_noise_ratio(tensor(p), tensor(t), data_range=1.0).item(), abs=1e-4
            )
            assert result["ssim"][index] == pytest.approx(
                structural_similarity_index_measure(tensor(p), tensor(t), data_range=1.0).item(), abs=1e-5
            )
        assert result["avg_ssim"] == pytest.approx(result["ssim"].mean())
        assert result["length"] == 3

    def test_the_range_of_ssim_is_1_also_for_pale_frames(self, videos: tuple[np.ndarray, np.ndarray]) -> None:
        """The released code passes data_range=1.0. The range of the pair itself would call pale frames far more different."""
        pale = [0.4 + 0.1 * video for video in videos]
        found = lcm(*pale)["ssim"]
        whole, own = (
            [structural_similarity_index_measure(tensor(p), tensor(t), data_range=known).item() for p, t in zip(*pale, strict=True)]
            for known in (1.0, None)
        )
        assert found == pytest.approx(whole, abs=1e-5)
        assert min(np.subtract(whole, own)) > 0.02

    def test_two_different_plain_frames_have_a_similarity(self) -> None:
        a, b = np.full((1, 24, 32, 3), 0.25, np.float32), np.full((1, 24, 32, 3), 0.75, np.float32)
        expected = structural_similarity_index_measure(tensor(a[0]), tensor(b[0]), data_range=1.0).item()
        assert lcm(a, b)["avg_ssim"] == pytest.approx(expected, abs=1e-6)

    def test_uint8_frames_score_as_their_floats(self, videos: tuple[np.ndarray, np.ndarray]) -> None:
        whole = [np.round(video * 255).astype(np.uint8) for video in videos]
        assert lcm(*whole)["ssim"] == pytest.approx(lcm(*(video / 255.0 for video in whole))["ssim"], abs=1e-6)

    def test_starts_at_mark_time_and_ends_with_the_shorter(self, videos: tuple[np.ndarray, np.ndarray]) -> None:
        predicted, truth = videos
        result = lcm(truth[1:], truth, mark_time=1)
        assert result["length"] == 2
        assert result["avg_mse"] == 0.0
        assert lcm(predicted, truth, video_max_time=1)["length"] == 1
        assert lcm_length(100, 30, 81) == 70
        assert lcm_length(100, 30, 81, 24) == 24

    def test_identical_frames_have_infinite_psnr(self, videos: tuple[np.ndarray, np.ndarray]) -> None:
        assert np.isinf(lcm(videos[1], videos[1])["avg_psnr"])

    def test_lpips_comes_from_the_distance_given(self, videos: tuple[np.ndarray, np.ndarray]) -> None:
        result = lcm(*videos, lpips=lambda a, b: float(np.abs(a - b).mean()))
        assert result["avg_lpips"] == pytest.approx(np.abs(videos[0] - videos[1]).mean(), rel=1e-5)
        assert "lpips" not in lcm(*videos)


class TestOfficialBatches:
    @pytest.mark.parametrize(
        ("frames", "scored"), [(1, 0), (81, 0), (100, 0), (101, 100), (162, 100), (200, 100), (201, 200), (250, 200)]
    )
    def test_the_batch_that_ends_the_clip_is_not_scored(self, frames: int, scored: int) -> None:
        assert scored_length(frames, 100) == scored
        assert scored_length(frames) == frames

    def test_81_frames_have_a_score_only_when_corrected(self, rng: np.random.Generator) -> None:
        video = rng.random((81, 12, 12, 3)).astype(np.float32)
        assert lcm(video, video)["length"] == 81
        with pytest.raises(NotScorable) as caught:
            lcm(video, video, variant="official")
        assert caught.value.reason is Reason.TOO_SHORT
        assert lcm(np.concatenate([video, video]), np.concatenate([video, video]), variant="official")["length"] == 100


class TestGsc:
    def test_a_mirrored_video_is_perfect(self, videos: tuple[np.ndarray, np.ndarray]) -> None:
        result = gsc(np.concatenate([videos[1], videos[1][::-1]]))
        assert result["avg_mse"] == 0.0
        assert result["avg_ssim"] == pytest.approx(1.0, abs=1e-6)
        assert result["length"] == 3

    def test_compares_with_the_reversed_second_half(self, videos: tuple[np.ndarray, np.ndarray]) -> None:
        predicted, truth = videos
        result, expected = gsc(np.concatenate([predicted, truth[::-1]])), lcm(predicted, truth)
        for name in ("mse", "psnr", "ssim"):
            assert result[name] == pytest.approx(expected[name])

    def test_official_scores_mirror_videos_whole(self, rng: np.random.Generator) -> None:
        video = rng.random((60, 12, 12, 3)).astype(np.float32)
        assert gsc(video, variant="official")["length"] == 30

    @pytest.mark.parametrize("half", [1, 11, 81])
    def test_official_fails_on_a_last_batch_of_one_frame(self, half: int) -> None:
        video = np.zeros((2 * half, 12, 12, 3), np.float32)
        assert gsc(video)["length"] == half
        with pytest.raises(NotScorable) as caught:
            gsc(video, variant="official")
        assert caught.value.reason is Reason.UNDEFINED

    @pytest.mark.parametrize("variant", ["corrected", "official"])
    def test_an_odd_number_of_frames_has_no_halves(self, variant: Variant) -> None:
        with pytest.raises(NotScorable) as caught:
            gsc(np.zeros((81, 12, 12, 3), np.float32), variant=variant)
        assert caught.value.reason is Reason.INVALID_INPUT and "81" in caught.value.detail


class TestPreprocess:
    @pytest.mark.parametrize(
        ("height", "width"), [(1080, 1920), (480, 832), (576, 1024), (1000, 1000), (720, 1280), (720, 1283), (360, 641)]
    )
    def test_equals_torch_s_bilinear_without_antialias(self, height: int, width: int, rng: np.random.Generator) -> None:
        frame = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        scale = max(720 / height, 1280 / width)
        size = (round(height * scale), round(width * scale))
        scaled = torch.nn.functional.interpolate(tensor(frame), size=size, mode="bilinear", align_corners=False, antialias=False)[0]
        expected = center_crop(scaled, [720, 1280]).permute(1, 2, 0).numpy() / 255.0
        np.testing.assert_allclose(preprocess(frame), expected, atol=2e-4)


def test_dino_mse_is_torch_s_mse_of_normalised_tokens(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 4, 9, 16))
    x, y = (torch.nn.functional.normalize(torch.from_numpy(tokens), dim=-1) for tokens in (a, b))
    expected = [torch.nn.functional.mse_loss(x[i], y[i]).item() for i in range(4)]
    assert dino_mse(a, b) == pytest.approx(expected, abs=1e-14)


def test_dino_mse_treats_a_token_of_zeros_as_torch_does(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 3, 5, 8))
    a[0, 1], a[1, 2], b[1, 2] = 0, 0, 0
    normalised = [torch.nn.functional.normalize(torch.from_numpy(tokens), p=2, dim=-1) for tokens in (a, b)]
    expected = torch.nn.functional.mse_loss(*normalised, reduction="none").mean(dim=(1, 2)).numpy()
    assert dino_mse(a, b) == pytest.approx(expected, abs=1e-14)


def test_visual_scales() -> None:
    result = visual([50.0, 70.0], [5.0, 6.0])
    assert result["avg_imaging"] == pytest.approx(0.6)
    assert result["avg_aesthetic"] == pytest.approx(0.55)
    assert result["imaging"] == pytest.approx([0.5, 0.7])
