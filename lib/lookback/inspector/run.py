"""A run's tables as the inspector wants them: by clip, filtered, with per-frame curves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lookback.artifacts import RunArtifacts
from lookback.clips import KEYS, Clip, clips_from_frame
from lookback.errors import UsageError
from lookback.params import RunParams
from lookback.store import Entry
from lookback.tables import empty_table, read_table


@dataclass(frozen=True)
class Filters:
    """Which clips to list; empty fields do not filter."""

    model: str = ""
    scene: str = ""
    failure: str = ""
    metric: str = ""
    low: float | None = None
    high: float | None = None
    text: str = ""


class RunView:
    """Read-only access to one run."""

    def __init__(self, params: RunParams):
        self.params = params
        folder = params.paths.tables
        self.clips = {clip.key: clip for clip in clips_from_frame(read_table(folder, "clips"))}
        names = ("artifacts", "units", "gated", "items", "judgements", "failures", "segments")
        self.tables = {name: self._table(name) for name in names}
        self.items = self.tables["gated"] if len(self.tables["gated"]) else self.tables["items"]
        self._rows = {name: frame.groupby(KEYS, sort=False).indices for name, frame in self.tables.items()}
        self._artifacts = RunArtifacts(params.paths.artifacts, self.tables["artifacts"])

    def _table(self, name: str) -> pd.DataFrame:
        """A table that a later stage has not written yet is empty, not an error: the inspector shows what there is."""
        path = self.params.paths.tables / f"{name}.parquet"
        return read_table(self.params.paths.tables, name) if path.is_file() else empty_table(name)

    def of_clip(self, name: str, key: tuple[str, ...]) -> pd.DataFrame:
        """One clip's rows of a table."""
        return self.tables[name].iloc[self._rows[name].get(key, [])]

    def select(self, filters: Filters) -> list[Clip]:
        """The clips that pass, in table order."""
        allowed = set(self.clips)
        if filters.failure:
            frame = self.tables["failures"]
            allowed &= {tuple(row) for row in frame.loc[frame["label"] == filters.failure, KEYS].to_numpy()}
        if filters.metric and (filters.low is not None or filters.high is not None):
            frame = self.items[(self.items["metric"] == filters.metric) & self.items["value"].notna()]
            low = -np.inf if filters.low is None else filters.low
            high = np.inf if filters.high is None else filters.high
            allowed &= {tuple(row) for row in frame.loc[frame["value"].between(low, high), KEYS].to_numpy()}
        return [
            clip
            for key, clip in self.clips.items()
            if key in allowed
            and (not filters.model or clip.model_id == filters.model)
            and (not filters.scene or clip.scene == filters.scene)
            and filters.text.lower() in clip.label.lower()
        ]

    def choices(self) -> dict[str, list[str]]:
        """What the filters can be set to."""
        return {
            "model": sorted({clip.model_id for clip in self.clips.values()}),
            "scene": sorted({clip.scene for clip in self.clips.values() if clip.scene}),
            "failure": sorted(self.tables["failures"]["label"].unique()),
            "metric": sorted(self.items["metric"].unique()),
        }

    def clip(self, label: str) -> Clip:
        """A clip by its label `benchmark/setting/model/clip` (deep links carry it)."""
        found = [clip for clip in self.clips.values() if clip.label == label]
        if not found:
            raise UsageError(f"There is no clip '{label}' in the run '{self.params.run}'")
        return found[0]

    def counterparts(self, clip: Clip) -> list[Clip]:
        """The same task by other models."""
        same = (clip.benchmark, clip.setting, clip.clip_id)
        return [other for other in self.clips.values() if (other.benchmark, other.setting, other.clip_id) == same and other != clip]

    def artifact(self, clip: Clip, role: str) -> Entry | None:
        """A stored artifact, or None."""
        return self._artifacts.load(clip, role)

    def curves(self, clip: Clip) -> list[dict[str, Any]]:
        """Per-frame curves: every metric with at least three frame units, and the camera's yaw."""
        units = self.of_clip("units", clip.key)
        units = units[units["frame"].notna() & units["value"].notna()]
        curves = []
        for (metric, variant), rows in units.groupby(["metric", "variant"], sort=True):
            rows = rows.drop_duplicates("frame").sort_values("frame")
            if len(rows) >= 3:
                values = rows["value"].to_numpy(float)
                curves.append(
                    {"name": f"{metric} ({variant})", "frames": rows["frame"].tolist(), "values": values.round(5).tolist()}
                )
        if (pose := self.artifact(clip, "pose")) is not None:
            from lookback.camera.poses import yaw_deg

            yaw = yaw_deg(pose.arrays["c2w"])
            curves.append(
                {"name": "camera yaw (deg)", "frames": pose.arrays["frame_index"].tolist(), "values": np.round(yaw, 3).tolist()}
            )
        return curves

    def facts(self, clip: Clip) -> dict[str, Any]:
        """Scores, answers, failures and segments of one clip, as plain values."""
        items = self.items[(self.items[KEYS] == list(clip.key)).all(axis=1)]
        answers = self.of_clip("judgements", clip.key)
        return {
            "label": clip.label,
            "prompt": clip.prompt,
            "captions": clip.caption_segments,
            "scores": _records(items, ["metric", "phase", "value", "reason", "detail"]),
            "answers": _records(answers, ["task", "question", "answer", "value", "judge", "verbatim", "frame"]),
            "failures": _records(
                self.of_clip("failures", clip.key), ["label", "confidence", "frame_start", "frame_end", "evidence"]
            ),
            "segments": _records(self.of_clip("segments", clip.key), ["kind", "segment_id", "start", "end", "text"]),
        }


def _records(frame: pd.DataFrame, columns: list[str]) -> list[dict[str, Any]]:
    """Plain JSON values: missing numbers are null."""
    return json.loads(frame[columns].to_json(orient="records"))
