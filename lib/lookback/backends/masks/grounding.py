"""GroundingDINO (Liu et al. 2023): the box of a named object in a frame, for clips without an anchor (`transformers`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lookback.errors import NotScorable, Reason

WEIGHTS = "grounding-dino-base"


@dataclass(frozen=True)
class Grounded:
    """A box (x0, y0, x1, y1) in the frame's pixels and the detector's score."""

    box: np.ndarray
    score: float


def ground(path: Path, device: str, frame: np.ndarray, name: str, threshold: float) -> Grounded:
    """The best box for `name`; NO_MASK when none reaches the threshold."""
    import torch

    model, processor = _model(path, device)
    # The published usage: lower case, each phrase ends in a full stop.
    text = name.strip().rstrip(".").lower() + "."
    inputs = processor(images=frame, text=text, return_tensors="pt").to(device)
    with torch.inference_mode():
        outputs = model(**inputs)
    found = processor.post_process_grounded_object_detection(
        outputs, inputs.input_ids, threshold=threshold, target_sizes=[frame.shape[:2]]
    )[0]
    if not len(found["scores"]):
        raise NotScorable(Reason.NO_MASK, f"GroundingDINO finds no '{name}' in the first frame (threshold {threshold:g})")
    best = int(found["scores"].argmax())
    box = found["boxes"][best].float().cpu().numpy().astype(np.float64)
    return Grounded(box.clip(0, np.tile([frame.shape[1], frame.shape[0]], 2)), float(found["scores"][best]))


@lru_cache(maxsize=1)
def _model(path: Path, device: str) -> tuple[Any, Any]:
    from transformers import AutoModelForZeroShotObjectDetection, GroundingDinoProcessor

    model: Any = AutoModelForZeroShotObjectDetection.from_pretrained(path, local_files_only=True)
    return model.eval().requires_grad_(False).to(device), GroundingDinoProcessor.from_pretrained(path, local_files_only=True)
