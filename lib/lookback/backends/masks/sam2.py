"""The masks of the papers: SAM 2 (Ravi et al. 2024) in `transformers`. A box or point in the first frame prompts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from lookback.backends.masks.prompt import DETECTOR_WEIGHTS, Prompt, PromptedJob, PromptedMasks
from lookback.backends.pretrained import load_pretrained
from lookback.backends.runtime import loaded_once
from lookback.devices import kind_of
from lookback.media import VideoInfo
from lookback.registry import backend

WEIGHTS = "sam2.1-hiera-large"
OBJECT = 1
TOGETHER = 8  # frames that a GPU encodes in one pass


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
        if self.session is None and len(frames):
            self._prompt(_model(self.backend.path, self.backend.device)[1], frames[0])
        step = TOGETHER if kind_of(self.backend.device) == "cuda" else 1
        for start in range(0, len(frames), step):
            part = slice(start, start + step)
            logits, scores = self._track(frames[part])
            for index, mask, score in zip(indices[part], logits, scores, strict=True):
                shown = cv2.resize(mask, self.rows.size[::-1], interpolation=cv2.INTER_LINEAR) > 0
                self.rows.add(int(index), shown, float(score))

    def _track(self, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The logits (n,h,w) and scores (n,) of the next frames. They are encoded together and then followed one by one."""
        import torch

        model, processor = _model(self.backend.path, self.backend.device)
        images = torch.from_numpy(np.ascontiguousarray(frames)).to(self.backend.device).permute(0, 3, 1, 2)
        pixels = processor.image_processor(images=list(images), return_tensors="pt").pixel_values
        memory = max(model.config.num_maskmem, model.config.max_object_pointers_in_encoder)
        masks, scores, first = [], [], len(self.rows)
        with torch.inference_mode(), self.backend.autocast():
            encoded = model.get_image_features(pixels, return_dict=True)
            for row in range(len(frames)):
                one = np.s_[:, row : row + 1]
                features = {"vision_feats": [level[one] for level in encoded.fpn_hidden_states]}
                features["vision_pos_embeds"] = [level[one] for level in encoded.fpn_position_encoding]
                self.session.cache.cache_vision_features(first + row, features)
                output = model(self.session, frame_idx=first + row, frame=pixels[row])
                masks.append(output.pred_masks[0, 0].float())
                scores.append(torch.sigmoid(output.object_score_logits.float()).reshape(-1)[0])
                _forget(self.session, first + row, memory)
            return torch.stack(masks).cpu().numpy(), torch.stack(scores).cpu().numpy()

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


@loaded_once(1)
def _model(path: Path, device: str) -> tuple[Any, Any]:
    from transformers import Sam2VideoModel, Sam2VideoProcessor, Sam2VideoVideoProcessor
    from transformers.models.sam2.image_processing_sam2 import Sam2ImageProcessor

    model, images = load_pretrained(path, "SAM 2", Sam2VideoModel, Sam2ImageProcessor)
    # Frames go through the image processor one by one. The session only needs the size that boxes are scaled to.
    processor = Sam2VideoProcessor(images, Sam2VideoVideoProcessor(), target_size=images.size["height"])
    return model.to(device), processor
