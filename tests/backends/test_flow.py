"""Flow: motion known by construction, RAFT against a direct forward of torchvision."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import tiny_checkpoints
import torch
from clips_in_memory import clip, options, run_job, shifting_clip, video_info
from lookback.backends.flow import DisFlow, RaftLarge, RaftSmall
from lookback.errors import NotScorable, Reason


def test_dis_finds_a_pan_and_its_direction(astronaut: np.ndarray):
    """The camera pans right by 5 pixels, so the picture moves left: u = -5, v = 0."""
    a, b = shifting_clip(astronaut, 2, 200, 320, 5)
    flow = DisFlow(options()).flow(a, b)
    assert flow.shape == (200, 320, 2) and flow.dtype == np.float32
    inner = flow[20:-20, 20:-20]
    assert np.median(inner[..., 0]) == pytest.approx(-5, abs=0.1) and np.median(inner[..., 1]) == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("max_side", [512, 160])
def test_magnitudes_are_in_pixels_of_the_video(astronaut: np.ndarray, max_side: int):
    frames = shifting_clip(astronaut, 5, 200, 320, 6)
    entry = run_job(DisFlow(options(max_side=max_side)).start(clip(), video_info(frames), {}), frames)
    assert entry.frame_index.tolist() == [0, 1, 2, 3]
    assert entry.magnitude == pytest.approx([6] * 4, abs=0.8)


def test_a_still_clip_does_not_move(astronaut: np.ndarray):
    frames = np.repeat(astronaut[None, :128, :160], 3, 0)
    assert run_job(DisFlow(options()).start(clip(), video_info(frames), {}), frames).magnitude.max() < 0.01


def test_a_small_picture_does_not_change_the_flow_of_the_next_clip(astronaut: np.ndarray):
    """OpenCV's search lowers its own finest scale for a small picture, and would keep it."""
    a, b = shifting_clip(astronaut, 2, 200, 320, 5)
    backend = DisFlow(options())
    wanted = backend.flow(a, b)
    small = [backend.flow(a[:24, :40], b[:24, :40]) for _ in range(2)]
    assert np.array_equal(*small) and np.array_equal(backend.flow(a, b), wanted)


@pytest.mark.parametrize("size", [(15, 100), (100, 15), (8, 256), (10, 320), (4, 4)])
def test_a_picture_too_small_for_the_search_is_a_reason_and_no_crash(astronaut: np.ndarray, size: tuple[int, int]):
    picture = astronaut[: size[0], : size[1]]
    with pytest.raises(NotScorable, match=f"not {size[1]}x{size[0]}") as caught:
        DisFlow(options()).flow(picture, picture)
    assert caught.value.reason == Reason.INVALID_INPUT
    assert DisFlow(options()).flow(astronaut[:16, :100], astronaut[:16, :100]).shape == (16, 100, 2)


def test_one_frame_has_no_motion(astronaut: np.ndarray):
    frames = astronaut[None, :64, :64]
    with pytest.raises(NotScorable) as raised:
        run_job(DisFlow(options()).start(clip(), video_info(frames), {}), frames)
    assert raised.value.reason is Reason.TOO_SHORT


@pytest.mark.parametrize(("size", "backend"), [("small", RaftSmall), ("large", RaftLarge)])
def test_raft_equals_a_direct_forward(tmp_path: Path, astronaut: np.ndarray, size: str, backend):
    """torchvision's network and its own preset of transforms, on sides that need no padding."""
    from torchvision.models import optical_flow
    from torchvision.transforms._presets import OpticalFlow

    path = tiny_checkpoints.raft(tmp_path / "raft.pth", size)
    a, b = shifting_clip(astronaut, 2, 128, 136, 3)
    found = backend(options(path=str(path), updates=2)).flow(a, b)
    network = getattr(optical_flow, f"raft_{size}")(weights=None)
    network.load_state_dict(torch.load(path, weights_only=True))
    tensors = OpticalFlow()(*(torch.from_numpy(np.ascontiguousarray(each)).permute(2, 0, 1)[None] for each in (a, b)))
    with torch.inference_mode():
        expected = network.eval()(*tensors, num_flow_updates=2)[-1][0].permute(1, 2, 0).numpy()
    assert np.allclose(found, expected, atol=1e-3)


def test_raft_pads_what_does_not_fit_its_grid(tmp_path: Path, astronaut: np.ndarray):
    """90 x 101 becomes 128 x 128 with the border repeated; the flow has the picture's own size."""
    path = tiny_checkpoints.raft(tmp_path / "raft.pth", "small")
    backend = RaftSmall(options(path=str(path), updates=1))
    a, b = shifting_clip(astronaut, 2, 90, 101, 3)
    padded = [cv2.copyMakeBorder(each, 0, 38, 0, 27, cv2.BORDER_REPLICATE) for each in (a, b)]
    found = backend.flow(a, b)
    assert found.shape == (90, 101, 2) and np.allclose(found, backend.flow(*padded)[:90, :101], atol=1e-4)


def test_raft_on_unit_inputs_is_given_pixels_from_0_to_1(tmp_path: Path, astronaut: np.ndarray):
    """MemoBench's released program feeds RAFT [0,1] where its weights expect [-1,1]; the two give different flow."""
    from torchvision.models.optical_flow import raft_small

    path = tiny_checkpoints.raft(tmp_path / "raft.pth", "small")
    backend = RaftSmall(options(path=str(path), updates=1))
    a, b = shifting_clip(astronaut, 2, 128, 136, 3)
    network = raft_small(weights=None)
    network.load_state_dict(torch.load(path, weights_only=True))
    tensors = [torch.from_numpy(np.ascontiguousarray(each)).permute(2, 0, 1)[None].float() / 255 for each in (a, b)]
    with torch.inference_mode():
        expected = network.eval()(*tensors, num_flow_updates=1)[-1][0].permute(1, 2, 0).numpy()
    assert np.allclose(backend.flow(a, b, inputs="unit"), expected, atol=1e-4)
    assert not np.allclose(backend.flow(a, b), expected, atol=1e-2)
