"""Depth: files as they are, Depth-Anything against a direct forward of the library."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import tiny_checkpoints
import torch
from clips_in_memory import clip, options, run_job, shifting_clip, video_info
from lookback.backends.depth import DepthAnythingV2, DepthFiles, read_depth
from lookback.errors import NotScorable, Reason

FRAMES = np.zeros((9, 90, 160, 3), np.uint8)


def read(**fields) -> object:
    return run_job(DepthFiles(options()).start(clip(**fields), video_info(FRAMES), {}), FRAMES)


def test_depth_anything_3_depth_may_be_that_of_every_kth_frame(tmp_path: Path):
    depth = np.linspace(1, 9, 5 * 18 * 32).reshape(5, 18, 32)
    path = tmp_path / "results.npz"
    np.savez(path, depth=depth, extrinsics=np.zeros((5, 3, 4)))
    entry = read(poses=str(path), poses_format="da3")
    assert entry.frame_index.tolist() == [0, 2, 4, 6, 8] and entry.record["metric"] is True
    assert np.allclose(entry.depth, depth, rtol=1e-3)
    assert entry.record["notes"] == ["5 maps for 9 frames: read as frames 0, 2, 4 ... 8"]


def test_large_maps_are_thinned_without_averaging(tmp_path: Path):
    depth = np.where(np.arange(640) < 320, 1.0, 9.0) * np.ones((9, 360, 1))
    np.save(tmp_path / "depth.npy", depth)
    entry = read(files={"depth": str(tmp_path / "depth.npy")})
    assert entry.depth.shape == (9, 180, 320) and set(np.unique(entry.depth)) == {1.0, 9.0}


def test_a_folder_of_16_bit_maps_is_millimetres(tmp_path: Path):
    for index in range(9):
        cv2.imwrite(str(tmp_path / f"d.{index:04d}.png"), np.full((18, 32), 1500 + index, np.uint16))
    entry = read(files={"depth": str(tmp_path)})
    assert np.allclose(entry.depth[:, 0, 0], 1.5 + np.arange(9) / 1000, atol=1e-3)


def test_maps_without_leading_zeros_are_in_the_order_of_their_numbers(tmp_path: Path):
    for index in range(12):
        np.save(tmp_path / f"{index}.npy", np.full((4, 8), float(index)))
    assert read_depth(tmp_path, 64, video_info(FRAMES))[:, 0, 0].tolist() == list(range(12))


def test_a_last_axis_of_one_belongs_to_no_picture(tmp_path: Path):
    depth = np.arange(3 * 4 * 6, dtype=np.float32).reshape(3, 4, 6)
    np.savez(tmp_path / "views.npz", depth=depth[..., None])
    assert np.array_equal(read_depth(tmp_path / "views.npz", 64, video_info(FRAMES)), depth)


def test_the_ground_truths_depth_is_not_a_generated_clips(tmp_path: Path):
    np.save(tmp_path / "depth.npy", np.ones((9, 18, 32)))
    with pytest.raises(NotScorable) as raised:
        read(gt_depth=str(tmp_path / "depth.npy"), ground_truth="truth.mp4")
    assert raised.value.reason is Reason.NO_DEPTH
    assert read(gt_depth=str(tmp_path / "depth.npy"), ground_truth="clip.mp4").depth.shape == (9, 18, 32)


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda path: path.write_bytes(b"junk"), "cannot be read"),
        (lambda path: np.save(path, np.ones((9, 4))), "no depth of shape"),
        (lambda path: np.save(path, np.ones((20, 4, 4))), "only 9 frames"),
    ],
)
def test_a_broken_depth_file_is_a_typed_reason(tmp_path: Path, write, says: str):
    path = tmp_path / "depth.npy"
    write(path)
    with pytest.raises(NotScorable, match=says) as raised:
        read(files={"depth": str(path)})
    assert raised.value.reason is Reason.INVALID_INPUT


def test_depth_anything_equals_a_direct_forward(tmp_path: Path, astronaut: np.ndarray):
    from transformers import AutoImageProcessor, AutoModelForDepthEstimation

    folder = tiny_checkpoints.depth_anything(tmp_path / "depth")
    frames = shifting_clip(astronaut, 6, 90, 160, 8)
    backend = DepthAnythingV2(options(path=str(folder), max_side=1000))
    entry = run_job(backend.start(clip(), video_info(frames), {}), frames)
    picked = entry.frame_index
    model, processor = AutoModelForDepthEstimation.from_pretrained(folder).eval(), AutoImageProcessor.from_pretrained(folder)
    with torch.inference_mode():
        expected = model(**processor(images=list(frames[picked]), return_tensors="pt")).predicted_depth.numpy()
    assert entry.depth.shape == (len(picked), 56, 98) == expected.shape  # 16:9, whole patches of 14
    assert np.allclose(entry.depth, expected, atol=1e-5)
    assert entry.record["metric"] is False
    small = run_job(DepthAnythingV2(options(path=str(folder), max_side=49)).start(clip(), video_info(frames), {}), frames)
    assert small.depth.shape[1:] == (28, 49)


def test_a_metric_is_given_the_stored_maps_of_its_frames(tmp_path: Path):
    from lookback.media import encode

    video = encode(tmp_path / "clip.mp4", np.zeros((6, 32, 48, 3), np.uint8), 8)
    depth = np.arange(6.0)[:, None, None] + np.zeros((6, 4, 5))
    depth[2, 0, 0] = np.inf
    np.save(tmp_path / "depth.npy", depth)
    given = clip(video=str(video), files={"depth": str(tmp_path / "depth.npy")})
    found = DepthFiles(options()).maps(np.empty(0), clip=given, indices=np.array([2, 5]))
    assert found.shape == (2, 4, 5) and found[0, 1, 1] == 2 and found[1].tolist() == depth[5].tolist() and found[0, 0, 0] == 0
    with pytest.raises(NotScorable) as raised:
        DepthFiles(options()).maps(np.empty(0), clip=clip(video=str(video)), indices=np.array([2]))
    assert raised.value.reason is Reason.NO_DEPTH
