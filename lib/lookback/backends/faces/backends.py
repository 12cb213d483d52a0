"""The role `faces`: where the faces of sampled frames are, and which of them belong to one person.

- `buffalo_l`: InsightFace's SCRFD-10G faces and ArcFace identities, MBench's choice, from files on disk.
- `scrfd-dlib`: SCRFD finds the faces, dlib identifies the people; embedded.

Sampling and tracking follow MBench section 4.2.2 and appendix B.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lookback.artifacts import Artifact, FaceTracks
from lookback.backends.base import BackendOptions
from lookback.backends.faces import dlib_embedding
from lookback.backends.faces.dlib_embedding import DlibEmbedding
from lookback.backends.faces.scrfd import SIDE, Scrfd
from lookback.backends.runtime import ConfiguredBackend, Options, checkpoint, loaded_once, onnx_providers
from lookback.clips import Clip
from lookback.devices import kind_of
from lookback.errors import BackendUnavailable, NotScorable, Reason
from lookback.measures.features import MATCH_THRESHOLD, track_identities
from lookback.media import VideoInfo, sample_segments, sample_uniform
from lookback.registry import BENCHMARKS, backend

N_FRAMES = 32
DETECTION_SIZE = (640, 640)
BUFFALO_WEIGHTS = ("buffalo_l",)
EMBEDDED_WEIGHTS = ("scrfd", "dlib-landmarks", "dlib-resnet")


@dataclass(frozen=True)
class Faces:
    """The faces of one frame, best first."""

    box: np.ndarray  # (K,4) x0 y0 x1 y1 in pixels
    landmarks: np.ndarray  # (K,5,2): eyes, nose, mouth corners
    score: np.ndarray  # (K,)
    embedding: np.ndarray  # (K,D)


def face_frames(clip: Clip, info: VideoInfo, count: int = N_FRAMES) -> tuple[np.ndarray, str]:
    """`count` frames (32 in the paper), spread evenly. Where the benchmark samples each caption, the segments share them."""
    segments = len(clip.caption_segments)
    if segments > 1 and BENCHMARKS.get(clip.benchmark).samples_each_caption(clip):
        per_segment = -(-count // segments)
        frames = np.concatenate(sample_segments(info.n_frames, segments, per_segment))
        return frames, f"{per_segment} per caption segment"
    return sample_uniform(info.n_frames, count), f"uniform {count}"


class FaceJob:
    """Finds the faces of the sampled frames of one clip, and joins them to tracks at the end."""

    def __init__(self, find: Callable[[np.ndarray], Faces], wants: np.ndarray, threshold: float, record: dict[str, Any]):
        self.find, self.wants, self.threshold, self.record = find, wants, threshold, record
        self.found: list[tuple[int, Faces]] = []

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        self.found += [(int(index), self.find(frame)) for index, frame in zip(indices, frames, strict=True)]

    def finish(self) -> FaceTracks:
        counts = [len(faces.score) for _, faces in self.found]
        if not sum(counts):
            raise NotScorable(Reason.NO_FACE, f"no face in {len(self.found)} sampled frames")
        faces = [faces for _, faces in self.found]
        track = np.empty(sum(counts), np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        people = track_identities([each.embedding for each in faces], threshold=self.threshold)
        for number, identity in enumerate(people):
            for position, detection in zip(identity.frames, identity.detections, strict=True):
                track[offsets[position] + detection] = number
        facts = {
            "n_frames_sampled": len(self.found),
            "tracker_threshold": self.threshold,
            "n_faces": int(sum(counts)),
            "n_tracks": len(people),
        }
        return FaceTracks(
            frame=np.repeat([index for index, _ in self.found], counts),
            box=np.concatenate([each.box for each in faces]).astype(np.float32),
            landmarks=np.concatenate([each.landmarks for each in faces]).astype(np.float32),
            score=np.concatenate([each.score for each in faces]).astype(np.float32),
            embedding=np.concatenate([each.embedding for each in faces if len(each.score)]).astype(np.float32),
            track=track,
            sampled_frames=tuple(index for index, _ in self.found),
            facts={**self.record, **facts},
        )


@backend(
    role="faces",
    name="buffalo_l",
    title="InsightFace buffalo_l: SCRFD and ArcFace",
    embedded=False,
    weights=BUFFALO_WEIGHTS,
)
class BuffaloL(ConfiguredBackend):
    """The option `path` names another folder with a detection and a recognition model, as InsightFace stores them."""

    defaults: ClassVar[Options] = {"path": "", "min_score": 0.5, "frames": N_FRAMES, "tracker_threshold": MATCH_THRESHOLD}
    weights = BUFFALO_WEIGHTS
    modules = ("insightface", "onnxruntime")

    def __init__(self, options: BackendOptions):
        super().__init__(options)
        self.folder = checkpoint(options, self.weights[0], self.settings["path"])

    def find(self, frame: np.ndarray) -> Faces:
        """The faces of one frame uint8 (H,W,3). InsightFace takes BGR."""
        analysis = _insightface(self.folder, self.options.device, self.settings["min_score"])
        found = sorted(analysis.get(np.ascontiguousarray(frame[..., ::-1])), key=lambda face: -face.det_score)
        if not found:
            return Faces(np.empty((0, 4)), np.empty((0, 5, 2)), np.empty(0), np.empty((0, 0)))
        box, landmarks = np.stack([face.bbox for face in found]), np.stack([face.kps for face in found])
        return Faces(
            box, landmarks, np.array([face.det_score for face in found]), np.stack([face.normed_embedding for face in found])
        )

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> FaceJob:
        wants, sampling = face_frames(clip, info, self.settings["frames"])
        record = {"sampling": sampling, "embedding": "ArcFace, unit length"}
        return FaceJob(self.find, wants, self.settings["tracker_threshold"], record)


@loaded_once(2)
def _insightface(folder: Path, device: str, min_score: float) -> Any:
    from insightface.app import FaceAnalysis

    try:
        analysis: Any = FaceAnalysis(
            name=str(folder), allowed_modules=["detection", "recognition"], providers=onnx_providers(device)
        )
    except AssertionError:
        raise BackendUnavailable(f"{folder} holds no face detection model", "Put det_10g.onnx and w600k_r50.onnx there") from None
    if "recognition" not in analysis.models:
        raise BackendUnavailable(f"{folder} holds no face recognition model", "Put w600k_r50.onnx there")
    analysis.prepare(ctx_id=-1 if kind_of(device) == "cpu" else 0, det_thresh=min_score, det_size=DETECTION_SIZE)
    return analysis


@backend(
    role="faces",
    name="scrfd-dlib",
    title="SCRFD faces, dlib ResNet identities (in place of ArcFace)",
    embedded=True,
    weights=EMBEDDED_WEIGHTS,
)
class ScrfdDlib(ConfiguredBackend):
    """The embeddings are dlib's descriptors minus a fixed centre; `dlib_embedding` explains why."""

    defaults: ClassVar[Options] = {
        "min_score": 0.5,
        "frames": N_FRAMES,
        "tracker_threshold": dlib_embedding.MATCH_THRESHOLD,
        "side": SIDE,
    }
    weights = EMBEDDED_WEIGHTS
    modules = ("onnxruntime", "dlib")

    def __init__(self, options: BackendOptions):
        super().__init__(options)
        self.paths = [checkpoint(options, name) for name in self.weights]

    def find(self, frame: np.ndarray) -> Faces:
        """The faces of one frame uint8 (H,W,3)."""
        detector, identity = _scrfd_dlib(*self.paths, self.options.device, self.settings["side"])
        box, landmarks, score = detector.detect(frame, self.settings["min_score"])
        return Faces(box, landmarks, score, identity.embed(frame, box))

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> FaceJob:
        wants, sampling = face_frames(clip, info, self.settings["frames"])
        record = {"sampling": sampling, "embedding": "dlib descriptor minus a fixed centre"}
        return FaceJob(self.find, wants, self.settings["tracker_threshold"], record)


@loaded_once(2)
def _scrfd_dlib(scrfd: Path, landmarks: Path, network: Path, device: str, side: int) -> tuple[Scrfd, DlibEmbedding]:
    """One instance per process. It uses one thread, because the workers are processes."""
    return Scrfd(scrfd, onnx_providers(device), threads=1, side=side), DlibEmbedding(landmarks, network)
