"""SAM 2 and GroundingDINO on tiny random checkpoints saved in their real formats: shapes, prompts, pixels, memory."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import tiny_models
import torch
from lookback.backends.base import BackendOptions
from lookback.backends.masks import sam2
from lookback.backends.masks.prompt import find_object
from lookback.backends.masks.sam2 import Sam2Masks
from lookback.errors import NotScorable, Reason
from lookback.registry import BACKENDS
from mask_scenes import Filmed, film

MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


@pytest.fixture(scope="module")
def filmed() -> Filmed:
    return film("playroom", "static@12")


@pytest.fixture(scope="module")
def segmenter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.sam2_video(tmp_path_factory.mktemp("sam2"))


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.grounding_dino(tmp_path_factory.mktemp("dino"))


def _backend(segmenter: Path, **values: object) -> Sam2Masks:
    return Sam2Masks(BackendOptions(values={"path": str(segmenter), **values}))


def test_streaming_equals_the_whole_video_session(filmed: Filmed, segmenter: Path) -> None:
    """Masks against `transformers`' own session that holds every frame and output; ours forgets all but the memory bank."""
    from transformers import Sam2VideoModel, Sam2VideoProcessor, Sam2VideoVideoProcessor
    from transformers.models.sam2.image_processing_sam2 import Sam2ImageProcessor

    entry = filmed.run(_backend(segmenter))
    model = Sam2VideoModel.from_pretrained(segmenter).eval()
    processor = Sam2VideoProcessor(
        Sam2ImageProcessor.from_pretrained(segmenter), Sam2VideoVideoProcessor(), target_size=tiny_models.SIDE
    )
    session = processor.init_video_session(inference_device="cpu")
    processor.add_inputs_to_inference_session(
        session, frame_idx=0, obj_ids=1, input_boxes=[[filmed.box.tolist()]], original_size=filmed.frames.shape[1:3]
    )
    found, (height, width) = entry.all(), entry.size
    for number, frame in enumerate(filmed.frames):
        pixels = processor.image_processor(images=frame, return_tensors="pt").pixel_values
        output = model(session, frame=pixels[0])
        logits = output.pred_masks[0, 0].numpy()
        assert (found[number] == (cv2.resize(logits, (width, height)) > 0)).all()
        np.testing.assert_allclose(entry.confidence[number], torch.sigmoid(output.object_score_logits).item(), atol=1e-5)
    assert len(session.processed_frames) == len(filmed.frames)


