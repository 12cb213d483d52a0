"""The ceiling: the real videos of a benchmark's tasks, scored as if a model had made them.

They go through the same extraction and scoring as the models' clips, so a number below the best possible one is what the measuring
itself loses. Where a task's prediction begins inside the real video, only the part from there on is scored. Questions that need a
judge are not asked. Results are kept in the run's store, so a second report does not compute them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd

from lookback.benchmark import Benchmark
from lookback.clips import Clip, clips_from_frame, clips_to_frame
from lookback.code import code_version
from lookback.curation.inspection import ClipToInspect, inspect
from lookback.errors import MediaError, Reason
from lookback.extraction.identity import truth_hash
from lookback.extraction.run import extract_run
from lookback.files import made_from
from lookback.media import encode, open_video
from lookback.names import counted
from lookback.params import RunParams
from lookback.paths import portable, resolve
from lookback.registry import BENCHMARKS
from lookback.report.leaderboard import REAL
from lookback.report.places import number_anchor
from lookback.report.table import PaperTable
from lookback.scoring.direction import better_sign
from lookback.scoring.run import applicable, score_run
from lookback.scoring.variants import only_chosen
from lookback.tables import SCHEMAS, empty_table, read_table

TASK = ["setting", "clip_id"]


@dataclass(frozen=True)
class Ceiling:
    """The scores of the real videos of one benchmark, or why there are none."""

    benchmark: str
    title: str
    items: pd.DataFrame
    why: str = ""

    @property
    def scored(self) -> bool:
        return bool(len(self.items) and self.items["value"].notna().any())

    def table(self, models: pd.DataFrame) -> PaperTable:
        """A row per measure: the real videos beside the best model on the same tasks."""
        told = self.items[self.items["value"].notna()]
        same = models[(models["benchmark"] == self.benchmark) & models["value"].notna()].merge(told[TASK].drop_duplicates())
        rows, links = [], []
        for (metric, phase), own in told.groupby(["metric", "phase"], sort=True):
            others = same[(same["metric"] == metric) & (same["phase"] == phase)].groupby("model_id")["value"].mean()
            sign = better_sign(metric, phase)
            best = (others * sign).idxmax() if len(others) and sign else ""
            rows.append(
                {
                    "measure": f"{metric} {phase}".strip(), REAL: own["value"].mean(),
                    "best model": others[best] if best else np.nan, "which": best, "clips": len(own),
                }
            )  # fmt: skip
            links.append(f"#{number_anchor(self.benchmark, best, metric, phase)}" if best else "")
        lacking = sorted(set(self.items.loc[self.items["value"].isna(), "metric"]) - set(told["metric"]))
        notes = [f"{counted(len(told[TASK].drop_duplicates()), 'real video')}. Best model: its mean over the same tasks."]
        notes += [f"No ceiling, for the reasons on the page of missing scores: {', '.join(lacking)}."] if lacking else []
        return PaperTable(
            f"ceiling-{self.benchmark}", f"{self.title}: ceiling", pd.DataFrame(rows), ["measure", "which"],
            {REAL: 4, "best model": 4}, links=pd.DataFrame({"best model": links}), notes=notes,
        )  # fmt: skip


@contextmanager
def ceilings_beside(params: RunParams) -> Iterator[Callable[[], list[Ceiling]]]:
    """Inside, the ceilings are made in a process of their own; the yielded function waits for them. One worker: on demand, here."""
    if params.workers == 1 or not params.report.ceiling:
        yield lambda: ceilings_of(params)
        return

    def waited() -> list[Ceiling]:
        try:
            return made.result()
        except BrokenProcessPool:  # killed, as by a lack of memory
            return ceilings_of(params)

    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        made = pool.submit(ceilings_of, params)
        yield waited


def ceilings_of(params: RunParams) -> list[Ceiling]:
    """The ceiling of every benchmark of the run."""
    clips = read_table(params.paths.tables, "clips")
    return [ceiling_of(params, BENCHMARKS.get(name), clips) for name in sorted(clips["benchmark"].unique())]


def ceiling_of(params: RunParams, benchmark: Benchmark, clips: pd.DataFrame) -> Ceiling:
    """Score the real videos of a benchmark's tasks."""
    own = clips[clips["benchmark"] == benchmark.name]
    with_truth = own[own["ground_truth"].notna()].drop_duplicates(TASK).sort_values(TASK)
    if with_truth.empty:
        return _absent(benchmark, Reason.MISSING_INPUT, "its tasks come without real videos")
    if not params.report.ceiling:
        return _absent(benchmark, Reason.NOT_APPLICABLE, "report.ceiling is 0")
    tasks = [clip for clip in clips_from_frame(with_truth) if applicable(clip, params.scoring.metrics)]
    if not tasks:
        return _absent(benchmark, Reason.NOT_APPLICABLE, "none of the run's metrics looks at its videos")
    few = np.unique(np.linspace(0, len(tasks) - 1, params.report.ceiling).round().astype(int))
    found, segments, problems = [], [], []
    for clip in (tasks[number] for number in few):
        try:
            seen = inspect(ClipToInspect(real_clip(clip, params)))
        except MediaError as error:
            problems.append(str(error))
            continue
        if seen.clip is None:
            problems.append("; ".join(str(violation) for violation in seen.violations))
        else:
            found.append(seen.clip)
            segments += seen.segments
    if not found:
        return _absent(benchmark, Reason.DECODE_FAILED, problems[0])
    return Ceiling(benchmark.name, benchmark.title, _scored(params, found, segments))


def _absent(benchmark: Benchmark, reason: Reason, words: str) -> Ceiling:
    return Ceiling(benchmark.name, benchmark.title, empty_table("items"), f"{benchmark.title}: {reason} ({words}).")


def _scored(params: RunParams, clips: Sequence[Clip], segments: list[dict[str, object]]) -> pd.DataFrame:
    alone = params.changed(scoring={"compare_variants": False}).model_copy(update={"workers": 1})
    table = clips_to_frame(list(clips))
    artifacts, _ = extract_run(alone, table)
    rows = pd.DataFrame(segments) if segments else empty_table("segments")
    _, items, _ = score_run(alone, table, rows, artifacts if len(artifacts) else empty_table("artifacts"))
    return only_chosen(items[list(SCHEMAS["items"].columns)], params) if len(items) else empty_table("items")


def real_clip(clip: Clip, params: RunParams) -> Clip:
    """The clip with the real video in place of the model's: from the marked frame on, without files made for the model's video."""
    assert clip.ground_truth is not None
    facts: dict[str, Any] = {"model_id": REAL, "poses": None, "poses_format": None, "files": {}, "content_hash": ""}
    return clip.model_copy(update={**facts, "video": _video(clip, params)})


def _video(clip: Clip, params: RunParams) -> str:
    """The real video, or a lossless copy of its part from the marked frame on."""
    assert clip.ground_truth is not None
    if not clip.mark_time:
        return clip.ground_truth
    source = [truth_hash(clip.ground_truth), clip.mark_time, clip.fps, code_version("lookback.media")]
    target = made_from(params.paths.root / "ceiling", clip.key, source, ".mkv")
    if not target.is_file():
        with open_video(resolve(clip.ground_truth)) as reader:
            frames = reader.read(np.arange(clip.mark_time, reader.info.n_frames))
            encode(target, frames, reader.info.fps or clip.fps or 24.0, codec="ffv1", pix_fmt="bgr0", crf=None)
    return portable(target)
