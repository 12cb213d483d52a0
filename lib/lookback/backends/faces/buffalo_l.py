"""MBench's face backend: InsightFace buffalo_l, SCRFD-10G faces and ArcFace identities, from files on disk."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lookback.artifacts import Artifact
from lookback.backends.base import BackendOptions
from lookback.backends.faces.detection import N_FRAMES, FaceJob, Faces, face_frames
from lookback.backends.runtime import checkpoint, onnx_providers, settings, usable
from lookback.clips import Clip
from lookback.errors import BackendUnavailable
from lookback.measures.features import MATCH_THRESHOLD
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

OPTIONS: dict[str, Any] = {"path": "", "min_score": 0.5, "frames": N_FRAMES, "tracker_threshold": MATCH_THRESHOLD}
DETECTION_SIZE = (640, 640)


@backend(
    role="faces",
    name="buffalo_l",
    title="InsightFace buffalo_l: SCRFD and ArcFace",
    embedded=False,
    weights=("buffalo_l",),
)
class BuffaloL:
    """`path` names another folder with a detection and a recognition model in InsightFace's layout."""

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        self.options = options
        self.set = settings(options, OPTIONS)
        self.folder = checkpoint(options, "buffalo_l", self.set["path"])

    @staticmethod
    def available() -> Availability:
        return usable("buffalo_l", modules=("insightface", "onnxruntime"))

    def find(self, frame: np.ndarray) -> Faces:
        """The faces of one frame uint8 (H,W,3); InsightFace takes BGR."""
        analysis = _analysis(self.folder, tuple(onnx_providers(self.options)), self.set["min_score"])
        found = sorted(analysis.get(np.ascontiguousarray(frame[..., ::-1])), key=lambda face: -face.det_score)
        if not found:
            return Faces(np.empty((0, 4)), np.empty((0, 5, 2)), np.empty(0), np.empty((0, 0)))
        box, landmarks = np.stack([face.bbox for face in found]), np.stack([face.kps for face in found])
        return Faces(
            box, landmarks, np.array([face.det_score for face in found]), np.stack([face.normed_embedding for face in found])
        )

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> FaceJob:
        wants, sampling = face_frames(clip, info, self.set["frames"])
        return FaceJob(self.find, wants, self.set["tracker_threshold"], {"sampling": sampling, "embedding": "ArcFace, unit length"})


@lru_cache(maxsize=2)
def _analysis(folder: Path, providers: tuple[str, ...], min_score: float) -> Any:
    from insightface.app import FaceAnalysis

    try:
        analysis: Any = FaceAnalysis(name=str(folder), allowed_modules=["detection", "recognition"], providers=list(providers))
    except AssertionError:
        raise BackendUnavailable(f"{folder} holds no face detection model", "Put det_10g.onnx and w600k_r50.onnx there") from None
    if "recognition" not in analysis.models:
        raise BackendUnavailable(f"{folder} holds no face recognition model", "Put w600k_r50.onnx there")
    analysis.prepare(ctx_id=0 if "CUDAExecutionProvider" in providers else -1, det_thresh=min_score, det_size=DETECTION_SIZE)
    return analysis
