"""SAM 3 (Meta 2025, in `transformers`): masks of an object that is asked for by its name.

- `sam3` asks every frame anew, as MemoBench's reappearance score does.
- `sam3-video` asks for the name once and follows what it finds from frame to frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import cv2
import numpy as np

from lookback.artifacts import Artifact, Masks
from lookback.backends.masks.artifact import MaskRows
from lookback.backends.masks.prompt import words_for
from lookback.backends.pretrained import load_pretrained
from lookback.backends.runtime import Options, TorchBackend, loaded_once
from lookback.clips import Clip
from lookback.media import VideoInfo
from lookback.registry import backend

WEIGHTS = "sam3"


class AskedFor(NamedTuple):
    """All masks of one frame (K,H,W), the share of the picture that each covers, and their confidences."""

    coverage: np.ndarray
    confidence: np.ndarray
    masks: np.ndarray


class _Named(TorchBackend):
    """Needs the name of the object; the option `phrase` (such as "the {subject}") says how it is asked for."""

    defaults: ClassVar[Options] = {"path": "", "precision": "fp32", "phrase": ""}
    weights = (WEIGHTS,)

    def words(self, clip: Clip) -> str:
        return words_for(clip, self.settings["phrase"])


@backend(
    role="masks", name="sam3", title="SAM 3, asked for the object by its name in every frame", embedded=False, weights=(WEIGHTS,)
)
class Sam3Masks(_Named):
    """The most confident mask of each frame; confidence is that of the object times that of its presence, as in the release."""

    defaults: ClassVar[Options] = {**_Named.defaults, "threshold": 0.5}

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _FrameJob:
        return _FrameJob(self, info, self.words(clip))

    def query(self, frame: np.ndarray, words: str, threshold: float) -> AskedFor:
        """Every mask of more than `threshold` confidence in a frame uint8 (H,W,3)."""
        import torch

        model, processor = _image_model(self.path, self.device)
        inputs = processor(images=frame, text=words, return_tensors="pt").to(self.device)
        with torch.inference_mode(), self.autocast():
            outputs = model(**inputs)
        [found] = processor.post_process_instance_segmentation(outputs, threshold=threshold, target_sizes=[frame.shape[:2]])
        masks = found["masks"].bool().cpu().numpy().reshape(-1, *frame.shape[:2])
        confidence = found["scores"].float().cpu().numpy().astype(np.float64)
        return AskedFor(masks.mean(axis=(1, 2)) if len(masks) else np.empty(0), confidence, masks)


class _FrameJob:
    wants: np.ndarray | None = None

    def __init__(self, backend: Sam3Masks, info: VideoInfo, words: str):
        self.backend, self.words, self.rows = backend, words, MaskRows(info)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        for index, frame in zip(indices, frames, strict=True):
            found = self.backend.query(frame, self.words, self.backend.settings["threshold"])
            best = int(found.confidence.argmax()) if len(found.confidence) else None
            _add(
                self.rows, int(index), None if best is None else found.masks[best], 0.0 if best is None else found.confidence[best]
            )

    def finish(self) -> Masks:
        return self.rows.finish({"prompt": self.words, "query": self.words, "method": "SAM 3, asked in every frame"})


@backend(
    role="masks",
    name="sam3-video",
    title="SAM 3 video: asked for the object by its name once, then followed",
    embedded=False,
    weights=(WEIGHTS,),
)
class Sam3Video(_Named):
    """Follows the object that was first found with the highest score. No later frame corrects earlier ones."""

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _VideoJob:
        return _VideoJob(self, info, self.words(clip))


class _VideoJob:
    wants: np.ndarray | None = None

    def __init__(self, backend: Sam3Video, info: VideoInfo, words: str):
        self.backend, self.words, self.rows = backend, words, MaskRows(info)
        self.session: Any = None
        self.followed: int | None = None

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        import torch

        model, processor = _video_model(self.backend.path, self.backend.device)
        if self.session is None:
            self.session = processor.init_video_session(inference_device=self.backend.device)
            processor.add_text_prompt(self.session, self.words)
        for index, frame in zip(indices, frames, strict=True):
            inputs = processor(images=frame, return_tensors="pt").to(self.backend.device)
            with torch.inference_mode(), self.backend.autocast():
                outputs = model(self.session, frame=inputs.pixel_values[0])
            self.session.processed_frames[len(self.rows)] = torch.empty(0)  # nobody reads it again; their number still counts
            found = processor.postprocess_outputs(self.session, outputs, original_sizes=inputs.original_sizes)
            self._keep(int(index), found)

    def _keep(self, index: int, found: Mapping[str, Any]) -> None:
        ids = [int(number) for number in found["object_ids"]]
        if self.followed is None and ids:
            self.followed = ids[int(found["scores"].argmax())]
        row = ids.index(self.followed) if self.followed in ids else None
        mask = None if row is None else found["masks"][row].bool().cpu().numpy()
        _add(self.rows, index, mask, 0.0 if row is None else float(found["scores"][row]))

    def finish(self) -> Masks:
        return self.rows.finish({"prompt": self.words, "method": "SAM 3 video, asked for by name and followed"})


def _add(rows: MaskRows, index: int, mask: np.ndarray | None, confidence: float) -> None:
    """The mask at the working size; None: the object is not in the frame."""
    small = np.zeros(rows.size, bool)
    if mask is not None:
        small = cv2.resize(mask.astype(np.float32), rows.size[::-1], interpolation=cv2.INTER_LINEAR) > 0.5
    rows.add(index, small, confidence)


@loaded_once(1)
def _image_model(path: Path, device: str) -> tuple[Any, Any]:
    from transformers import Sam3Model, Sam3Processor

    model, processor = load_pretrained(path, "SAM 3", Sam3Model, Sam3Processor)
    return model.to(device), processor


@loaded_once(1)
def _video_model(path: Path, device: str) -> tuple[Any, Any]:
    from transformers import Sam3VideoModel, Sam3VideoProcessor

    model, processor = load_pretrained(path, "SAM 3", Sam3VideoModel, Sam3VideoProcessor)
    return model.to(device), processor
