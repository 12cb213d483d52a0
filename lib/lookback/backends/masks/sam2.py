"""The papers' masks: SAM 2 (Ravi et al. 2024) prompted by a box in the first frame, streamed through the clip (`transformers`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np

from lookback.artifacts import Artifact, Masks
from lookback.backends.base import BackendOptions
from lookback.backends.masks import grounding
from lookback.backends.masks.artifact import MaskRows
from lookback.backends.masks.prompt import anchor_box
from lookback.backends.runtime import autocast, checkpoint, settings, torch_device, usable
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

WEIGHTS = "sam2.1-hiera-large"
OPTIONS: dict[str, Any] = {"path": "", "precision": "fp32", "detector_path": "", "detector_threshold": 0.25, "phrase": ""}
OBJECT = 1


@backend(
    role="masks",
    name="sam2",
    title="SAM 2.1 from the object anchor, or from GroundingDINO's box for the object's name",
    embedded=False,
    version="1",
    weights=(WEIGHTS, grounding.WEIGHTS),
)
class Sam2Masks:
    """A clip without an anchor needs an object name, and GroundingDINO's weights.

    With the option `phrase` (such as "the {subject}") the object is always asked for by name, in these words.
    """

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        self.options = options
        self.set = settings(options, OPTIONS)
        self.device = torch_device(options)
        self.path = checkpoint(options, WEIGHTS, self.set["path"])

    @staticmethod
    def available() -> Availability:
        return usable(WEIGHTS, modules=("torch", "transformers"))

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _Sam2Job:
        phrase = self.set["phrase"]
        box = None if phrase else anchor_box(clip, info)
        if box is not None:
            return _Sam2Job(self, info, box, "")
        if not clip.object_name:
            lacks = "no object_name" if phrase else "neither an object_anchor nor an object_name"
            raise NotScorable(Reason.MISSING_INPUT, f"the clip has {lacks} to prompt with")
        checkpoint(self.options, grounding.WEIGHTS, self.set["detector_path"])
        words = (phrase or "{subject}").replace("{subject}", clip.object_name).replace("{first}", clip.object_name.split()[0])
        return _Sam2Job(self, info, None, words)

    def find(self, frame: np.ndarray, name: str) -> grounding.Grounded:
        path = checkpoint(self.options, grounding.WEIGHTS, self.set["detector_path"])
        return grounding.ground(path, self.device, frame, name, self.set["detector_threshold"])


class _Sam2Job:
    wants: np.ndarray | None = None

    def __init__(self, backend: Sam2Masks, info: VideoInfo, box: np.ndarray | None, name: str):
        self.backend, self.info, self.box, self.name = backend, info, box, name
        self.rows = MaskRows(info)
        self.record: dict[str, Any] = {"prompt": "object anchor", "method": "SAM 2 video, box prompt in the first frame"}
        self.session: Any = None

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        import torch

        model, processor = _model(self.backend.path, self.backend.device)
        for index, frame in zip(indices, frames, strict=True):
            pixels = processor.image_processor(images=frame, return_tensors="pt").pixel_values.to(self.backend.device)
            if self.session is None:
                self._prompt(processor, frame)
            number = len(self.rows)
            with torch.inference_mode(), autocast(self.backend.device, self.backend.set["precision"]):
                output = model(self.session, frame_idx=number, frame=pixels[0])
            logits = output.pred_masks[0, 0].float().cpu().numpy()
            score = float(torch.sigmoid(output.object_score_logits.float()).reshape(-1)[0])
            mask = cv2.resize(logits, self.rows.size[::-1], interpolation=cv2.INTER_LINEAR) > 0
            self.rows.add(int(index), mask, score)
            _forget(self.session, number, max(model.config.num_maskmem, model.config.max_object_pointers_in_encoder))

    def finish(self) -> Masks:
        return self.rows.finish(self.record)

    def _prompt(self, processor: Any, frame: np.ndarray) -> None:
        if self.box is None:
            found = self.backend.find(frame, self.name)
            self.box = found.box
            self.record |= {"prompt": f"GroundingDINO: {self.name}", "prompt_score": found.score}
        self.record["prompt_box"] = [float(value) for value in self.box]
        self.session = processor.init_video_session(inference_device=self.backend.device)
        processor.add_inputs_to_inference_session(
            self.session, frame_idx=0, obj_ids=OBJECT, input_boxes=[[self.box.tolist()]], original_size=frame.shape[:2]
        )


def _forget(session: Any, frame: int, keep: int) -> None:
    """Drop what no later frame reads: pictures, and outputs older than the memory bank, so that memory does not grow."""
    session.processed_frames.clear()
    for outputs in session.output_dict_per_obj.values():
        outputs["non_cond_frame_outputs"].pop(frame - keep, None)
    for tracked in session.frames_tracked_per_obj.values():
        tracked.pop(frame - keep, None)


@lru_cache(maxsize=1)
def _model(path: Path, device: str) -> tuple[Any, Any]:
    from transformers import Sam2VideoModel, Sam2VideoProcessor, Sam2VideoVideoProcessor
    from transformers.models.sam2.image_processing_sam2 import Sam2ImageProcessor

    model: Any = Sam2VideoModel.from_pretrained(path, local_files_only=True)
    images = Sam2ImageProcessor.from_pretrained(path, local_files_only=True)
    # Frames are streamed through the image processor; the session only needs the size that boxes are mapped to.
    processor = Sam2VideoProcessor(images, Sam2VideoVideoProcessor(), target_size=images.size["height"])
    return model.eval().requires_grad_(False).to(device), processor
