"""Area resizing by matrix products against OpenCV's INTER_AREA and against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import cv2
import numpy as np
import pytest
from lookback.media import SharedFrame, resize_area
from lookback.media.area import bands_of

SIZES = [
    ((480, 832), (369, 640)),
    ((576, 1024), (360, 640)),
    ((540, 960), (180, 320)),
    ((135, 240), (24, 42)),
    ((96, 100), (96, 50)),
]


@pytest.fixture
def pictures() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.mark.parametrize(("source", "target"), SIZES)
@pytest.mark.parametrize("shared", [False, True])
def test_it_is_opencv_but_for_values_half_way_between_two_integers(
    source: tuple[int, int], target: tuple[int, int], shared: bool, pictures: np.random.Generator
) -> None:
    frame = pictures.integers(0, 256, (*source, 3), dtype=np.uint8)
    expected = cv2.resize(frame, target[::-1], interpolation=cv2.INTER_AREA).astype(int)
    found = resize_area(frame, target[1], target[0], shared)
    assert found.dtype == np.uint8 and np.abs(found - expected).max() <= 1
    assert (found != expected).mean() < 1e-3
    precise = cv2.resize(frame.astype(np.float64), target[::-1], interpolation=cv2.INTER_AREA)[found != expected]
    assert np.allclose(precise % 1.0, 0.5, atol=1e-4)


@pytest.mark.parametrize(("source", "target"), [(832, 640), (1080, 369), (1920, 592), (7, 7), (9, 1)])
def test_the_weights_are_the_covered_shares(source: int, target: int) -> None:
    bands = bands_of(source, target, 5)
    scale = Fraction(source, target)
    covered = 0
    for band in bands.bands:
        for row, weights in enumerate(band.weights):
            left = (band.target + row) * scale
            for place, weight in enumerate(weights, band.source):
                share = max(Fraction(0), min(left + scale, place + 1) - max(left, place)) / scale
                assert weight == np.float32(float(share))
            assert weights.sum() == pytest.approx(1.0, abs=1e-6)
            covered += 1
    assert covered * bands.periods == target


def test_sizes_of_one_width_share_the_reduced_columns(pictures: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    import lookback.media.area as area

    asked: list[int] = []
    reduce = area.fewer_columns
    monkeypatch.setattr(area, "fewer_columns", lambda values, width: asked.append(width) or reduce(values, width))
    frame = pictures.integers(0, 256, (120, 240, 3), dtype=np.uint8)
    truth = frame.view(SharedFrame)
    found = [resize_area(truth, 80, height, share_columns=True) for height in (40, 45, 48)]
    assert asked == [80]
    assert all(np.array_equal(small, resize_area(frame, 80, len(small), share_columns=True)) for small in found)


@pytest.mark.parametrize(
    ("shape", "size", "kind"),
    [((20, 30, 3), (60, 40), "uint8"), ((60, 80, 3), (40, 30), "float32"), ((479, 853, 3), (640, 359), "uint8")],
)
def test_what_it_cannot_do_faster_is_left_to_opencv(shape: tuple[int, ...], size: tuple[int, int], kind: str) -> None:
    """Enlarging, floats, and sides without a common divisor."""
    frame = np.random.default_rng(0).integers(0, 256, shape).astype(kind)
    assert np.array_equal(resize_area(frame, *size), cv2.resize(frame, size, interpolation=cv2.INTER_AREA))


def test_a_frame_of_that_size_is_not_touched() -> None:
    frame = np.zeros((12, 16, 3), np.uint8)
    assert resize_area(frame, 16, 12) is frame
