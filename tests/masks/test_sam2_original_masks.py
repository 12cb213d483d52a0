"""The authors' own SAM 2 predictor, fed frame by frame, against the same predictor over the whole video on disk."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch
from lookback.backends.base import BackendOptions
from lookback.backends.masks.sam2_original import OriginalSam2Masks
from lookback.clips import Anchor, Clip
from lookback.errors import NotScorable, Reason, UsageError
from lookback.media import VideoInfo
from lookback.registry import BACKENDS
from PIL import Image

SQUARE = 40


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.sam2_original(tmp_path_factory.mktemp("sam2") / "tiny.pt")


def moving_square(count: int = 12, height: int = 120, width: int = 200) -> tuple[np.ndarray, Clip, VideoInfo]:
    """A red square that walks to the right over grey noise, with the anchor of its first place."""
    rng = np.random.default_rng(3)
    frames = np.repeat(rng.integers(90, 130, (1, height, width, 3), np.uint8), count, 0)
    for number in range(count):
        left = 10 + 8 * number
        frames[number, 30 : 30 + SQUARE, left : left + SQUARE] = (230, 30, 30)
    anchor = Anchor(centre_x=10 + SQUARE / 2, centre_y=30 + SQUARE / 2, width=SQUARE, height=SQUARE)
    clip = Clip(benchmark="mbench", setting="A", model_id="m", clip_id="c", video="clip.mp4", object_anchor=anchor)
    info = VideoInfo(Path("clip.mp4"), "video", count, 16.0, width, height, count / 16, 0, "h264", "yuv420p", False)
    return frames, clip, info


def backend_of(path: Path, **values: object) -> OriginalSam2Masks:
    chosen = {"config": tiny_models.SAM2_CONFIG, "overrides": tiny_models.SAM2_SMALLER, **values}
    return OriginalSam2Masks(BackendOptions(values={"path": str(path), **chosen}))


def test_frame_by_frame_equals_the_whole_video_on_disk(
    released: Path, tmp_path: Path, capfd: pytest.CaptureFixture, caplog: pytest.LogCaptureFixture
) -> None:
    """The predictor's own way: a folder of pictures (PNG under the name it asks for, so nothing is lost), every output kept."""
    frames, clip, info = moving_square()
    job = backend_of(released).start(clip, info, {})
    with caplog.at_level(logging.WARNING):
        for part in (slice(0, 5), slice(5, 12)):
            job.push(np.arange(12)[part], frames[part])
    made = job.finish()
    assert capfd.readouterr() == ("", "") and not caplog.records

    for number, frame in enumerate(frames):
        Image.fromarray(frame).save(tmp_path / f"{number:03d}.jpg", format="PNG")
    predictor = job.backend.predictor()
    state = predictor.init_state(str(tmp_path))
    predictor.add_new_points_or_box(state, 0, 1, box=[10, 30, 10 + SQUARE, 30 + SQUARE])
    whole = {index: (masks[0, 0] > 0).numpy() for index, _, masks in predictor.propagate_in_video(state)}
    found = made.all()
    for number in range(len(frames)):
        assert (found[number] == whole[number]).all()
        outputs = state["output_dict_per_obj"][0]
        output = outputs["cond_frame_outputs"].get(number) or outputs["non_cond_frame_outputs"][number]
        assert made.confidence[number] == pytest.approx(torch.sigmoid(output["object_score_logits"]).item(), abs=1e-5)
    assert 0 < found.mean() < 1 and any((found[0] != mask).any() for mask in found[1:])  # the random network does say something


def test_the_box_is_scaled_from_the_videos_pixels(released: Path) -> None:
    """A clip larger than the stored masks: the prompt still lies on the same part of the picture."""
    frames, clip, info = moving_square(2, 300, 640)
    job = backend_of(released).start(clip, info, {})
    job.push(np.arange(1), frames[:1])
    assert job.rows.size == (120, 256) and job.record["prompt_box"] == [10, 30, 50, 70]
    points = job.state["point_inputs_per_obj"][0][0]["point_coords"].reshape(-1).numpy()
    assert points == pytest.approx(np.array([10 / 640, 30 / 300, 50 / 640, 70 / 300]) * tiny_models.SIDE, rel=1e-5)


def test_mbench_t_prompts_with_the_middle_of_the_box(released: Path) -> None:
    frames, clip, info = moving_square(2, 300, 640)
    job = backend_of(released).start(clip.model_copy(update={"benchmark": "mbench", "setting": "T"}), info, {})
    job.push(np.arange(1), frames[:1])
    given = job.state["point_inputs_per_obj"][0][0]
    assert given["point_coords"].reshape(-1).numpy() == pytest.approx(np.array([30 / 640, 50 / 300]) * tiny_models.SIDE, rel=1e-5)
    assert given["point_labels"].reshape(-1).tolist() == [1] and "point prompt" in job.record["method"]


def test_memory_does_not_grow_with_the_clip(released: Path) -> None:
    frames, clip, info = moving_square(24)
    job = backend_of(released).start(clip, info, {})
    job.push(np.arange(24), frames)
    assert len(job.state["output_dict_per_obj"][0]["non_cond_frame_outputs"]) <= 4 and len(job.rows) == 24


def test_a_clip_without_anchor_and_name_is_a_missing_input(released: Path) -> None:
    _, clip, info = moving_square(2)
    with pytest.raises(NotScorable) as caught:
        backend_of(released).start(clip.model_copy(update={"object_anchor": None}), info, {})
    assert caught.value.reason == Reason.MISSING_INPUT


def test_a_released_file_name_chooses_its_configuration(tmp_path: Path) -> None:
    path = tmp_path / "sam2.1_hiera_small.pt"
    path.touch()
    assert backend_of(path, config="").config == "configs/sam2.1/sam2.1_hiera_s.yaml"
    with pytest.raises(UsageError, match=r"mine\.pt: its name is not one of the released checkpoints .*`config`"):
        backend_of(path.rename(tmp_path / "mine.pt"), config="")


@pytest.mark.parametrize("what", ["another network", "another configuration", "not a checkpoint"])
def test_a_file_that_does_not_fit_is_one_sentence(what: str, released: Path, tmp_path: Path) -> None:
    path, values = released, {}
    if what == "another network":
        values = {"overrides": []}
    elif what == "another configuration":
        values = {"config": "configs/none.yaml"}
    else:
        path = tmp_path / "text.pt"
        path.write_text("no weights")
    frames, clip, info = moving_square(2)
    job = backend_of(path, **values).start(clip, info, {})
    with pytest.raises(
        UsageError, match=r"cannot be loaded as a SAM 2 checkpoint of configs/.*check `path` and `config`"
    ) as caught:
        job.push(np.arange(2), frames)
    assert "\n" not in str(caught.value)


def test_it_is_registered_beside_the_hubs_format_and_pinned() -> None:
    spec = BACKENDS.get("masks=sam2-original")
    assert not spec.embedded and BACKENDS.get("masks=sam2").weights[0] + "-original" == spec.weights[0]
