"""A clip: one generated video with everything its benchmark says about it. One row of the `clips` table.

Paths are strings: relative to the project folder when below it, else absolute; `lookback.paths.resolve` turns them into paths.
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

KEYS = ["benchmark", "setting", "model_id", "clip_id"]


class Anchor(BaseModel):
    """MBench-A's object anchor: a box in the first frame, in pixels."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    centre_x: float
    centre_y: float
    width: float
    height: float


class Clip(BaseModel):
    """One generated video. Optional fields are None when the layout does not have them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # keys
    benchmark: str
    setting: (
        str  # mbench: A, T; memobench: synthetic, real; wrbench: natural25 or the manifest's; mind: 1st_data, 3rd_data; folder: ""
    )
    model_id: str
    clip_id: str  # unique within (benchmark, setting, model_id); the same for the same task of another model
    # description
    subset: str = ""  # mbench: human, object, environment, causal; mind: mem_test, action_space_test, mirror_test
    sample_id: str = ""
    condition_id: str = ""
    scene: str = ""  # the cluster for confidence intervals
    condition_type: str = ""  # wrbench: viewpoint condition type; memobench: CI2V, 3D, I2V
    # files
    video: str
    ground_truth: str | None = None  # video or frame folder
    poses: str | None = None  # estimated camera path of the generated video, with its own format
    poses_format: str | None = None  # one of lookback.backends.pose.FORMATS
    files: dict[str, str] = Field(default_factory=dict)  # role -> file or folder with its arrays, made elsewhere (masks, depth ...)
    gt_poses: str | None = None
    gt_poses_format: str | None = None
    gt_intrinsics: str | None = None
    gt_depth: str | None = None
    target_poses: str | None = None  # (N,4,4) c2w the model was asked to follow
    actions: str | None = None  # MIND's action.json
    reference_image: str | None = None
    # video facts, filled by probing
    n_frames: int | None = None
    fps: float | None = None
    width: int | None = None
    height: int | None = None
    content_hash: str = ""
    shortfall: str = ""  # what the video lacks of what its task asks for: "4 of 24 frames"; empty where it is all there
    # text and conditions
    prompt: str = ""
    caption_segments: list[str] = Field(default_factory=list)
    camera: str = ""  # the request, in WRBench's grammar or a preset name
    object_name: str = ""
    object_anchor: Anchor | None = None
    # time structure
    d_start: int | None = None  # ground-truth frame where the subject leaves
    r_start: int | None = None  # ground-truth frame where it returns
    gt_frames: int | None = None
    mark_time: int | None = None
    # event factors (WRBench's 2x2)
    event_level: str = ""  # none, spatial, state, full
    event_action: str = ""  # sit, place, tip, jump, fold, knock, ...
    expected_state: str = ""
    fov_deg: float | None = None
    # facts that only one layout has
    extras: dict[str, Any] = Field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.benchmark, self.setting, self.model_id, self.clip_id)

    @property
    def label(self) -> str:
        return "/".join(part for part in self.key if part)


JSON_FIELDS = ["files", "caption_segments", "object_anchor", "extras"]
INT_FIELDS = ["n_frames", "width", "height", "d_start", "r_start", "gt_frames", "mark_time"]
FLOAT_FIELDS = ["fps", "fov_deg"]


def clips_to_frame(clips: list[Clip]) -> pd.DataFrame:
    """The flat table; nested fields become canonical JSON."""
    frame = pd.DataFrame([clip.model_dump() for clip in clips], columns=list(Clip.model_fields))
    for name in JSON_FIELDS:
        frame[name] = [None if value is None else json.dumps(value, sort_keys=True, ensure_ascii=False) for value in frame[name]]
    for name in INT_FIELDS:
        frame[name] = frame[name].astype("Int64")
    for name in FLOAT_FIELDS:
        frame[name] = frame[name].astype("float64")
    return frame


def clips_from_frame(frame: pd.DataFrame) -> list[Clip]:
    """The clips of a table, exactly as they were written."""
    return [clip_from_row(row) for row in frame.to_dict("records")]


def clip_from_row(row: dict[str, Any]) -> Clip:
    """One clip from one row of the table."""
    values: dict[str, Any] = {name: None if _missing(value) else value for name, value in row.items() if name in Clip.model_fields}
    for name in JSON_FIELDS:
        values[name] = None if values[name] is None else json.loads(values[name])
    return Clip(**values)


def _missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)
