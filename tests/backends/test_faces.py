"""Faces: SCRFD's decoding against InsightFace's own, identities on portraits that come with installed packages, tracks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import insightface
import matplotlib
import numpy as np
import onnxruntime
import pytest
import tiny_faces
from clips_in_memory import clip, options, run_job, video_info
from lookback.backends.base import BackendOptions
from lookback.backends.faces.backends import BuffaloL, ScrfdDlib, face_frames
from lookback.backends.faces.dlib_embedding import MATCH_THRESHOLD
from lookback.backends.faces.scrfd import Scrfd, suppress
from lookback.errors import BackendUnavailable, NotScorable, Reason
from lookback.weights import locate
from PIL import Image

PICTURES = {
    "six": Path(insightface.__file__).parent / "data" / "images" / "t1.jpg",
    "hopper": Path(matplotlib.__file__).parent / "mpl-data" / "sample_data" / "grace_hopper.jpg",
}


def read(name: str) -> np.ndarray:
    return np.array(Image.open(PICTURES[name]).convert("RGB"))


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.fixture(scope="module")
def backend(embedded_weights: None) -> ScrfdDlib:
    return ScrfdDlib(options())


def test_scrfd_is_decoded_as_insightface_does(embedded_weights: None):
    """The same onnx file through InsightFace's own SCRFD class, on its picture of six people."""
    from insightface.model_zoo import get_model

    picture = read("six")
    theirs = get_model(str(locate("scrfd")), providers=["CPUExecutionProvider"])
    theirs.prepare(-1, input_size=(640, 640), det_thresh=0.5)
    boxes, landmarks = theirs.detect(np.ascontiguousarray(picture[..., ::-1]))
    box, points, score = Scrfd(locate("scrfd"), ["CPUExecutionProvider"], 1).detect(picture, 0.5)
    assert len(box) == 6
    assert np.allclose(box, boxes[:, :4], atol=0.01) and np.allclose(score, boxes[:, 4], atol=1e-5)
    assert np.allclose(points, landmarks, atol=0.01)


def test_overlapping_boxes_leave_the_best():
    """IoU by hand: the second overlaps the first by 81/119 = 0.68, the third by nothing."""
    boxes = np.array([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 10, 3]], float)
    assert suppress(boxes, np.array([0.9, 0.95, 0.5, 0.6])).tolist() == [1, 3, 2]


def test_the_astronaut_has_one_face(backend: ScrfdDlib, astronaut: np.ndarray):
    faces = backend.find(astronaut)
    assert len(faces.score) == 1 and faces.score[0] > 0.7
    x0, y0, x1, y1 = faces.box[0]
    assert 150 < x0 < 200 and 250 < x1 < 300 and 40 < y0 < 80 and 160 < y1 < 200
    eyes, nose, mouth = faces.landmarks[0, :2], faces.landmarks[0, 2], faces.landmarks[0, 3:]
    assert eyes[0, 0] < nose[0] < eyes[1, 0] and eyes[:, 1].max() < nose[1] < mouth[:, 1].min()


def test_cosines_tell_people_apart(backend: ScrfdDlib, astronaut: np.ndarray):
    """The same person in other light, in another size and mirrored; eight people (six, Hopper, astronaut) against each other."""
    portrait = astronaut[0:260, 100:360]
    changed = [
        np.clip(portrait * 0.6, 0, 255).astype(np.uint8),
        cv2.resize(portrait, None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA),
        np.ascontiguousarray(portrait[:, ::-1]),
    ]
    original = backend.find(portrait).embedding[0]
    same = [cosine(original, backend.find(picture).embedding[0]) for picture in changed]
    people = [original, backend.find(read("hopper")).embedding[0], *backend.find(read("six")).embedding]
    different = [cosine(a, b) for index, a in enumerate(people) for b in people[:index]]
    assert min(same) > 0.8
    assert len(people) == 8 and max(different) < MATCH_THRESHOLD and np.mean(different) < 0.2


def test_a_face_that_leaves_and_returns_stays_one_track(backend: ScrfdDlib, astronaut: np.ndarray):
    """Two people; the astronaut is away in the middle and comes back darker; nobody else is in view then."""
    canvas = np.full((5, 260, 420, 3), 90, np.uint8)
    portrait, other = (
        astronaut[20:220, 130:330],
        cv2.resize(read("hopper")[40:340, 120:420], (200, 200), interpolation=cv2.INTER_AREA),
    )
    canvas[0, 30:230, 5:205], canvas[0, 30:230, 215:415] = portrait, other
    canvas[1, 30:230, 215:415] = other
    canvas[3, 40:240, 210:410] = (portrait * 0.8).astype(np.uint8)
    canvas[4, 20:220, 10:210], canvas[4, 30:230, 215:415] = portrait, other
    entry = run_job(backend.start(clip(), video_info(canvas), {}), canvas)
    by_frame: dict[int, list[tuple[float, int]]] = {}
    for frame, box, track in zip(entry.frame, entry.box, entry.track, strict=True):
        by_frame.setdefault(int(frame), []).append((float(box[0]), int(track)))
    left, right = (track for _, track in sorted(by_frame[0]))
    assert left != right and 2 not in by_frame
    assert [track for _, track in by_frame[1]] == [right] and [track for _, track in by_frame[3]] == [left]
    assert [track for _, track in sorted(by_frame[4])] == [left, right]
    assert entry.record["n_tracks"] == 2 and entry.record["sampled_frames"] == [0, 1, 2, 3, 4]
    assert entry.embedding.shape == (6, 128) and entry.landmarks.shape == (6, 5, 2)


