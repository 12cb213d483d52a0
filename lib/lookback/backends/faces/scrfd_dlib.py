"""The embedded face backend: SCRFD finds, dlib identifies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lookback.artifacts import Artifact
from lookback.backends.base import BackendOptions
from lookback.backends.faces.detection import N_FRAMES, FaceJob, Faces, face_frames
from lookback.backends.faces.dlib_embedding import MATCH_THRESHOLD, DlibEmbedding
from lookback.backends.faces.scrfd import SIDE, Scrfd
from lookback.backends.runtime import checkpoint, onnx_providers, settings, usable
from lookback.clips import Clip
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

OPTIONS: dict[str, Any] = {"min_score": 0.5, "frames": N_FRAMES, "tracker_threshold": MATCH_THRESHOLD, "side": SIDE}
WEIGHTS = ("scrfd", "dlib-landmarks", "dlib-resnet")


@backend(
    role="faces",
    name="scrfd-dlib",
    title="SCRFD faces, dlib ResNet identities (in place of ArcFace)",
    embedded=True,
    weights=WEIGHTS,
)
class ScrfdDlib:
    """Embeddings are dlib's descriptors minus a fixed centre: see `dlib_embedding`."""

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        self.options = options
        self.set = settings(options, OPTIONS)
        self.paths = [checkpoint(options, name) for name in WEIGHTS]

    @staticmethod
    def available() -> Availability:
        return usable(*WEIGHTS, modules=("onnxruntime", "dlib"), install="onnxruntime dlib-bin")

    def find(self, frame: np.ndarray) -> Faces:
        """The faces of one frame uint8 (H,W,3)."""
        detector, identity = _models(*self.paths, tuple(onnx_providers(self.options)), self.set["side"])
        box, landmarks, score = detector.detect(frame, self.set["min_score"])
        return Faces(box, landmarks, score, identity.embed(frame, box))

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> FaceJob:
        wants, sampling = face_frames(clip, info, self.set["frames"])
        record = {"sampling": sampling, "embedding": "dlib descriptor minus a fixed centre"}
        return FaceJob(self.find, wants, self.set["tracker_threshold"], record)


@lru_cache(maxsize=2)
def _models(scrfd: Path, landmarks: Path, network: Path, providers: tuple[str, ...], side: int) -> tuple[Scrfd, DlibEmbedding]:
    """One instance per process; one thread, because workers are processes."""
    return Scrfd(scrfd, list(providers), threads=1, side=side), DlibEmbedding(landmarks, network)