def test_box_and_pixels_reach_the_model_as_published(filmed: Filmed, segmenter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The box is scaled to the square input; pixels are ImageNet-normalised (a flat grey frame has a value known by hand)."""
    backend = _backend(segmenter)
    model, _ = sam2._model(backend.path, "cpu")
    seen: list[torch.Tensor] = []
    monkeypatch.setattr(type(model), "forward", _spy(type(model).forward, seen))
    job = backend.start(filmed.clip, filmed.info, {})
    job.push(np.arange(1), np.full((1, *filmed.frames.shape[1:]), 100, np.uint8))
    points = job.session.point_inputs_per_obj[0][0]["point_coords"].numpy().reshape(-1)
    height, width = filmed.frames.shape[1:3]
    np.testing.assert_allclose(points, filmed.box * tiny_models.SIDE / np.array([width, height, width, height]), rtol=1e-5)
    assert seen[0].shape == (3, tiny_models.SIDE, tiny_models.SIDE)
    np.testing.assert_allclose(seen[0].mean((1, 2)).numpy(), (100 / 255 - MEAN) / STD, atol=1e-4)


@pytest.mark.parametrize(("setting", "point"), [("T", True), ("A", False)])
def test_mbench_t_prompts_with_the_middle_of_the_box(filmed: Filmed, segmenter: Path, setting: str, point: bool) -> None:
    """Appendix B.3: "The resulting bounding box serves as a point prompt for SAM 2"; a foreground point has the label 1."""
    clip = filmed.clip.model_copy(update={"benchmark": "mbench", "setting": setting})
    job = _backend(segmenter).start(clip, filmed.info, {})
    job.push(np.arange(1), filmed.frames[:1])
    given = job.session.point_inputs_per_obj[0][0]
    x0, y0, x1, y1 = filmed.box
    height, width = filmed.frames.shape[1:3]
    wanted = np.array([(x0 + x1) / 2, (y0 + y1) / 2] if point else filmed.box) * tiny_models.SIDE
    np.testing.assert_allclose(
        given["point_coords"].numpy().reshape(-1), wanted / np.resize([width, height], len(wanted)), rtol=1e-5
    )
    assert given["point_labels"].reshape(-1).tolist() == ([1] if point else [2, 3])
    assert ("point prompt" in job.record["method"]) is point


def _spy(forward: object, seen: list[torch.Tensor]) -> object:
    def wrapper(self: object, *args: object, **kwargs: object) -> object:
        seen.append(kwargs["frame"])  # type: ignore[arg-type]
        return forward(self, *args, **kwargs)  # type: ignore[operator]

    return wrapper


def test_memory_does_not_grow_with_the_clip(filmed: Filmed, segmenter: Path) -> None:
    job = _backend(segmenter).start(filmed.clip, filmed.info, {})
    for start in range(0, 24, 8):
        job.push(np.arange(start, start + 8), filmed.frames[:8])
    assert not job.session.processed_frames
    assert len(job.session.output_dict_per_obj[0]["non_cond_frame_outputs"]) <= 4
    assert len(job.rows) == 24


def test_named_object_is_prompted_by_the_detector(filmed: Filmed, segmenter: Path, detector: Path) -> None:
    backend = _backend(segmenter, detector_path=str(detector), detector_threshold=0.0)
    clip = filmed.clip.model_copy(update={"object_anchor": None, "object_name": "A red ball"})
    job = backend.start(clip, filmed.info, {})
    job.push(np.arange(1), filmed.frames[:1])
    assert job.record["prompt"] == "GroundingDINO: A red ball"
    x0, y0, x1, y1 = job.record["prompt_box"]
    assert 0 <= x0 < x1 <= filmed.info.width and 0 <= y0 < y1 <= filmed.info.height


def test_a_phrase_asks_by_name_although_there_is_an_anchor(filmed: Filmed, segmenter: Path, detector: Path) -> None:
    backend = _backend(segmenter, detector_path=str(detector), phrase="a photo of {first}")
    with pytest.raises(NotScorable, match="no object_name"):
        backend.start(filmed.clip, filmed.info, {})
    job = backend.start(filmed.clip.model_copy(update={"object_name": "red ball"}), filmed.info, {})
    assert job.box is None and job.name == "a photo of red"


def test_detector_box_is_in_pixels_of_the_frame(filmed: Filmed, detector: Path) -> None:
    """Against the raw model output: the query with the highest token score, centre and size times the frame's size."""
    from transformers import GroundingDinoForObjectDetection, GroundingDinoProcessor

    frame = filmed.frames[0]
    found = find_object(detector, "cpu", frame, "A red ball", 0.0)
    inputs = GroundingDinoProcessor.from_pretrained(detector)(images=frame, text="a red ball.", return_tensors="pt")
    with torch.inference_mode():
        raw = GroundingDinoForObjectDetection.from_pretrained(detector).eval()(**inputs)
    scores = raw.logits.sigmoid().max(-1).values[0]
    cx, cy, w, h = raw.pred_boxes[0, int(scores.argmax())].numpy()
    wanted = np.array([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2]) * np.tile([frame.shape[1], frame.shape[0]], 2)
    np.testing.assert_allclose(found.box, wanted.clip(0, np.tile([frame.shape[1], frame.shape[0]], 2)), rtol=1e-4)
    assert found.score == pytest.approx(float(scores.max()), rel=1e-4)


def test_object_that_the_detector_cannot_find_is_no_mask(filmed: Filmed, detector: Path) -> None:
    with pytest.raises(NotScorable) as caught:
        find_object(detector, "cpu", filmed.frames[0], "robot", 1.0)
    assert caught.value.reason == Reason.NO_MASK


def test_clip_without_anchor_and_name_is_a_missing_input(filmed: Filmed, segmenter: Path) -> None:
    with pytest.raises(NotScorable) as caught:
        _backend(segmenter).start(filmed.clip.model_copy(update={"object_anchor": None}), filmed.info, {})
    assert caught.value.reason == Reason.MISSING_INPUT


def test_both_backends_are_registered() -> None:
    assert BACKENDS.get("masks=classical").embedded and not BACKENDS.get("masks=sam2").embedded
