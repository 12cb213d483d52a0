"""Per-frame curves of one clip, as the inspector draws them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lookback.artifacts import Masks, PoseTrack
from lookback.camera.poses import yaw_deg

MIN_POINTS = 3
TIME_PHASES = ("", "V", "D", "R")  # any other value of `phase` names a measure of its own (MIND's mse, psnr, ...)
Curve = dict[str, Any]


def metric_curves(units: pd.DataFrame) -> list[Curve]:
    """One curve per metric, variant and measure with at least three frames; pairs stand at their first frame."""
    units = units[units["frame"].notna() & units["value"].notna() & units["kind"].isin(["frame", "pair"])]
    measure = units["phase"].where(~units["phase"].isin(TIME_PHASES), "")
    curves = []
    for (metric, variant, name), rows in units.groupby([units["metric"], units["variant"], measure], sort=True):
        # the whole clip's row ("" sorts first) wins over the same frame counted within a phase
        rows = rows.sort_values(["frame", "phase"], kind="stable").drop_duplicates("frame")
        if len(rows) >= MIN_POINTS:
            title = " ".join(part for part in (str(metric), str(name), f"({variant})") if part)
            curves.append(_curve(title, rows["frame"].astype(int), rows["value"]))
    return curves


def yaw_curve(pose: PoseTrack | None) -> list[Curve]:
    """The camera's yaw relative to the first frame, in degrees."""
    if pose is None:
        return []
    return [_curve("camera yaw (deg)", pose.frame_index, yaw_deg(pose.c2w))]


def visibility_spans(masks: Masks | None) -> list[tuple[int, int, int]]:
    """Runs (first frame, end, state) of the subject's visibility; states as the mask artifact codes them."""
    if masks is None or not len(masks.state):
        return []
    states, frames = masks.state.astype(int), masks.frame_index
    starts = np.flatnonzero(np.r_[True, np.diff(states) != 0])
    ends = np.r_[frames[starts[1:]], frames[-1] + 1]
    return [(int(frames[start]), int(end), int(states[start])) for start, end in zip(starts, ends, strict=True)]


def _curve(name: str, frames: Any, values: Any) -> Curve:
    return {"name": name, "frames": np.asarray(frames).tolist(), "values": np.round(np.asarray(values, float), 5).tolist()}
