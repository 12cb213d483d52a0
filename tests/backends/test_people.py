"""Person masks under faces: a figure known by construction, and SAM 2 against a direct forward of the library."""

from __future__ import annotations

from pathlib import Path

import cv2
import made_artifacts
import numpy as np
import pytest
import tiny_checkpoints
from clips_in_memory import clip, options, run_job, video_info
from lookback.artifacts import FaceTracks
from lookback.artifacts.masks import working_size
from lookback.backends.people import WORKING_SIDE, FaceGrabCut, MobileSamPeople, Sam2People, body_boxes
from lookback.weights import present

FACE = np.array([150.0, 40.0, 182.0, 80.0])


def figure(x: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A frame with one person in red on green foliage, the person's true mask, and the face box; `x` moves the person."""
    rng = np.random.default_rng(3)
    frame = np.clip(rng.normal([70, 120, 60], 14, (240, 320, 3)), 0, 255).astype(np.uint8)
    mask = np.zeros((240, 320), np.uint8)
    cv2.ellipse(mask, (166 + x, 60), (16, 24), 0, 0, 360, 1, -1)
    cv2.rectangle(mask, (142 + x, 82), (190 + x, 160), 1, -1)
    cv2.rectangle(mask, (146 + x, 160), (162 + x, 230), 1, -1)
    cv2.rectangle(mask, (170 + x, 160), (186 + x, 230), 1, -1)
    body = mask.astype(bool)
    frame[body] = np.clip(rng.normal([190, 60, 70], 10, (int(body.sum()), 3)), 0, 255).astype(np.uint8)
    return cv2.GaussianBlur(frame, (0, 0), 0.8), body, FACE + np.array([x, 0, x, 0])


def faces(boxes: list[np.ndarray], frames: list[int], track: list[int]) -> dict[str, FaceTracks]:
    return {"faces": made_artifacts.faces(np.array(frames), np.array(boxes), np.array(track))}


def iou(a: np.ndarray, b: np.ndarray) -> float:
    return float((a & b).sum() / (a | b).sum())


def test_a_body_box_follows_the_figure_and_stops_at_the_border():
    box = body_boxes(FACE[None], 240, 320)[0]
    _, body, _ = figure()
    rows, columns = np.flatnonzero(body.any(1)), np.flatnonzero(body.any(0))
    assert box[0] <= columns[0] and box[2] >= columns[-1] and box[1] <= rows[0] and box[3] == 240
    assert body_boxes(np.array([[0, 0, 20, 20.0]]), 30, 30)[0].tolist() == [0, 0, 30, 30]


def test_grabcut_cuts_the_figure_out_and_is_repeatable():
    frame, body, face = figure()
    shifted, moved, other = figure(60)
    frames = np.stack([frame, shifted])
    artifacts = faces([face, other], [0, 1], [0, 0])
    backend = FaceGrabCut(options())
    entry = run_job(backend.start(clip(), video_info(frames), artifacts), frames)
    again = run_job(backend.start(clip(), video_info(frames), artifacts), frames)
    assert np.array_equal(entry.packed, again.packed)
    masks = entry.all()
    assert iou(masks[0], body) > 0.85 and iou(masks[1], moved) > 0.85
    assert entry.frame_index.tolist() == [0, 1] and entry.state.tolist() == [1, 1]
    assert entry.area == pytest.approx(masks.mean((1, 2)), abs=1e-6)
    rows, columns = np.flatnonzero(body.any(1)), np.flatnonzero(body.any(0))
    assert entry.boxes[0] == pytest.approx([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], abs=4)


def test_two_people_do_not_share_pixels_of_their_faces():
    frame, _, face = figure(-60)
    second, body, other = figure(60)
    frame[body] = second[body]
    entry = run_job(
        FaceGrabCut(options()).start(clip(), video_info(frame[None]), faces([face, other], [0, 0], [0, 1])), frame[None]
    )
    masks = entry.all()
    assert not masks[0, 45:75, 215:240].any() and masks[1, 45:75, 215:240].mean() > 0.8
    assert entry.track.tolist() == [0, 1]


@pytest.mark.skipif(not present("mobile-sam"), reason="MobileSAM's weights are not in the cache; run: python -m lookback.weights")
def test_mobile_sam_cuts_out_the_portrait_and_not_its_surroundings(astronaut: np.ndarray):
    face = np.array([175.0, 70.0, 265.0, 180.0])
    job = MobileSamPeople(options()).start(clip(), video_info(astronaut[None]), faces([face], [0], [0]))
    entry = run_job(job, astronaut[None])
    mask = cv2.resize(entry.all()[0].astype(np.uint8), (512, 512), interpolation=cv2.INTER_NEAREST).astype(bool)
    assert mask[110, 220] and mask[300, 120] and mask[40, 220]  # face, suit and hair
    assert not mask[60, 30] and not mask[100, 410] and not mask[20, 330]  # flag, shuttle and wall
    assert 0.3 < entry.area[0] < 0.6 and entry.facts["n_people"] == 1


def test_large_frames_are_stored_at_the_working_size_with_boxes_in_video_pixels():
    frame, body, face = figure()
    large = cv2.resize(frame, (1280, 960), interpolation=cv2.INTER_CUBIC)
    entry = run_job(FaceGrabCut(options()).start(clip(), video_info(large[None]), faces([face * 4], [0], [0])), large[None])
    assert entry.shape == (1, *working_size(960, 1280, WORKING_SIDE)) == (1, 240, 320)
    assert iou(entry.all()[0], body) > 0.85 and entry.boxes[0, 3] > 800


def test_sam2_masks_equal_a_direct_forward(tmp_path: Path):
    import torch
    from transformers import Sam2Model, Sam2Processor

    folder = tiny_checkpoints.sam2(tmp_path / "sam2")
    frame, _, face = figure()
    second = face + np.array([60, 0, 60, 0])
    backend = Sam2People(options(path=str(folder)))
    job = backend.start(clip(), video_info(frame[None]), faces([face, second], [0, 0], [0, 1]))
    masks = run_job(job, frame[None]).all()
    assert 0.01 < masks.mean() < 0.99
    processor, model = Sam2Processor.from_pretrained(folder), Sam2Model.from_pretrained(folder).eval()
    for row, box in enumerate((face, second)):
        body = body_boxes(box[None], 240, 320)
        centre = [[[((box[:2] + box[2:]) / 2).tolist()]]]
        inputs = processor(
            images=frame, input_boxes=[body.tolist()], input_points=centre, input_labels=[[[1]]], return_tensors="pt"
        )
        with torch.inference_mode():
            outputs = model(**inputs)
        best = int(outputs.iou_scores[0, 0].argmax())
        expected = processor.post_process_masks(outputs.pred_masks, inputs["original_sizes"])[0][0, best].numpy()
        assert (masks[row] == expected).mean() > 0.995  # two bilinear enlargements, by OpenCV and by torch
