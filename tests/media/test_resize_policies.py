"""Resize policies held to torch.nn.functional.interpolate, OpenCV and Pillow."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch
from lookback.errors import MediaError, Reason, UsageError
from lookback.media import resize, shrink
from media_clips import moving_texture
from PIL import Image
from torch.nn.functional import interpolate

SIZES = [(48, 64), (97, 131), (33, 200), (192, 256), (1, 1)]


def by_torch(frames: np.ndarray, height: int, width: int, antialias: bool) -> np.ndarray:
    tensor = torch.from_numpy(frames.astype(np.float32)).permute(0, 3, 1, 2)
    result = interpolate(tensor, size=(height, width), mode="bilinear", align_corners=False, antialias=antialias)
    return result.permute(0, 2, 3, 1).numpy()


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_bilinear_equals_torch(height: int, width: int, antialias: bool) -> None:
    frames = moving_texture(3, 96, 128)
    policy = "bilinear_antialias" if antialias else "bilinear"
    reference = by_torch(frames, height, width, antialias)
    as_bytes = resize(frames, height, width, policy)
    assert as_bytes.dtype == np.uint8
    assert np.array_equal(as_bytes, reference.round().clip(0, 255).astype(np.uint8))
    as_floats = resize(frames.astype(np.float32) / 255, height, width, policy)
    assert as_floats.dtype == np.float32
    assert np.abs(as_floats - reference / 255).max() < 1e-5
    assert resize(frames / 255, height, width, policy).dtype == np.float64


@pytest.mark.parametrize(("height", "width"), [(48, 64), (37, 51), (10, 128), (96, 20)])
def test_area_equals_opencv(height: int, width: int) -> None:
    frames = moving_texture(3, 96, 128)
    reference = np.stack([cv2.resize(f, (width, height), interpolation=cv2.INTER_AREA) for f in frames])
    assert np.array_equal(resize(frames, height, width, "area"), reference)
    floats = np.stack([cv2.resize(f / 255, (width, height), interpolation=cv2.INTER_AREA) for f in frames])
    assert np.allclose(resize(frames / 255, height, width, "area"), floats)


def test_area_of_an_integer_factor_is_the_block_mean() -> None:
    frames = moving_texture(2, 96, 128) / 255
    blocks = frames.reshape(2, 24, 4, 32, 4, 3).mean(axis=(2, 4))
    assert np.allclose(resize(frames, 24, 32, "area"), blocks)


def test_antialiasing_is_pillows_triangle_filter() -> None:
    frame = moving_texture(1, 96, 128)[0]
    pillow = np.asarray(Image.fromarray(frame).resize((51, 37), Image.Resampling.BILINEAR))
    assert np.abs(resize(frame, 37, 51, "bilinear_antialias").astype(int) - pillow).max() <= 1


@pytest.mark.parametrize("policy", ["area", "bilinear", "bilinear_antialias"])
def test_one_frame_is_a_batch_of_one_and_the_input_stays(policy) -> None:
    frames = moving_texture(3, 96, 128)
    before = frames.copy()
    batch = resize(frames, 40, 50, policy)
    assert np.array_equal(resize(frames[1], 40, 50, policy), batch[1])
    same = resize(frames, 96, 128, policy)
    assert np.array_equal(same, frames)
    same[:] = 0
    assert np.array_equal(frames, before)


def test_shrink_bounds_the_longer_side_and_never_enlarges() -> None:
    frame = moving_texture(1, 96, 160)[0]
    np.testing.assert_array_equal(shrink(frame, 80), cv2.resize(frame, (80, 48), interpolation=cv2.INTER_AREA))
    assert shrink(frame.transpose(1, 0, 2), 80).shape == (80, 48, 3)
    assert shrink(frame, 160) is frame and shrink(frame, 400) is frame


def test_wrong_calls_are_refused() -> None:
    frame = moving_texture(1)[0]
    with pytest.raises(UsageError, match="nearest"):
        resize(frame, 10, 10, "nearest")
    with pytest.raises(UsageError, match="at least 1"):
        resize(frame, 0, 10, "area")
    for wrong in (frame[..., 0], frame.astype(np.int32)):
        with pytest.raises(MediaError) as error:
            resize(wrong, 10, 10, "area")
        assert error.value.reason is Reason.INVALID_INPUT
