"""Resize policies held to torch.nn.functional.interpolate, OpenCV and Pillow."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch
from lookback.errors import MediaError, Reason, UsageError
from lookback.media import pad_to_grid, resize, scale_and_centre_crop, shrink
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


@pytest.mark.parametrize(("height", "width"), [(1080, 1920), (480, 832), (720, 1280), (704, 1248), (1294, 712), (300, 301)])
def test_scale_and_centre_crop_covers_and_keeps_the_centre(height: int, width: int) -> None:
    ramp = np.broadcast_to(np.linspace(0, 1, width)[None, :, None], (height, width, 3)).astype(np.float32)
    cropped = scale_and_centre_crop(ramp)
    assert cropped.shape == (720, 1280, 3)
    assert cropped[:, 639:641].mean() == pytest.approx(0.5, abs=2e-3), "the centre stays in the centre"
    shown = min(1, 1280 * height / (720 * width))
    assert cropped[0, -1, 0] - cropped[0, 0, 0] == pytest.approx(shown, abs=0.01)


def test_scale_and_centre_crop_is_torchs_bilinear_without_antialiasing() -> None:
    frames = moving_texture(2, 100, 200)
    scaled = by_torch(frames, 90, 180, antialias=False).round().astype(np.uint8)
    assert np.array_equal(scale_and_centre_crop(frames, 90, 160), scaled[:, :, 10:170])


def test_pad_to_grid_keeps_the_whole_view_and_masks_padding() -> None:
    frames = moving_texture(2, 96, 128)
    padded, valid = pad_to_grid(frames, patch=14, max_side=112)
    assert padded.shape == (2, 112, 112, 3)
    assert np.array_equal(padded[:, :84], resize(frames, 84, 112, "bilinear_antialias"))
    assert not padded[:, 84:].any()
    assert valid.shape == (8, 8)
    assert valid[:6].all()
    assert not valid[6:].any()


def test_a_patch_with_one_row_of_picture_is_valid() -> None:
    padded, valid = pad_to_grid(np.ones((71, 140, 3), np.float32), patch=14, max_side=140)
    assert padded.shape == (140, 140, 3)
    assert valid.sum(axis=0).tolist() == [6] * 10


def test_without_a_side_only_the_last_patches_are_filled_up() -> None:
    frames = moving_texture(1, 96, 128)
    padded, valid = pad_to_grid(frames, patch=14)
    assert padded.shape == (1, 98, 140, 3)
    assert np.array_equal(padded[:, :96, :128], frames)
    assert valid.all()


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
