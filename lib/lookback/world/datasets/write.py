"""Render a plan and write it out as the five datasets with their truth; the folder appears whole or not at all."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import pandas as pd

from lookback.clips import KEYS
from lookback.errors import LookbackError
from lookback.files import writing
from lookback.layouts.anchors import NAME as ANCHORS
from lookback.layouts.anchors import NUMBERS
from lookback.params.curation import Source
from lookback.paths import portable
from lookback.progress import track
from lookback.scratch import part_folder
from lookback.tables import check_table, write_table
from lookback.workers import WorkerDied, run_tasks
from lookback.world.clip import RenderedClip, render_clip
from lookback.world.datasets import mbench, memobench, mind, wrbench
from lookback.world.datasets.common import Take, subject_box
from lookback.world.plan import PlannedClip, Task
from lookback.world.truth import record_path, truth_row, write_record

TRUTH = "truth"


class Writer(Protocol):
    """One layout: the folder, what all models share, one clip, and the documents over all clips."""

    def folder(self, task: Task) -> str: ...

    def write_truth(self, root: Path, task: Task, right: RenderedClip) -> None: ...

    def write_clip(self, root: Path, take: Take) -> None: ...

    def finish(self, root: Path, plan: Sequence[PlannedClip]) -> None: ...


WRITERS: dict[str, Any] = {"mbench": mbench, "memobench": memobench, "wrbench": wrbench, "mind": mind}
LAYOUTS: dict[str, Literal["mbench", "memobench", "wrbench", "mind"]] = {
    "mbench_a": "mbench",
    "mbench_t": "mbench",
    "memobench": "memobench",
    "wrbench": "wrbench",
    "mind": "mind",
}


class Job(NamedTuple):
    """All clips of one task: they share their faithful pictures."""

    clips: tuple[PlannedClip, ...]
    staging: Path
    root: Path


class Done(NamedTuple):
    rows: list[dict[str, Any]]
    phases: list[str] | None
    anchor: tuple[str, ...] | None  # the subject's box in the first generated frame


def run_job(job: Job) -> Done:
    """Render one task's clips and write their files below the staging folder."""
    task = job.clips[0].task
    writer: Writer = WRITERS[task.benchmark]
    root = job.staging / writer.folder(task)
    right = render_clip(job.clips[0].spec.faithful())
    writer.write_truth(root, task, right)
    rows = []
    for planned in job.clips:
        clip = right if planned.spec == right.spec else render_clip(planned.spec)
        writer.write_clip(root, Take(planned, clip))
        record = record_path(Path(TRUTH), planned)
        write_record(job.staging / record, clip, task.mark_time)
        rows.append(truth_row(planned, clip, job.root / record))
    box = subject_box(right, task.mark_time)
    anchor = None if box is None else (task.clip_id, *(f"{value:g}" for value in box))
    return Done(rows, memobench.phase_row(task, right) if task.benchmark == "memobench" else None, anchor)


def write_datasets(plan: Sequence[PlannedClip], root: Path, workers: int = 2) -> pd.DataFrame:
    """Write every clip of the plan below `root` (replaced as a whole) and return the truth table."""
    with writing(root), part_folder(root) as staging:
        table = _write(plan, staging, root, workers)
        shutil.rmtree(root, ignore_errors=True)
        staging.replace(root)
    return table


def _write(plan: Sequence[PlannedClip], staging: Path, root: Path, workers: int) -> pd.DataFrame:
    jobs = [Job(tuple(clips), staging, root) for _, clips in groupby(plan, key=lambda clip: clip.task)]
    jobs.sort(key=lambda job: -len(job.clips) * job.clips[0].spec.frames)  # long ones first, so that workers end together
    rows: list[dict[str, Any]] = []
    phases: list[list[str]] = []
    anchors: dict[str, list[tuple[str, ...]]] = {}
    for index, done in track(run_tasks(run_job, jobs, workers), "rendering the demo world", len(jobs), "task"):
        if isinstance(done, WorkerDied):
            raise LookbackError(f"Rendering {jobs[index].clips[0].task.clip_id} of the demo world failed: {done.message}")
        rows += done.rows
        phases += [done.phases] if done.phases is not None else []
        task = jobs[index].clips[0].task
        if done.anchor is not None and task.benchmark != "mbench":
            anchors.setdefault(WRITERS[task.benchmark].folder(task), []).append(done.anchor)
    for name in LAYOUTS:
        part = [clip for clip in plan if WRITERS[clip.task.benchmark].folder(clip.task) == name]
        if part:
            WRITERS[part[0].task.benchmark].finish(staging / name, part)
    for name, boxes in anchors.items():
        _write_anchors(staging / name / ANCHORS, boxes)
    if phases:
        memobench.write_phase_sheet(staging / "memobench", phases)
    table = check_table("truth", _frame(rows))
    write_table(staging / TRUTH, "truth", table)
    return table


def _write_anchors(path: Path, boxes: list[tuple[str, ...]]) -> None:
    """The subject's box of each task: these layouts have no field for it, and the embedded masks need one."""
    with path.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle, lineterminator="\n").writerows([("clip_id", *NUMBERS), *sorted(boxes)])


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows).sort_values(KEYS, ignore_index=True)
    return frame.astype({"d_start": "Int64", "r_start": "Int64"})


def dataset_sources(root: Path) -> list[Source]:
    """The written datasets as curation reads them."""
    return [Source(root=portable(root / name), layout=layout) for name, layout in LAYOUTS.items() if (root / name).is_dir()]
