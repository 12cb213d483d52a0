"""Evaluate videos from Python: `lookback.evaluate(videos, ...)` gives a `Result`.

It runs the same stages as `lookback eval`, from curation to judging. What comes out are pandas frames and tables.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lookback import api, stages
from lookback.clips import KEYS
from lookback.errors import UsageError, brief
from lookback.layouts import read
from lookback.layouts.confine import VIDEO_SUFFIXES, entries, has_frames, is_video_file
from lookback.layouts.detection import FALLBACK
from lookback.measures.tensors import as_array
from lookback.media import encode
from lookback.names import odd_character
from lookback.params import RunParams
from lookback.params.stages import Source
from lookback.paths import expanded, resolve
from lookback.pipeline.lock import claim
from lookback.progress import silenced
from lookback.registry import LAYOUTS, METRICS
from lookback.report.model_table import POOLED, Column, backend_note, model_table
from lookback.report.table import PaperTable
from lookback.scoring.aggregate import aggregate, with_clip_facts
from lookback.scoring.variants import only_chosen
from lookback.tables import empty_table, read_table, write_table

if TYPE_CHECKING:
    from torch import Tensor

Array: TypeAlias = NDArray[np.uint8]
Frames: TypeAlias = "Array | Tensor"  # (n,H,W,3) RGB, uint8
Videos: TypeAlias = "str | Path | Frames | Sequence[str | Path | Frames] | Mapping[str, Frames]"
ITEMS = ["metric", "variant", "phase", "value", "unit", "reason", "detail", "n_units", "backend"]
FRAMES = ("clips", "rejected", "units", "items")  # what a result reads from its folder
GIVEN = "given"  # the folder of clips made from arrays, and the name of their model where none is given
LONGEST = 250  # bytes of a clip's or model's name: file systems allow 255 with the ending
EVIDENCE = ["pose", "masks"]  # what the rules for failures read


def evaluate(
    videos: Videos,
    *,
    benchmark: str | None = None,
    metrics: str | Sequence[str] = (),
    profile: str = "embedded",
    judge: str | Mapping[str, object] = "none",
    variant: str | None = None,
    backends: Mapping[str, str] | None = None,
    filters: Mapping[str, object] | None = None,
    output: str | Path | None = None,
    workers: int = 1,
    fps: float = 16.0,
    progress: bool = False,
) -> Result:
    """Score videos with the metrics of a benchmark.

    `videos` is a dataset folder in a benchmark's layout, a folder of videos, one video file, a list of files, or frames in memory:
    an array (n,H,W,3) of uint8, a list of such arrays, or a dict of them by name ("clip" or "model/clip"). Frames are kept without
    loss. `fps` is their frame rate.

    `benchmark` names the layout; without it the layout of a folder is detected, and single files and frames count as plain videos:
    they get the metrics that need nothing but the video. `metrics` are names from `lookback list-metrics`; without them every
    metric that applies is scored. `profile` says which models measure: `embedded` (small ones that come with the package),
    `paper` (the paper's own; an error lists those that are not installed) or `auto` (the best that is installed; every score
    names its model). `judge` is the name of a judge, or a dict with
    the keys of a parameter file's `judging` section. Keys of judges come from the environment alone.

    `filters` keeps some clips of a folder: models, subsets, conditions, sample_ids (lists) and limit. `output` is the folder of
    the run. A second call with the same folder measures only what is new, and the folder then shows that call alone. Without it the
    folder is temporary and lives as long as the result. More than one of `workers` starts processes: a script then needs
    `if __name__ == "__main__":` around its call.

    >>> import lookback, numpy as np
    >>> cells = np.random.default_rng(0).integers(0, 255, (2, 6, 9, 16, 3), dtype=np.uint8)
    >>> steady, wild = cells[0][[0] * 6].repeat(8, 1).repeat(8, 2), cells[1].repeat(8, 1).repeat(8, 2)
    >>> result = lookback.evaluate({"a/steady": steady, "b/wild": wild}, metrics="wrbench.visual_integrity")
    >>> result
    Result(clips 2, models 2, metrics 1, scores 2, missing 0, rejected 0)
    >>> mean = result.scores.set_index("model_id")["mean"]
    >>> bool(mean["a"] > mean["b"])
    True
    >>> result.items["reason"].unique().tolist()
    ['']
    """
    held = None if output else _Held()
    folder = held.folder / "run" if held else expanded(str(output)).absolute()
    found = _find(videos, benchmark, folder, fps)
    names = list(metrics) if isinstance(metrics, Iterable) and not isinstance(metrics, str) else [metrics]
    judging = dict(judge) if isinstance(judge, Mapping) else {"judge": judge}
    nobody = judging.get("judge", "none") == "none"
    sections: dict[str, Any] = {
        "curation": {"sources": found.sources, "filters": {**found.filters, **(filters or {})}},
        "extraction": {"backends": dict(backends or {})} | ({"always": []} if nobody else {}),
        "scoring": {"metrics": names, "variant": variant},
        "judging": judging,
    }
    params = api.run_params(str(folder), workers, {"profile": profile, **sections}, said_in="lookback.evaluate")
    api.evaluate(params, found.only, progress_bar=progress, quiet=not progress)
    result = Result(params, held)
    for name in FRAMES:  # read now: a later call with the same folder writes its own
        getattr(result, name)
    return result


class _Held:
    """A temporary folder that goes away with this object."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lookback-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Result:
    """What `evaluate` found. The frames are tidy: one row per score, clip or failure, one column per fact.

    Where the folder of the run is temporary, a pickled copy (as another process gets it) holds the frames and not the folder.
    """

    params: RunParams
    _held: _Held | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        if self._held is None:
            return self.__dict__
        return {**self.__dict__, "_held": None} | {name: getattr(self, name) for name in FRAMES}

    def _check_folder(self) -> None:
        if not self.params.paths.tables.is_dir():
            raise UsageError("The folder of this result is gone; give evaluate an `output` to keep it")
        now = Result(self.params)
        if not (now.clips.equals(self.clips) and now.items.equals(self.items)):
            raise UsageError("The folder of this result shows a later call; give every call an `output` of its own")

    def __repr__(self) -> str:
        values, clips = self.items["value"], self.clips
        facts = {"clips": len(clips), "models": clips["model_id"].nunique(), "metrics": self.items["metric"].nunique()}
        facts |= {"scores": int(values.notna().sum()), "missing": int(values.isna().sum()), "rejected": len(self.rejected)}
        return f"Result({', '.join(f'{name} {count}' for name, count in facts.items())})"

    def _table(self, name: str) -> pd.DataFrame:
        return read_table(self.params.paths.tables, name)

    @cached_property
    def clips(self) -> pd.DataFrame:
        """One row per video, with everything that its dataset says about it."""
        return self._table("clips")

    @cached_property
    def rejected(self) -> pd.DataFrame:
        """What could not be read: path, field, problem and remedy."""
        return self._table("rejected")

    @cached_property
    def units(self) -> pd.DataFrame:
        """The values behind the items: one row per frame, pair, track or question."""
        return only_chosen(self._table("units"), self.params).reset_index(drop=True)

    @cached_property
    def items(self) -> pd.DataFrame:
        """One row per clip, metric and phase: a value, or the reason why there is none."""
        gated = only_chosen(self._table("gated"), self.params)
        unit = [METRICS.get(name).unit for name in gated["metric"]]
        return gated.assign(unit=unit)[[*KEYS, *ITEMS]].reset_index(drop=True)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per model, metric and phase: the mean, its 95 % interval over scenes, n, and why scores are missing."""
        items = with_clip_facts(self.items, self.clips)
        return aggregate(items, by=POOLED, seed=self.params.seed, resamples=self.params.scoring.resamples)

    def table(self, *, intervals: bool = False) -> PaperTable:
        """A row per model and a column per metric. Prints as text, shows as HTML in a notebook; `.frame` has the numbers."""
        scores = self.scores
        parts = scores[["metric", "phase"]].drop_duplicates()
        one = len({metric.split(".")[0] for metric in parts["metric"]}) == 1
        columns = [_column(metric, phase, one) for metric, phase in parts.itertuples(index=False) if self._says(metric, phase)]
        table = model_table("scores", "Mean scores by model", scores, columns, intervals=intervals)
        table.links = None  # they lead to places on a report's page
        table.notes.append(backend_note(self.items))
        return table

    def _says(self, metric: str, phase: str) -> bool:
        """Whether a part gets a column: one with a name, the whole where it has a score, and one of a metric without any score."""
        own = self.scores[self.scores["metric"] == metric]
        if not own["n"].any():
            return phase == own["phase"].min()
        return bool(phase) or bool(own.loc[own["phase"] == "", "n"].any())

    def to_latex(self) -> str:
        """The table in LaTeX (booktabs), the best value of each column in bold."""
        return self.table().to_latex()

    def failures(self) -> pd.DataFrame:
        """The failures that the written rules find: clip, label, frames, rule and evidence.

        The first call extracts camera paths and masks, which takes a few seconds a clip.
        """
        self._check_folder()
        path = self.params.paths.tables / "failures.parquet"
        if not path.is_file():
            evidence = self.params.changed(extraction={"always": EVIDENCE})
            with silenced(bars=False, lines=False):
                stages.extraction(evidence)
                stages.forensics(evidence)
        return self._table("failures")

    def report(self, path: str | Path, *, failures: bool = True) -> Path:
        """Write the report: the file to open, and a folder of the same name beside it; returns the file's path.

        With `failures` it looks for them first (see `failures`).
        """
        from lookback.report.page import copy_site  # its import takes a while

        self._check_folder()
        target = expanded(path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise UsageError(f"{path}: the report is a page; name an HTML file, for example {target / 'report.html'}")
        if failures:
            self.failures()
        unsearched = not (self.params.paths.tables / "failures.parquet").is_file()
        if unsearched:
            write_table(self.params.paths.tables, "failures", empty_table("failures"))
        try:
            with silenced(bars=False, lines=False):
                stages.report(self.params)
        finally:
            if unsearched:
                (self.params.paths.tables / "failures.parquet").unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_site(self.params.paths.report, target)
        return target


@dataclass(frozen=True)
class Found:
    """The sources of a run, and which of their clips are wanted (None: all)."""

    sources: list[dict[str, object]]
    only: Collection[tuple[str, ...]] | None = None
    filters: dict[str, list[str]] = field(default_factory=dict)


def _find(videos: Videos, benchmark: str | None, output: Path, fps: float) -> Found:
    if benchmark is not None and benchmark not in LAYOUTS.names():
        LAYOUTS.get(benchmark)  # says which there are
    if (found := find_files(videos, benchmark)) is not None:
        return found
    if benchmark not in (None, FALLBACK):
        raise UsageError(
            f"Frames in memory carry none of the files of '{benchmark}'; write them in its layout and give the folder, or leave "
            "benchmark out and name metrics that need only the video"
        )
    claim(output)
    return write_frames(videos, output / "datasets" / GIVEN, fps)


def find_files(videos: object, benchmark: str | None) -> Found | None:
    """The sources of a folder, a file or a list of files; None for frames in memory."""
    if isinstance(videos, (str, Path)):
        if videos == "":  # it would be the current folder
            raise UsageError("The path of the videos is empty; name a folder or a file")
        path = Path(os.path.abspath(expanded(videos)))
        if not path.exists():
            raise UsageError(f"{videos}: there is no such file or folder")
        return _listed([path], benchmark) if _is_clip(path) else Found([{"root": str(path), "layout": benchmark or "auto"}])
    listed = list(videos) if isinstance(videos, (list, tuple)) else []
    if listed and all(isinstance(each, (str, Path)) for each in listed):
        return _listed([Path(os.path.abspath(expanded(each))) for each in listed], benchmark)
    return None


def write_frames(videos: object, folder: Path, fps: float) -> Found:
    """Write clips in memory to `folder` as model/clip.mkv without loss. What lay there before goes away."""
    named = _named(videos)
    shutil.rmtree(folder, ignore_errors=True)
    for name, frames in named.items():
        encode(folder / f"{name}.mkv", frames, fps, codec="ffv1", crf=None, pix_fmt="bgr0")
    return Found([{"root": str(folder), "layout": FALLBACK, "pattern": "{model}/{clip}"}])


def _is_clip(path: Path) -> bool:
    """A video file, or a folder that holds the frames of one and nothing else."""
    if path.is_file():
        return is_video_file(path)
    return has_frames(path) and not any(entry.is_dir() or is_video_file(entry) for entry in entries(path))


def _listed(paths: list[Path], benchmark: str | None) -> Found:
    """Single clips: the folders they lie in are read in the benchmark's layout, and only these clips are kept."""
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: there is no such file")
        if not _is_clip(path):
            raise UsageError(f"{path}: is no video ({', '.join(sorted(VIDEO_SUFFIXES))}) and no folder of frames")
    layout = benchmark or FALLBACK
    plain = {"pattern": "{clip}"} if layout == FALLBACK else {}
    sources: list[dict[str, object]] = [
        {"root": str(root), "layout": layout, **plain} for root in dict.fromkeys(path.parent for path in paths)
    ]
    wanted = {os.path.realpath(path) for path in paths}
    readings = [read(Source.model_validate(source)) for source in sources]
    clips = {os.path.realpath(resolve(clip.video)): clip for reading in readings for clip in reading.clips}
    if lost := sorted(wanted - set(clips)):
        for violation in (each for reading in readings for each in reading.violations):
            if os.path.realpath(resolve(violation.path)) == lost[0]:
                raise UsageError(violation.line)
        raise UsageError(f"{lost[0]}: is no clip of the layout '{layout}'; give the dataset's folder, or leave benchmark out")
    chosen = [clips[path] for path in sorted(wanted)]
    filters = {"models": {clip.model_id for clip in chosen}, "sample_ids": {clip.sample_id for clip in chosen} - {""}}
    return Found(sources, {clip.key for clip in chosen}, {name: sorted(values) for name, values in filters.items()})


