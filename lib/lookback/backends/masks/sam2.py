"""The masks of the papers: SAM 2 (Ravi et al. 2024) in `transformers`. A box or point in the first frame prompts it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from lookback.backends.masks.prompt import DETECTOR_WEIGHTS, Prompt, PromptedJob, PromptedMasks
from lookback.media import VideoInfo
from lookback.registry import backend

WEIGHTS = "sam2.1-hiera-large"
OBJECT = 1


@backend(
    role="masks",
    name="sam2",
    title="SAM 2.1 from the object anchor, or from GroundingDINO's box for the object's name",
    embedded=False,
    weights=(WEIGHTS, DETECTOR_WEIGHTS),
)
class Sam2Masks(PromptedMasks):
    """Loads a folder as the model hub has it: config.json and model.safetensors."""

    weights = (WEIGHTS,)

    def job(self, info: VideoInfo, prompt: Prompt) -> _Sam2Job:
        return _Sam2Job(self, info, prompt)


class _Sam2Job(PromptedJob):
    def __init__(self, backend: Sam2Masks, info: VideoInfo, prompt: Prompt):
        super().__init__(backend, info, prompt, "SAM 2 video")
        self.backend = backend
        self.session: Any = None

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        import torch

        model, processor = _model(self.backend.path, self.backend.device)
        for index, frame in zip(indices, frames, strict=True):
            pixels = processor.image_processor(images=frame, return_tensors="pt").pixel_values.to(self.backend.device)
            if self.session is None:
                self._prompt(processor, frame)
            number = len(self.rows)
            with torch.inference_mode(), self.backend.autocast():
                output = model(self.session, frame_idx=number, frame=pixels[0])
            logits = output.pred_masks[0, 0].float().cpu().numpy()
            score = float(torch.sigmoid(output.object_score_logits.float()).reshape(-1)[0])
            mask = cv2.resize(logits, self.rows.size[::-1], interpolation=cv2.INTER_LINEAR) > 0
            self.rows.add(int(index), mask, score)
            _forget(self.session, number, max(model.config.num_maskmem, model.config.max_object_pointers_in_encoder))

    def _prompt(self, processor: Any, frame: np.ndarray) -> None:
        if self.point:
            shown = {"input_points": [[[self.prompt_point(frame).tolist()]]], "input_labels": [[[1]]]}
        else:
            shown = {"input_boxes": [[self.prompt_box(frame).tolist()]]}
        self.session = processor.init_video_session(inference_device=self.backend.device)
        processor.add_inputs_to_inference_session(self.session, frame_idx=0, obj_ids=OBJECT, original_size=frame.shape[:2], **shown)


def _forget(session: Any, frame: int, keep: int) -> None:
    """Delete what no later frame reads (pictures, and outputs older than the memory bank), so that memory does not grow."""
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
    # Frames go through the image processor one by one. The session only needs the size that boxes are scaled to.
    processor = Sam2VideoProcessor(images, Sam2VideoVideoProcessor(), target_size=images.size["height"])
    return model.eval().requires_grad_(False).to(device), processor
