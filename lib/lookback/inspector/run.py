"""A run's tables as the inspector wants them: by clip, filtered, with per-frame curves."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from lookback.artifacts import Artifact, Masks, PoseTrack, RunArtifacts
from lookback.clips import KEYS, Clip, clips_from_frame
from lookback.errors import UsageError
from lookback.inspector.curves import Curve, metric_curves, visibility_spans, yaw_curve
from lookback.params import RunParams
from lookback.tables import empty_table, read_table

A = TypeVar("A", bound=Artifact)
KEEP_ARTIFACTS = 12
MARK_KINDS = ("phase", "caption", "camera", "action")  # what divides a clip in time, the most telling first


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
        items = self.tables["gated"] if len(self.tables["gated"]) else self.tables["items"]
        self.tables["scores"] = items.assign(
            shown=[_shown(*row) for row in items[["metric", "variant", "phase"]].itertuples(index=False)]
        )
        self._rows = {name: frame.groupby(KEYS, sort=False).indices for name, frame in self.tables.items()}
        self._by_label = {clip.label: clip for clip in self.clips.values()}
        self._artifacts = RunArtifacts(params.paths.artifacts, self.tables["artifacts"])
        self._loaded: OrderedDict[tuple[str, ...], Artifact | None] = OrderedDict()

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
        if filters.metric:
            frame = self.tables["scores"]
            frame = frame[(frame["shown"] == filters.metric) & frame["value"].notna()]
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
        scores = self.tables["scores"]
        return {
            "model": sorted({clip.model_id for clip in self.clips.values()}),
            "scene": sorted({clip.scene for clip in self.clips.values() if clip.scene}),
            "failure": sorted(self.tables["failures"]["label"].unique()),
            "metric": sorted(scores.loc[scores["value"].notna(), "shown"].unique()),
        }

    def clip(self, label: str) -> Clip:
        """A clip by its label `benchmark/setting/model/clip` (deep links carry it)."""
        if label not in self._by_label:
            raise UsageError(f"There is no clip '{label}' in the run '{self.params.run}'")
        return self._by_label[label]

    def counterparts(self, clip: Clip) -> list[Clip]:
        """The same task by other models."""
        same = (clip.benchmark, clip.setting, clip.clip_id)
        return [other for other in self.clips.values() if (other.benchmark, other.setting, other.clip_id) == same and other != clip]

    def artifact(self, clip: Clip, kind: type[A]) -> A | None:
        """A stored artifact, or None; the last few stay loaded, as every frame of a clip asks for the same ones."""
        key = (*clip.key, kind.role)
        if key not in self._loaded:
            self._loaded[key] = self._artifacts.load(clip, kind)
            while len(self._loaded) > KEEP_ARTIFACTS:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(key)
        found = self._loaded[key]
        return found if isinstance(found, kind) else None

    def marks(self, clip: Clip, n_frames: int) -> list[int]:
        """First frames of the clip's phases (or captions, camera moves, actions) and its end."""
        segments = self.of_clip("segments", clip.key)
        for kind in MARK_KINDS:
            starts = sorted(int(start) for start in segments.loc[segments["kind"] == kind, "start"])
            if len(starts) > 1 and starts[0] == 0 and starts[-1] < n_frames:
                return [*starts, n_frames]
        return [0, n_frames]

    def curves(self, clip: Clip) -> list[Curve]:
        """The camera's yaw, and every metric that has values for single frames."""
        return yaw_curve(self.artifact(clip, PoseTrack)) + metric_curves(self.of_clip("units", clip.key))

    def visibility(self, clip: Clip) -> list[tuple[int, int, int]]:
        return visibility_spans(self.artifact(clip, Masks))

    def facts(self, clip: Clip) -> dict[str, Any]:
        """Scores, answers, failures and segments of one clip, as plain values."""
        return {
            "captions": clip.caption_segments,
            "camera": clip.camera,
            "scores": _records(
                self.of_clip("scores", clip.key), ["metric", "variant", "phase", "value", "reason", "detail", "backend"]
            ),
            "answers": _records(
                self.of_clip("judgements", clip.key),
                ["task", "question_id", "frame", "question", "answer", "value", "judge", "reason", "verbatim"],
            ),
            "failures": _records(
                self.of_clip("failures", clip.key), ["label", "confidence", "frame_start", "frame_end", "evidence"]
            ),
            "segments": _records(self.of_clip("segments", clip.key), ["kind", "segment_id", "start", "end", "text"]),
        }


def _shown(metric: str, variant: str, phase: str) -> str:
    """A score's name in the filter: a metric may be scored in several variants and phases."""
    return f"{metric} ({variant})" + (f" {phase}" if phase else "")


def _records(frame: pd.DataFrame, columns: list[str]) -> list[dict[str, Any]]:
    """Plain JSON values: missing numbers are null."""
    return json.loads(frame[columns].to_json(orient="records"))
