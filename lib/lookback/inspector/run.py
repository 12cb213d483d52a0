"""What the inspector reads in a run or in a plain folder: clips, their scores and artifacts, per-frame curves."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookback.artifacts import Artifact, Masks, PoseTrack, RunArtifacts
from lookback.camera.poses import turned_yaw_deg
from lookback.clips import KEYS, Clip, clips_from_frame
from lookback.errors import UsageError
from lookback.files import sha256_json
from lookback.layouts.detection import read
from lookback.params import RunParams
from lookback.params.stages import Source
from lookback.paths import RunPaths, resolve
from lookback.tables import empty_table, read_table

A = TypeVar("A", bound=Artifact)
KEEP_ARTIFACTS = 12
MARK_KINDS = (
    "phase",
    "caption",
    "camera",
    "action",
)  # segments that divide a clip; the first kind found is used
MIN_POINTS = 3
TABLES = ("artifacts", "units", "gated", "items", "judgements", "failures", "segments")
TIME_PHASES = ("", "V", "D", "R")  # any other value of `phase` is the name of a measure (MIND's mse, psnr, ...)
Curve = dict[str, str | list[float]]


class RunView:
    """Read-only access to the clips of a run, or of a folder that no run has seen."""

    def __init__(self, name: str, clips: list[Clip], tables: Mapping[str, pd.DataFrame], paths: RunPaths, datasets: Iterable[Path]):
        """`paths` are the run's folders; of the `datasets`, the one that holds a clip's video gets its anchors.csv."""
        self.name, self.paths = name, paths
        self.clips = {clip.key: clip for clip in clips}
        self.tables = {table: tables.get(table, empty_table(table)) for table in TABLES}
        gated, items = self.tables.pop("gated"), self.tables.pop("items")
        scores = gated if len(gated) else items
        self.tables["scores"] = scores.assign(shown=_shown(scores))
        self._rows = {table: frame.groupby(KEYS, sort=False).indices for table, frame in self.tables.items()}
        self._by_label = {clip.label: clip for clip in self.clips.values()}
        self._by_task: dict[tuple[str, str, str], list[Clip]] = {}
        for clip in self.clips.values():
            self._by_task.setdefault((clip.benchmark, clip.setting, clip.clip_id), []).append(clip)
        self.datasets = sorted((folder.resolve() for folder in datasets), key=lambda folder: len(folder.parts), reverse=True)
        self._artifacts = RunArtifacts(paths.artifacts, self.tables["artifacts"])
        self._loaded: OrderedDict[tuple[str, ...], Artifact | None] = OrderedDict()

    @classmethod
    def of_run(cls, params: RunParams) -> RunView:
        """The view of a run. A table whose stage has not run yet is empty, so that the inspector shows what exists."""
        folder = params.paths.tables
        tables = {name: read_table(folder, name) for name in TABLES if name != "items" and (folder / f"{name}.parquet").is_file()}
        if not len(tables.get("gated", ())) and (folder / "items.parquet").is_file():
            tables["items"] = read_table(folder, "items")  # else the gated scores stand for them
        made = params.paths.datasets  # the demo world's datasets lie there
        datasets = [resolve(source.root) for source in params.curation.sources]
        datasets += [place for place in made.iterdir() if place.is_dir()] if made.is_dir() else []
        return cls(params.run, clips_from_frame(read_table(folder, "clips")), tables, params.paths, datasets)

    @classmethod
    def of_folder(cls, folder: Path) -> RunView:
        """The clips of a plain folder or dataset, without scores. Notes, tags and small pictures go to outputs/inspect_<name>."""
        folder = folder.resolve()
        reading = read(Source(root=str(folder)))
        if not reading.clips:
            problem = reading.violations[0].line if reading.violations else "there is no video in it"
            raise UsageError(f"{folder} has no clip to show: {problem}")
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", f"inspect_{folder.name}_{sha256_json(str(folder))[:6]}")
        return cls(name, reading.clips, {}, RunPaths.of(name), [folder])

    @property
    def cache(self) -> Path:
        """The folder for what can be made again: thumbnails and videos that browsers play."""
        return self.paths.root / "inspector"

    def dataset_of(self, clip: Clip) -> Path | None:
        """The folder of the clip's dataset: the innermost one that holds its video."""
        video = resolve(clip.video).resolve()
        return next((folder for folder in self.datasets if video.is_relative_to(folder)), None)

    def of_clip(self, name: str, key: tuple[str, ...]) -> pd.DataFrame:
        """One clip's rows of a table."""
        return self.tables[name].iloc[self._rows[name].get(key, [])]

    def clip(self, label: str) -> Clip:
        """A clip by its label `benchmark/setting/model/clip`."""
        if label not in self._by_label:
            raise UsageError(f"There is no clip '{label}' in '{self.name}'")
        return self._by_label[label]

    def counterparts(self, clip: Clip) -> list[Clip]:
        """The clips of other models for the same task."""
        return [other for other in self._by_task[clip.benchmark, clip.setting, clip.clip_id] if other.key != clip.key]

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
        """The camera's yaw, and every metric with values for single frames."""
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


def _shown(items: pd.DataFrame) -> pd.Series:
    """The names of scores in the filter, with variant and phase."""
    phase = (" " + items["phase"]).where(items["phase"] != "", "")
    return items["metric"] + " (" + items["variant"] + ")" + phase


def _records(frame: pd.DataFrame, columns: list[str]) -> list[dict[str, Any]]:
    """The rows as plain JSON values; missing numbers become null."""
    return json.loads(frame[columns].to_json(orient="records"))


def metric_curves(units: pd.DataFrame) -> list[Curve]:
    """One curve per metric, variant and measure with at least three frames. A pair is drawn at its first frame."""
    units = units[units["frame"].notna() & units["value"].notna() & units["kind"].isin(["frame", "pair"])]
    measure = units["phase"].where(~units["phase"].isin(TIME_PHASES), "")
    curves = []
    for (metric, variant, name), rows in units.groupby([units["metric"], units["variant"], measure], sort=True):
        # a row of the whole clip ("" sorts first) is preferred to a row of the same frame within a phase
        rows = rows.sort_values(["frame", "phase"], kind="stable").drop_duplicates("frame")
        if len(rows) >= MIN_POINTS:
            title = " ".join(part for part in (str(metric), str(name), f"({variant})") if part)
            curves.append(_curve(title, rows["frame"].astype(int), rows["value"]))
    return curves


def yaw_curve(pose: PoseTrack | None) -> list[Curve]:
    """The camera's yaw relative to the first frame, in degrees. It keeps counting beyond 180."""
    if pose is None:
        return []
    return [_curve("camera yaw (deg)", pose.frame_index, turned_yaw_deg(pose.c2w))]


def visibility_spans(masks: Masks | None) -> list[tuple[int, int, int]]:
    """Spans (first frame, end, state) of the subject's visibility; states as in the mask artifact."""
    if masks is None or not len(masks.state):
        return []
    states, frames = masks.state.astype(int), masks.frame_index
    starts = np.flatnonzero(np.r_[True, np.diff(states) != 0])
    ends = np.r_[frames[starts[1:]], frames[-1] + 1]
    return [(int(frames[start]), int(end), int(states[start])) for start, end in zip(starts, ends, strict=True)]


def _curve(name: str, frames: ArrayLike, values: ArrayLike) -> Curve:
    return {"name": name, "frames": np.asarray(frames).tolist(), "values": np.round(np.asarray(values, float), 5).tolist()}
