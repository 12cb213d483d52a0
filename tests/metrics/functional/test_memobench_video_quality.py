"""MemoBench's quality and reappearance metrics against closed forms, torch and scipy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lookback.metrics.functional import (
    best_detection,
    geo3d,
    image_reward,
    motion_smoothness,
    object_identity,
    object_reappearance,
    visual_quality,
    warp_errors,
)
from scipy.stats import logistic


class TestMotionSmoothness:
    """A sine wave panned by 5 px a frame: sampled the wrong way it is 10 px off, and the error has a closed form."""

    WAVELENGTH = 40.0
    AMPLITUDE = (
        0.15 * np.log(1 / 0.562) * np.pi / (4 * np.sin(np.pi * 10 / WAVELENGTH))
    )  # makes the official error 0.15 ln(1/0.562)

    @pytest.fixture
    def pan(self) -> tuple[np.ndarray, np.ndarray]:
        x = np.arange(1200)
        frames = [0.5 + self.AMPLITUDE * np.sin(2 * np.pi * (x - 5.0 * step) / self.WAVELENGTH) for step in range(3)]
        flows = np.zeros((2, 24, 1200, 2))
        flows[..., 0] = 5.0
        return np.stack([np.broadcast_to(frame[None, :, None], (24, 1200, 3)) for frame in frames]), flows

    def test_exact_flow_scores_near_one_and_the_released_warp_0_562(self, pan: tuple[np.ndarray, np.ndarray]) -> None:
        frames, flows = pan
        assert motion_smoothness(frames, flows) == pytest.approx(0.997, abs=0.004)
        assert motion_smoothness(frames, flows, variant="official") == pytest.approx(0.562, abs=0.004)

    def test_the_released_warp_is_right_only_for_backward_flow(self, pan: tuple[np.ndarray, np.ndarray]) -> None:
        frames, flows = pan
        assert motion_smoothness(frames, -flows, variant="official") == pytest.approx(0.997, abs=0.004)

    def test_error_equals_torch_s_grid_sample(self, rng: np.random.Generator) -> None:
        frames, flows = rng.random((2, 20, 30, 3)).astype(np.float32), np.round(rng.normal(0, 3, (1, 20, 30, 2)))
        y, x = np.mgrid[0:20, 0:30]
        grid = np.stack([(x + flows[0, ..., 0]) / 29 * 2 - 1, (y + flows[0, ..., 1]) / 19 * 2 - 1], -1).astype(np.float32)[None]
        second = torch.from_numpy(frames[1]).permute(2, 0, 1)[None]
        warped = torch.nn.functional.grid_sample(second, torch.from_numpy(grid), padding_mode="border", align_corners=True)
        expected = (warped[0].permute(1, 2, 0) - torch.from_numpy(frames[0])).abs().mean().item()
        assert warp_errors(frames, flows) == pytest.approx([expected], abs=1e-4)

    def test_a_still_video_scores_one_and_flicker_less(self, photo: np.ndarray) -> None:
        still = np.stack([photo[:64, :64]] * 3)
        flows = np.zeros((2, 64, 64, 2))
        flicker = still.copy()
        flicker[1] = flicker[1] // 2
        assert motion_smoothness(still, flows) == 1.0
        assert motion_smoothness(flicker, flows) < 0.5


class TestObjectIdentity:
    def test_equals_torch_topk(self, rng: np.random.Generator) -> None:
        patches, anchor = rng.normal(size=(3, 50, 8)) + 0.3, rng.normal(size=(50, 8)) + 0.3
        similarity = torch.cosine_similarity(torch.from_numpy(patches), torch.from_numpy(anchor)[None], dim=-1).clamp(0, 1)
        top = similarity.topk(20, dim=1).values
        expected = 0.7 * top.mean(dim=1).mean() + 0.3 * top.min()
        assert object_identity(patches, anchor) == pytest.approx(expected.item(), abs=1e-12)

    def test_black_patches_have_no_similarity_as_in_the_release(self, rng: np.random.Generator) -> None:
        patches, anchor = rng.random((2, 10, 4)), rng.random((10, 4))
        patches[0, :7] = anchor[5] = 0
        a, b = (torch.nn.functional.normalize(torch.from_numpy(tokens), dim=-1) for tokens in (patches, anchor))
        top = (a * b).sum(dim=-1).clamp(0, 1).topk(4, dim=1).values
        assert top.min() == 0  # three patches of the first frame are not black
        assert object_identity(patches, anchor) == pytest.approx((0.7 * top.mean() + 0.3 * top.min()).item(), abs=1e-12)

    def test_the_same_frame_scores_one(self, rng: np.random.Generator) -> None:
        anchor = rng.normal(size=(10, 4))
        assert object_identity(anchor[None], anchor) == pytest.approx(1.0)

    def test_only_the_most_similar_share_counts(self) -> None:
        anchor = np.tile([1.0, 0.0], (10, 1))
        frame = np.vstack([np.tile([1.0, 0.0], (4, 1)), np.tile([0.0, 1.0], (6, 1))])
        assert object_identity(frame[None], anchor) == pytest.approx(1.0)
        assert object_identity(frame[None], anchor, top_fraction=0.8) == pytest.approx(0.7 * 0.5)


class TestGeo3d:
    def test_equals_torch_cosines(self, rng: np.random.Generator) -> None:
        visible, reappear = rng.random((3, 6, 7)), rng.random((4, 6, 7))

        def cosines(maps: np.ndarray) -> torch.Tensor:
            flat = torch.from_numpy(maps).flatten(1)
            flat = (flat - flat.amin(1, keepdim=True)) / (flat.amax(1, keepdim=True) - flat.amin(1, keepdim=True))
            return torch.cosine_similarity(flat[:-1], flat[1:])

        v, r = cosines(visible), cosines(reappear)
        expected = 0.7 * (v.mean() + r.mean()) / 2 + 0.3 * min(v.min(), r.min())
        assert geo3d(visible, reappear) == pytest.approx(expected.item(), abs=1e-12)

    def test_scale_and_shift_of_depth_do_not_matter(self, rng: np.random.Generator) -> None:
        depth = rng.random((5, 5))
        assert geo3d(np.stack([depth, 3 * depth + 2]), np.stack([0.1 * depth, depth])) == pytest.approx(1.0)


class TestReappearance:
    def test_by_hand(self) -> None:
        # 3 of 5 frames with confidences 0.9, 0.6, 0.6: (3/5) * 0.7
        assert object_reappearance([0.9, 0.6, 0.6], 5) == pytest.approx(0.42)
        assert object_reappearance([], 5) == 0.0
        assert object_reappearance([1.0, 1.0], 2) == 1.0

    def test_coverage_decides_which_mask_counts(self) -> None:
        coverages, confidences = [0.0001, 0.2, 0.45, 0.6, 0.9], [0.99, 0.5, 0.7, 0.95, 0.97]
        assert best_detection(coverages, confidences) == 0.7
        assert best_detection([0.6, 0.9], [0.95, 0.97]) == 0.95  # the wider range, tried second
        assert best_detection([0.0001, 0.9], [0.5, 0.5]) is None
        assert best_detection([], []) is None
        assert best_detection([0.4], [0.8], ranges=[(0.0001, 0.30)]) is None


def test_visual_quality_by_hand() -> None:
    # aesthetic 5.5 lies in the middle of 1..10, quality 0.8: (0.5 + 0.8) / 2
    assert visual_quality([5.0, 6.0], [0.7, 0.9]) == pytest.approx(0.65)
    assert visual_quality([5.0, 6.0], [0.7, 0.9], variant="official") == pytest.approx((0.55 + 0.8) / 2)
    assert visual_quality([0.2], [1.4]) == 0.5  # both ranges clip


def test_image_reward_is_the_mean_logistic() -> None:
    raw = np.array([-2.0, 0.0, 1.3])
    assert image_reward(raw) == pytest.approx(logistic.cdf(raw).mean())
    assert image_reward([0.0]) == 0.5