def test_no_face_is_a_typed_reason(backend: ScrfdDlib):
    frames = np.full((1, 64, 64, 3), 128, np.uint8)
    with pytest.raises(NotScorable) as raised:
        run_job(backend.start(clip(), video_info(frames), {}), frames)
    assert raised.value.reason is Reason.NO_FACE


def test_mbench_t_samples_inside_its_caption_segments():
    frames = np.zeros((100, 2, 2, 3), np.uint8)
    spread, words = face_frames(clip(setting="T", caption_segments=["a", "b", "c", "d"]), video_info(frames))
    assert len(spread) == 32 and "8 per caption segment" in words
    assert all(np.sum((spread >= 25 * k) & (spread < 25 * (k + 1))) == 8 for k in range(4))
    assert face_frames(clip(), video_info(frames))[0][[0, -1]].tolist() == [0, 99]


@pytest.fixture(scope="module")
def buffalo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("buffalo_l")
    tiny_faces.detector(folder / "det_10g.onnx")
    tiny_faces.recogniser(folder / "w600k_r50.onnx")
    return folder


def test_insightface_models_of_the_real_layout_load_and_run(buffalo: Path, astronaut: np.ndarray):
    """Against a direct forward of both onnx files: BGR in, (x - 127.5) / 127.5 of the aligned face in RGB, unit length out."""
    from insightface.utils.face_align import norm_crop

    made = BuffaloL(options(path=str(buffalo), min_score=0.68))
    faces = made.find(astronaut)
    assert len(faces.score) > 0 and np.all(np.diff(faces.score) <= 0) and faces.score.min() >= 0.68
    session = onnxruntime.InferenceSession(buffalo / "w600k_r50.onnx", providers=["CPUExecutionProvider"])
    aligned = norm_crop(np.ascontiguousarray(astronaut[..., ::-1]), faces.landmarks[0], 112)
    blob = ((aligned[..., ::-1].astype(np.float32) - 127.5) / 127.5).transpose(2, 0, 1)[None]
    expected = session.run(None, {"input.1": blob})[0][0]
    assert np.allclose(faces.embedding[0], expected / np.linalg.norm(expected), atol=1e-4)
    assert faces.embedding.shape[1] == 512 and np.allclose(np.linalg.norm(faces.embedding, axis=1), 1, atol=1e-5)


def test_insightface_detections_are_those_of_a_direct_forward(buffalo: Path, astronaut: np.ndarray):
    """The best cell of the raw score map, decoded by hand."""
    scale = 640 / 512
    picture = cv2.resize(np.ascontiguousarray(astronaut[..., ::-1]), (640, 640))
    blob = ((picture[..., ::-1].astype(np.float32) - 127.5) / 128).transpose(2, 0, 1)[None]
    session = onnxruntime.InferenceSession(buffalo / "det_10g.onnx", providers=["CPUExecutionProvider"])
    outputs = dict(zip([output.name for output in session.get_outputs()], session.run(None, {"input.1": blob}), strict=True))
    stride = max((8, 16, 32), key=lambda stride: outputs[f"score_{stride}"].max())
    anchor = int(outputs[f"score_{stride}"].argmax())
    row, column = divmod(anchor // 2, 640 // stride)
    left, top, right, bottom = outputs[f"bbox_{stride}"][anchor] * stride
    expected = np.array([column * stride - left, row * stride - top, column * stride + right, row * stride + bottom]) / scale
    faces = BuffaloL(options(path=str(buffalo), min_score=0.68)).find(astronaut)
    assert faces.score[0] == pytest.approx(float(outputs[f"score_{stride}"].max()), abs=1e-4)
    assert np.allclose(faces.box[0], expected, atol=0.05)


@pytest.mark.filterwarnings("ignore:Specified provider")
def test_faces_are_found_where_onnxruntime_has_a_gpu(
    buffalo: Path, embedded_weights: None, astronaut: np.ndarray, monkeypatch: pytest.MonkeyPatch
):
    """The networks are kept by the device, because the providers of a GPU cannot be hashed. Here they run on the CPU after all."""
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])
    on_gpu, named = BackendOptions(batch_size=4, device="cuda:0"), {"path": str(buffalo), "min_score": 0.68}
    assert len(ScrfdDlib(on_gpu).find(astronaut).score) == 1
    found = BuffaloL(replace(on_gpu, values=named)).find(astronaut)
    assert len(found.box) and np.array_equal(found.box, BuffaloL(options(**named)).find(astronaut).box)


def test_a_folder_without_models_is_unavailable(tmp_path: Path, astronaut: np.ndarray):
    with pytest.raises(BackendUnavailable, match="no face detection model"):
        BuffaloL(options(path=str(tmp_path))).find(astronaut)
