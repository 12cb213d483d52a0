"""From faces to bodies: the box a standing person's body would fill, and the artifact of person masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lookback.artifacts import Artifact, FaceTracks, People
from lookback.artifacts.masks import IN_VIEW, LEAVING, OUT, bounds, pack_masks, working_size
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo

# In units of the face box, by the figure of seven and a half heads: hair above, shoulders beside, feet below.
ABOVE, BESIDE, BELOW = 0.4, 1.2, 6.5
WORKING_SIDE = 320  # the longer side of a stored mask


def body_boxes(faces: np.ndarray, height: int, width: int) -> np.ndarray:
    """Boxes (K,4) around the bodies under the face boxes (K,4), cut at the picture's border."""
    w, h = faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1]
    boxes = np.stack([faces[:, 0] - BESIDE * w, faces[:, 1] - ABOVE * h, faces[:, 2] + BESIDE * w, faces[:, 3] + BELOW * h], 1)
    return np.clip(boxes, 0, [width, height, width, height])


def found_faces(artifacts: Mapping[str, Artifact]) -> FaceTracks:
    """The artifact of the role `faces`, if there is one."""
    faces = FaceTracks.among(artifacts)
    if faces is None:
        raise NotScorable(Reason.NO_FACE, "there is no artifact of the role 'faces' for this clip")
    return faces


class PeopleJob:
    """Person masks of the frames with faces: one row per face, in the faces' order. Subclasses say how a mask is made."""

    def __init__(self, faces: FaceTracks, info: VideoInfo, facts: dict[str, Any]):
        self.faces, self.info, self.facts = faces, info, facts
        self.wants = np.unique(faces.frame)
        self.size = working_size(info.height, info.width, WORKING_SIDE)
        self.masks = np.zeros((len(faces.frame), *self.size), bool)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        for index, frame in zip(indices, frames, strict=True):
            rows = np.flatnonzero(self.faces.frame == index)
            self.masks[rows] = self.segment(frame, self.faces.box[rows].astype(np.float64))

    def segment(self, frame: np.ndarray, faces: np.ndarray) -> np.ndarray:
        """Masks (k,h,w) at the working size of the people under the face boxes (k,4) of one frame."""
        raise NotImplementedError

    def finish(self) -> People:
        height, width = self.size
        scale = np.array([self.info.width / width, self.info.height / height])
        boxes = np.full((len(self.masks), 4), np.nan, np.float32)
        border = np.zeros(len(self.masks), bool)
        for row, mask in enumerate(self.masks):
            around = bounds(mask)
            if around is not None:
                boxes[row] = np.array(around) * np.tile(scale, 2)
                border[row] = around[0] == 0 or around[1] == 0 or around[2] == width or around[3] == height
        found = ~np.isnan(boxes[:, 0])
        if not found.any():
            raise NotScorable(Reason.NO_MASK, "no person could be cut out under any face")
        return People(
            frame_index=self.faces.frame,
            packed=pack_masks(self.masks),
            boxes=boxes,
            area=self.masks.mean((1, 2)).astype(np.float32),
            state=np.where(found, np.where(border, LEAVING, IN_VIEW), OUT).astype(np.int8),
            confidence=self.faces.score,
            track=self.faces.track,
            shape=self.masks.shape,
            facts={**self.facts, "n_people": int(found.sum())},
        )
