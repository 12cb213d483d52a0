"""Which object the mask backends follow: the clip's anchor in the first frame, or the object's name.

GroundingDINO (Liu et al. 2023, through `transformers`) finds a named object in the first frame of a clip without an anchor. The
segmenter is shown the object's box, or the middle of the box where the benchmark prompts with a point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lookback.artifacts import Artifact, Masks
from lookback.backends.base import Job
from lookback.backends.masks.artifact import MaskRows
from lookback.backends.pretrained import load_pretrained
from lookback.backends.runtime import Options, TorchBackend, checkpoint, loaded_once
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import BENCHMARKS

MIN_SIDE = 4  # pixels of the video
DETECTOR_WEIGHTS = "grounding-dino-base"
OPTIONS: Options = {"path": "", "precision": "auto", "detector_path": "", "detector_threshold": 0.25, "phrase": ""}


def anchor_box(clip: Clip, info: VideoInfo) -> np.ndarray | None:
    """The anchor as (x0, y0, x1, y1) in pixels of the video, cut at the border of the picture; None when the clip has none."""
    anchor = clip.object_anchor
    if anchor is None:
        return None
    half = np.array([anchor.width, anchor.height]) / 2
    centre = np.array([anchor.centre_x, anchor.centre_y])
    box = np.concatenate([centre - half, centre + half]).clip(0, np.tile([info.width, info.height], 2))
    if (box[2:] - box[:2] < MIN_SIDE).any():
        raise NotScorable(
            Reason.INVALID_INPUT,
            f"the object anchor lies outside the first frame ({info.width} x {info.height}) or is smaller than {MIN_SIDE} pixels",
        )
    return box


def words_for(clip: Clip, phrase: str = "", missing: str = "no object_name") -> str:
    """What the object is asked for by: its name, or a phrase with the name (`{subject}`) or its first word (`{first}`) in it."""
    if not clip.object_name:
        raise NotScorable(Reason.MISSING_INPUT, f"the clip has {missing} to prompt with")
    return (phrase or "{subject}").replace("{subject}", clip.object_name).replace("{first}", clip.object_name.split()[0])


@dataclass(frozen=True)
class Prompt:
    """What the segmenter is shown in the first frame: the box, or the name of an object whose box is looked for."""

    box: np.ndarray | None
    name: str = ""
    point: bool = False  # only the middle of the box


class PromptedMasks(TorchBackend):
    """A segmenter that follows the object in a box of the first frame.

    A clip without an anchor needs an object name and the weights of GroundingDINO. With the option `phrase` (such as
    "the {subject}") the object is always found by name, with these words as the prompt.
    """

    defaults: ClassVar[Options] = OPTIONS
    on_gpu = "bf16"  # as the released program runs it

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> Job:
        phrase = self.settings["phrase"]
        box = None if phrase else anchor_box(clip, info)
        point = BENCHMARKS.get(clip.benchmark).prompts_with_a_point(clip)
        if box is not None:
            return self.job(info, Prompt(box, point=point))
        words = words_for(clip, phrase, "no object_name" if phrase else "neither an object_anchor nor an object_name")
        checkpoint(self.options, DETECTOR_WEIGHTS, self.settings["detector_path"])
        return self.job(info, Prompt(None, words, point))

    def job(self, info: VideoInfo, prompt: Prompt) -> Job:
        raise NotImplementedError

    def find(self, frame: np.ndarray, name: str) -> Detection:
        """The named object in a frame."""
        path = checkpoint(self.options, DETECTOR_WEIGHTS, self.settings["detector_path"])
        return find_object(path, self.device, frame, name, self.settings["detector_threshold"])


class PromptedJob:
    """Makes the masks of one clip from the box, or from the name of an object that is found in the first frame."""

    wants: np.ndarray | None = None

    def __init__(self, backend: PromptedMasks, info: VideoInfo, prompt: Prompt, method: str):
        self.info, self.box, self.name, self.point = info, prompt.box, prompt.name, prompt.point
        self.find = backend.find
        self.rows = MaskRows(info)
        how = f"{method}, {'point' if prompt.point else 'box'} prompt in the first frame"
        self.record: dict[str, Any] = {"prompt": "object anchor", "method": how}

    def prompt_box(self, frame: np.ndarray) -> np.ndarray:
        """The box in the first frame. It is written into the record."""
        if self.box is None:
            found = self.find(frame, self.name)
            self.box = found.box
            self.record |= {"prompt": f"GroundingDINO: {self.name}", "prompt_score": found.score}
        self.record["prompt_box"] = [float(value) for value in self.box]
        return self.box

    def prompt_point(self, frame: np.ndarray) -> np.ndarray:
        """The middle (x, y) of that box."""
        box = self.prompt_box(frame)
        return (box[:2] + box[2:]) / 2

    def finish(self) -> Masks:
        return self.rows.finish(self.record)


@dataclass(frozen=True)
class Detection:
    """A box (x0, y0, x1, y1) in pixels of the frame, and the score of the detector."""

    box: np.ndarray
    score: float


def find_object(path: Path, device: str, frame: np.ndarray, name: str, threshold: float) -> Detection:
    """The best box for `name`; NO_MASK when none reaches the threshold."""
    import torch

    model, processor = _detector(path, device)
    # The published usage: lower case, and each phrase ends with a full stop.
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
    return Detection(box.clip(0, np.tile([frame.shape[1], frame.shape[0]], 2)), float(found["scores"][best]))


@loaded_once(1)
def _detector(path: Path, device: str) -> tuple[Any, Any]:
    from transformers import GroundingDinoForObjectDetection, GroundingDinoProcessor

    model, processor = load_pretrained(path, "GroundingDINO", GroundingDinoForObjectDetection, GroundingDinoProcessor)
    return model.to(device), processor
