"""The embedded person masks: GrabCut inside the body box that a face suggests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import cv2
import numpy as np

from lookback.artifacts import Artifact, FaceTracks
from lookback.backends.base import BackendOptions
from lookback.backends.people.bodies import PeopleJob, body_boxes, found_faces
from lookback.backends.runtime import settings
from lookback.clips import Clip
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

OPTIONS: dict[str, Any] = {"iterations": 3}
# The trunk below the face counts as probably the person: this many face widths to either side, this many face heights down.
TRUNK_BESIDE, TRUNK_BELOW = 0.4, 3.0


@backend(
    role="people",
    name="face-grabcut",
    title="GrabCut in the body box under each face (in place of SAM 2)",
    embedded=True,
)
class FaceGrabCut:
    """Needs the role `faces`; a person whose face is not seen has no mask."""

    requires: ClassVar[tuple[str, ...]] = ("faces",)

    def __init__(self, options: BackendOptions):
        self.seed = options.seed
        self.set = settings(options, OPTIONS)

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _GrabCutJob:
        return _GrabCutJob(found_faces(artifacts), info, self.set["iterations"], self.seed)


class _GrabCutJob(PeopleJob):
    def __init__(self, faces: FaceTracks, info: VideoInfo, iterations: int, seed: int):
        super().__init__(faces, info, {"prompt": "body box under the face", "method": f"GrabCut, {iterations} iterations"})
        self.iterations, self.seed = iterations, seed

    def segment(self, frame: np.ndarray, faces: np.ndarray) -> np.ndarray:
        height, width = self.size
        small = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)
        scaled = faces * np.tile([width / frame.shape[1], height / frame.shape[0]], 2)
        return np.stack([self._cut(small, scaled, person) for person in range(len(faces))])

    def _cut(self, image: np.ndarray, faces: np.ndarray, person: int) -> np.ndarray:
        """One person's mask; the other faces are background."""
        height, width = image.shape[:2]
        labels = np.full((height, width), cv2.GC_BGD, np.uint8)
        _fill(labels, body_boxes(faces[person : person + 1], height, width)[0], cv2.GC_PR_BGD)
        x0, y0, x1, y1 = faces[person]
        w, h = x1 - x0, y1 - y0
        _fill(labels, np.array([x0 - TRUNK_BESIDE * w, y1, x1 + TRUNK_BESIDE * w, y1 + TRUNK_BELOW * h]), cv2.GC_PR_FGD)
        for other in np.delete(faces, person, axis=0):
            _fill(labels, other, cv2.GC_BGD)
        _fill(labels, faces[person], cv2.GC_FGD)
        if not (labels == cv2.GC_BGD).any() or not (labels == cv2.GC_FGD).any():
            return np.zeros((height, width), bool)  # nothing to tell the person from, or a face smaller than a pixel here
        cv2.setRNGSeed(self.seed)  # GrabCut's clustering starts at random
        cv2.grabCut(image, labels, (0, 0, 1, 1), np.zeros((1, 65)), np.zeros((1, 65)), self.iterations, cv2.GC_INIT_WITH_MASK)
        mask = np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD)).astype(np.uint8)
        _, components = cv2.connectedComponents(mask)
        inside = components[_span(y0, y1, height), _span(x0, x1, width)]
        return np.isin(components, np.unique(inside[inside > 0]))


def _span(low: float, high: float, size: int) -> slice:
    return slice(int(np.clip(np.floor(low), 0, size)), int(np.clip(np.ceil(high), 0, size)))


def _fill(labels: np.ndarray, box: np.ndarray, value: int) -> None:
    labels[_span(box[1], box[3], labels.shape[0]), _span(box[0], box[2], labels.shape[1])] = value