def _named(videos: object) -> dict[str, Array]:
    """Clips in memory by the path of their file: model/clip."""
    if isinstance(videos, Mapping):
        names, clips = [str(name) for name in videos], list(videos.values())
    else:
        whole = isinstance(videos, (list, tuple)) or getattr(videos, "ndim", 0) == 5
        clips = list(videos) if whole and isinstance(videos, Iterable) else [videos]
        names = [f"clip{number}" for number in range(len(clips))]
    if not clips:
        raise UsageError("There are no videos to score")
    paths = [name if "/" in name else f"{GIVEN}/{name}" for name in names]
    if twice := [path for path, count in Counter(paths).items() if count > 1]:
        raise UsageError(f"'{twice[0]}' is the name of more than one clip; give every clip its own")
    return {path: _frames(name, clip) for path, name, clip in zip(paths, names, clips, strict=True)}


def _frames(name: str, clip: object) -> Array:
    parts = name.split("/")
    if len(parts) > 2 or odd_character(name) or any(part in ("", ".", "..") or len(part.encode()) > LONGEST for part in parts):
        raise UsageError(f"{brief(name)} is no name of a clip; write 'clip' or 'model/clip'")
    if isinstance(clip, (str, Path)):
        raise UsageError(f"'{name}' is a path among frames in memory; give files as a list of paths and nothing else")
    frames = np.asarray(as_array(clip))
    if frames.ndim != 4 or frames.shape[-1] != 3 or frames.dtype != np.uint8 or not frames.size:
        kind = getattr(clip, "dtype", frames.dtype)
        raise UsageError(f"'{name}': frames must be an array (n,H,W,3) of uint8, not {frames.shape} of {kind}")
    return frames


def _column(metric: str, phase: str, one_family: bool) -> Column:
    name = metric.split(".", 1)[1] if one_family else metric
    return Column(f"{name} {phase}".strip(), metric, phase, digits=3)
