"""The role `people`: a mask of every person whose face was found.

- `sam2`: SAM 2 (`transformers`), the papers' model, prompted with the body box and the centre of the face.
- `mobile-sam`: MobileSAM with the body box as prompt, embedded.
- `face-grabcut`: GrabCut inside the body box below the face, embedded.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np

from lookback.artifacts import Artifact, FaceTracks, People
from lookback.artifacts.masks import IN_VIEW, LEAVING, OUT, bounds, pack_masks, working_size
from lookback.backends.masks.segmenter import MODULES, Segmenter
from lookback.backends.masks.segmenter import WEIGHTS as MOBILE_SAM
from lookback.backends.pretrained import load_pretrained
from lookback.backends.runtime import ConfiguredBackend, Options, TorchBackend, checkpoint, loaded_once, torch_device
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import backend

# The body box in units of the face box, for a figure of seven and a half heads: hair above, shoulders beside, feet below.
ABOVE, BESIDE, BELOW = 0.4, 1.2, 6.5
# GrabCut starts with a trunk below the face: this many face widths to either side, this many face heights down.
TRUNK_BESIDE, TRUNK_BELOW = 0.4, 3.0
WORKING_SIDE = 320  # the longer side of a stored mask
SAM2_WEIGHTS = "sam2.1-hiera-large"


def body_boxes(faces: np.ndarray, height: int, width: int) -> np.ndarray:
    """Boxes (K,4) around the bodies that belong to the face boxes (K,4), cut at the border of the picture."""
    w, h = faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1]
    boxes = np.stack([faces[:, 0] - BESIDE * w, faces[:, 1] - ABOVE * h, faces[:, 2] + BESIDE * w, faces[:, 3] + BELOW * h], 1)
    return np.clip(boxes, 0, [width, height, width, height])


def found_faces(artifacts: Mapping[str, Artifact]) -> FaceTracks:
    """The artifact of the role `faces`."""
    faces = artifacts[FaceTracks.role]
    assert isinstance(faces, FaceTracks)
    return faces


def people_of(
    masks: np.ndarray, frame: np.ndarray, track: np.ndarray, confidence: np.ndarray, info: VideoInfo, facts: dict[str, Any]
) -> People:
    """The artifact of masks (K,h,w) at the working size; NO_MASK when all of them are empty."""
    height, width = masks.shape[1:]
    scale = np.array([info.width / width, info.height / height])
    boxes = np.full((len(masks), 4), np.nan, np.float32)
    border = np.zeros(len(masks), bool)
    for row, mask in enumerate(masks):
        around = bounds(mask)
        if around is not None:
            boxes[row] = np.array(around) * np.tile(scale, 2)
            border[row] = around[0] == 0 or around[1] == 0 or around[2] == width or around[3] == height
    found = ~np.isnan(boxes[:, 0])
    if not found.any():
        raise NotScorable(Reason.NO_MASK, "no person could be cut out under any face")
    return People(
        frame_index=frame,
        packed=pack_masks(masks),
        boxes=boxes,
        area=masks.mean((1, 2)).astype(np.float32),
        state=np.where(found, np.where(border, LEAVING, IN_VIEW), OUT).astype(np.int8),
        confidence=confidence,
        track=track,
        shape=masks.shape,
        facts={**facts, "n_people": int(found.sum())},
    )


class PeopleJob:
    """Masks of people in the frames with faces: one row per face, in the order of the faces. A subclass makes the masks."""

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
        """Masks (k,h,w) at the working size, for the people with the face boxes (k,4) in one frame."""
        raise NotImplementedError

    def finish(self) -> People:
        faces = self.faces
        return people_of(self.masks, faces.frame, faces.track, faces.score, self.info, self.facts)


@backend(
    role="people",
    name="sam2",
    title="SAM 2.1 with the body box and face as prompt",
    embedded=False,
    weights=(SAM2_WEIGHTS,),
)
class Sam2People(TorchBackend):
    """Needs the role `faces`."""

    requires = ("faces",)
    defaults: ClassVar[Options] = {"path": "", "precision": "fp32"}
    weights = (SAM2_WEIGHTS,)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _Sam2Job:
        return _Sam2Job(self, found_faces(artifacts), info)


class _Sam2Job(PeopleJob):
    def __init__(self, backend: Sam2People, faces: FaceTracks, info: VideoInfo):
        super().__init__(faces, info, {"prompt": "body box and centre of the face", "method": "SAM 2, best of three masks"})
        self.backend = backend

    def segment(self, frame: np.ndarray, faces: np.ndarray) -> np.ndarray:
        import torch

        model, processor = _sam2_model(self.backend.path, self.backend.device)
        boxes = body_boxes(faces, frame.shape[0], frame.shape[1])
        centres = (faces[:, :2] + faces[:, 2:]) / 2
        inputs = processor(
            images=frame,
            input_boxes=[boxes.tolist()],
            input_points=[[[point.tolist()] for point in centres]],
            input_labels=[[[1]] * len(centres)],
            return_tensors="pt",
        ).to(self.backend.device)
        with torch.inference_mode(), self.backend.autocast():
            outputs = model(**inputs, multimask_output=True)
        best = outputs.iou_scores[0].float().argmax(-1)
        logits = outputs.pred_masks[0].float()[torch.arange(len(best), device=best.device), best].cpu().numpy()
        return np.stack([cv2.resize(mask, self.size[::-1], interpolation=cv2.INTER_LINEAR) > 0 for mask in logits])


@loaded_once(1)
def _sam2_model(path: Path, device: str) -> tuple[Any, Any]:
    from transformers import Sam2Model, Sam2Processor

    model, processor = load_pretrained(path, "SAM 2", Sam2Model, Sam2Processor)
    return model.to(device), processor


@backend(
    role="people",
    name="mobile-sam",
    title="MobileSAM with the body box and face as prompt (in place of SAM 2)",
    embedded=True,
    weights=(MOBILE_SAM,),
)
class MobileSamPeople(ConfiguredBackend):
    """Needs the role `faces`. A person whose face is not seen has no mask."""

    requires = ("faces",)
    weights = (MOBILE_SAM,)
    modules = MODULES

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _MobileSamJob:
        segmenter = Segmenter(checkpoint(self.options, MOBILE_SAM), torch_device(self.options))
        return _MobileSamJob(segmenter, found_faces(artifacts), info)


class _MobileSamJob(PeopleJob):
    def __init__(self, segmenter: Segmenter, faces: FaceTracks, info: VideoInfo):
        super().__init__(faces, info, {"prompt": "body box and centre of the face", "method": "MobileSAM, best of three masks"})
        self.segmenter = segmenter

    def segment(self, frame: np.ndarray, faces: np.ndarray) -> np.ndarray:
        boxes = body_boxes(faces, frame.shape[0], frame.shape[1])
        cuts = self.segmenter.in_boxes(frame, boxes, self.size, points=(faces[:, :2] + faces[:, 2:]) / 2)
        return np.stack([cut.mask for cut in cuts])


@backend(
    role="people",
    name="face-grabcut",
    title="GrabCut in the body box under each face (in place of SAM 2)",
    embedded=True,
)
class FaceGrabCut(ConfiguredBackend):
    """Needs the role `faces`. A person whose face is not seen has no mask."""

    requires = ("faces",)
    defaults: ClassVar[Options] = {"iterations": 3}

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _GrabCutJob:
        return _GrabCutJob(found_faces(artifacts), info, self.settings["iterations"], self.options.seed)


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
        """The mask of one person. The other faces count as background."""
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
            return np.zeros((height, width), bool)  # no background to compare with, or a face smaller than a pixel
        cv2.setRNGSeed(self.seed)  # GrabCut clusters colours from a random start
        cv2.grabCut(image, labels, (0, 0, 1, 1), np.zeros((1, 65)), np.zeros((1, 65)), self.iterations, cv2.GC_INIT_WITH_MASK)
        mask = np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD)).astype(np.uint8)
        _, components = cv2.connectedComponents(mask)
        inside = components[_span(y0, y1, height), _span(x0, x1, width)]
        return np.isin(components, np.unique(inside[inside > 0]))


def _span(low: float, high: float, size: int) -> slice:
    return slice(int(np.clip(np.floor(low), 0, size)), int(np.clip(np.ceil(high), 0, size)))


def _fill(labels: np.ndarray, box: np.ndarray, value: int) -> None:
    labels[_span(box[1], box[3], labels.shape[0]), _span(box[0], box[2], labels.shape[1])] = value
