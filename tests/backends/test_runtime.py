"""Options, sampling and batches that the model backends share."""

from __future__ import annotations

import numpy as np
import pytest
from clips_in_memory import clip, options, video_info
from lookback.backends.base import BackendOptions
from lookback.backends.runtime import SAMPLING, FrameBatches, checkpoint, merged_options, sampled_frames, torch_device, usable
from lookback.errors import BackendUnavailable, UsageError
from lookback.registry import BACKENDS


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'precision'"):
        merged_options(options(precison="bf16"), {"precision": "fp32"})


def test_an_unknown_option_names_the_backend_and_says_where_it_has_none():
    chosen = BACKENDS.get("flow=dis")
    with pytest.raises(UsageError, match=r"^The backend dis of the role flow has no option 'nope'; its options: "):
        chosen.build(options(nope=1))
    with pytest.raises(UsageError, match=r"^This backend has no option 'nope'; it has no options$"):
        merged_options(options(nope=1), {})


@pytest.mark.parametrize(("name", "value"), [("max_side", "big"), ("square", 1), ("precision", "fp8")])
def test_a_value_of_the_wrong_kind_is_refused(name: str, value: object):
    with pytest.raises(UsageError, match=name):
        merged_options(options(**{name: value}), {"max_side": 448, "square": True, "precision": "fp32"})


def test_a_whole_number_serves_where_a_fraction_is_meant():
    assert merged_options(options(sample_fps=2), SAMPLING)["sample_fps"] == 2.0


def test_wrbench_sampling_of_81_frames_at_16_fps():
    """The frames that WRBench's sampler gives (spec/wrbench.md, D2)."""
    frames = np.zeros((81, 2, 2, 3), np.uint8)
    wants, words = sampled_frames(clip(), video_info(frames, 16.0), SAMPLING)
    assert wants.tolist() == [0, 5, 11, 16, 21, 27, 32, 37, 43, 48, 53, 59, 64, 69, 75, 80]
    assert words == "3 fps, at most 24"


def test_a_frame_folder_without_a_rate_is_sampled_evenly_and_says_so():
    frames = np.zeros((100, 2, 2, 3), np.uint8)
    wants, words = sampled_frames(clip(), video_info(frames, None), SAMPLING)
    assert len(wants) == 24 and wants[0] == 0 and wants[-1] == 99 and "no frame rate" in words
    assert "3 fps" in sampled_frames(clip(fps=8.0), video_info(frames, None), SAMPLING)[1]


@pytest.mark.parametrize("pushes", [[7], [1] * 7, [3, 4], [2, 5]])
def test_batches_depend_on_the_frames_alone(pushes: list[int]):
    """However frames arrive, the same batches of four are computed, in order, and every row lands at its frame."""
    frames = np.random.default_rng(0).integers(0, 255, (7, 3, 5, 3), np.uint8)
    sizes: list[int] = []

    def compute(batch):
        sizes.append(len(batch))
        return batch.float().mean((1, 2, 3)), batch[:, 0, 0]

    batches, start = FrameBatches("cpu", 4, 7, compute), 0
    for count in pushes:
        part = frames[start : start + count].copy()
        batches.push(np.arange(start, start + count), part)
        part[:] = 0  # the caller may use its buffer again
        start += count
    indices, (means, corners) = batches.finish()
    assert sizes == [4, 3] and indices.tolist() == list(range(7))
    assert np.allclose(means, frames.mean((1, 2, 3)), atol=1e-4) and np.array_equal(corners, frames[:, 0, 0])


def test_a_missing_package_is_named_with_its_command():
    state = usable(modules=("no_such_package",), install="no-such==1.0")
    assert not state.usable and "no_such_package" in state.why and state.remedy == "pip install no-such==1.0"


def test_missing_weights_are_named_with_their_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKBACK_WEIGHTS", str(tmp_path))
    state = usable("dinov2-base")
    assert not state.usable and "config.json is missing" in state.why and "python -m lookback.weights dinov2-base" in state.remedy


def test_a_checkpoint_path_that_is_not_there_is_a_users_mistake(tmp_path):
    with pytest.raises(UsageError, match="no such checkpoint"):
        checkpoint(options(), "dinov2-base", str(tmp_path / "nothing"))


def test_cuda_without_a_device_is_unavailable():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(BackendUnavailable, match="no CUDA device"):
        torch_device(BackendOptions(device="cuda"))
