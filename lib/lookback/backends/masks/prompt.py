"""What tells the mask backends which object is meant: the clip's anchor in the first frame, or the object's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from lookback.artifacts import Artifact, Masks
from lookback.backends.base import BackendOptions, Job
from lookback.backends.masks import grounding
from lookback.backends.masks.artifact import MaskRows
from lookback.backends.runtime import checkpoint, settings, torch_device
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo

MIN_SIDE = 4  # video pixels
OPTIONS: dict[str, Any] = {"path": "", "precision": "fp32", "detector_path": "", "detector_threshold": 0.25, "phrase": ""}


def anchor_box(clip: Clip, info: VideoInfo) -> np.ndarray | None:
    """The anchor as (x0, y0, x1, y1) in video pixels, cut at the picture's border; None when the clip has none."""
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


class PromptedMasks:
    """A segmenter that is told the object by a box in the first frame.

    A clip without an anchor needs an object name, and GroundingDINO's weights. With the option `phrase` (such as "the {subject}")
    the object is always asked for by name, in these words.
    """

    requires: ClassVar[tuple[str, ...]] = ()
    defaults: ClassVar[dict[str, Any]] = OPTIONS

    def __init__(self, options: BackendOptions):
        self.options = options
        self.set = settings(options, self.defaults)
        self.device = torch_device(options)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> Job:
        phrase = self.set["phrase"]
        box = None if phrase else anchor_box(clip, info)
        if box is not None:
            return self.job(info, box, "")
        if not clip.object_name:
            lacks = "no object_name" if phrase else "neither an object_anchor nor an object_name"
            raise NotScorable(Reason.MISSING_INPUT, f"the clip has {lacks} to prompt with")
        checkpoint(self.options, grounding.WEIGHTS, self.set["detector_path"])
        words = (phrase or "{subject}").replace("{subject}", clip.object_name).replace("{first}", clip.object_name.split()[0])
        return self.job(info, None, words)

    def job(self, info: VideoInfo, box: np.ndarray | None, name: str) -> Job:
        raise NotImplementedError

    def find(self, frame: np.ndarray, name: str) -> grounding.Grounded:
        path = checkpoint(self.options, grounding.WEIGHTS, self.set["detector_path"])
        return grounding.ground(path, self.device, frame, name, self.set["detector_threshold"])


class PromptedJob:
    """One clip's masks from the box, or from the name that still has to be found in the first frame."""

    wants: np.ndarray | None = None

    def __init__(self, backend: PromptedMasks, info: VideoInfo, box: np.ndarray | None, name: str, method: str):
        self.info, self.box, self.name = info, box, name
        self.find = backend.find
        self.rows = MaskRows(info)
        self.record: dict[str, Any] = {"prompt": "object anchor", "method": method}

    def prompt_box(self, frame: np.ndarray) -> np.ndarray:
        """The box in the first frame, written into the record."""
        if self.box is None:
            found = self.find(frame, self.name)
            self.box = found.box
            self.record |= {"prompt": f"GroundingDINO: {self.name}", "prompt_score": found.score}
        self.record["prompt_box"] = [float(value) for value in self.box]
        return self.box

    def finish(self) -> Masks:
        return self.rows.finish(self.record)
