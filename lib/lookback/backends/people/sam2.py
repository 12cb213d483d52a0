"""The papers' person masks: SAM 2, prompted with the body box and the face's centre (`transformers`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np

from lookback.artifacts import Artifact, FaceTracks
from lookback.backends.base import BackendOptions
from lookback.backends.people.bodies import PeopleJob, body_boxes, found_faces
from lookback.backends.runtime import autocast, checkpoint, settings, torch_device, usable
from lookback.clips import Clip
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

OPTIONS: dict[str, Any] = {"path": "", "precision": "fp32"}
WEIGHTS = "sam2.1-hiera-large"


@backend(
    role="people",
    name="sam2",
    title="SAM 2.1 with the body box and face as prompt",
    embedded=False,
    weights=(WEIGHTS,),
)
class Sam2People:
    """Needs the role `faces`."""

    requires: ClassVar[tuple[str, ...]] = ("faces",)

    def __init__(self, options: BackendOptions):
        self.set = settings(options, OPTIONS)
        self.device = torch_device(options)
        self.path = checkpoint(options, WEIGHTS, self.set["path"])

    @staticmethod
    def available() -> Availability:
        return usable(WEIGHTS, modules=("torch", "transformers"))

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _Sam2Job:
        return _Sam2Job(self, found_faces(artifacts), info)


class _Sam2Job(PeopleJob):
    def __init__(self, backend: Sam2People, faces: FaceTracks, info: VideoInfo):
        super().__init__(faces, info, {"prompt": "body box and centre of the face", "method": "SAM 2, best of three masks"})
        self.backend = backend

    def segment(self, frame: np.ndarray, faces: np.ndarray) -> np.ndarray:
        import torch

        model, processor = _model(self.backend.path, self.backend.device)
        boxes = body_boxes(faces, frame.shape[0], frame.shape[1])
        centres = (faces[:, :2] + faces[:, 2:]) / 2
        inputs = processor(
            images=frame,
            input_boxes=[boxes.tolist()],
            input_points=[[[point.tolist()] for point in centres]],
            input_labels=[[[1]] * len(centres)],
            return_tensors="pt",
        ).to(self.backend.device)
        with torch.inference_mode(), autocast(self.backend.device, self.backend.set["precision"]):
            outputs = model(**inputs, multimask_output=True)
        best = outputs.iou_scores[0].float().argmax(-1)
        logits = outputs.pred_masks[0].float()[torch.arange(len(best), device=best.device), best].cpu().numpy()
        return np.stack([cv2.resize(mask, self.size[::-1], interpolation=cv2.INTER_LINEAR) > 0 for mask in logits])


@lru_cache(maxsize=1)
def _model(path: Path, device: str) -> tuple[Any, Any]:
    from transformers import Sam2Model, Sam2Processor

    model: Any = Sam2Model.from_pretrained(path, local_files_only=True)
    return model.eval().requires_grad_(False).to(device), Sam2Processor.from_pretrained(path, local_files_only=True)
