"""Render a plan and write it as datasets in the benchmarks' layouts, with their truth. The folder appears all at once."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lookback.clips import KEYS
from lookback.demo.clip import RenderedClip, render_clip
from lookback.demo.filming import figure_pose
from lookback.demo.plan import PlannedClip, Task, spelling, writer_of
from lookback.demo.texts import request_of
from lookback.demo.truth import SUBJECT_PART, record_path, truth_row, write_record
from lookback.errors import LookbackError
from lookback.files import writing
from lookback.layouts.anchors import NAME as ANCHORS
from lookback.layouts.anchors import NUMBERS
from lookback.layouts.writing import Box, Delivery, Film, write_csv
from lookback.params.stages import Source
from lookback.paths import portable
from lookback.progress import track
from lookback.registry import BENCHMARKS
from lookback.scratch import part_folder
from lookback.tables import check_table, write_table
from lookback.workers import WorkerDied, run_tasks

TRUTH = "truth"
# the interface of each simulated model, for benchmarks that compare interfaces
CONDITION_TYPES = {
    "event_never_starts": "source-video",
    "duplicate": "source-video",
    "subject_dragged": "model-inferred",
    "wrong_direction": "prompt-only",
}
OTHER_TYPE = "geometry-cache"


class Job(NamedTuple):
    """All clips of one task: they share their faithful pictures."""

    clips: tuple[PlannedClip, ...]
    staging: Path
    root: Path


class Done(NamedTuple):
    """What a finished task contributes to the files that cover all tasks."""

    rows: list[dict[str, Any]]
    phases: tuple[int, int | None, int | None]  # frames of the truth, d_start, r_start
    anchor: tuple[str, ...] | None  # the subject's box in the first generated frame


def run_job(job: Job) -> Done:
    """Render one task's clips and write their files below the staging folder."""
    task = job.clips[0].task
    writer, request = writer_of(task), request_of(task)
    root = job.staging / writer.folder(request)
    right = render_clip(job.clips[0].spec.faithful())
    writer.write_truth(root, request, film_of(right))
    rows = []
    for planned in job.clips:
        clip = right if planned.spec == right.spec else render_clip(planned.spec)
        writer.write_clip(root, delivery_of(planned), film_of(clip))
        record = record_path(Path(TRUTH), planned)
        write_record(job.staging / record, clip, task.mark_time)
        rows.append(truth_row(planned, clip, job.root / record))
    box = subject_box(right, task.mark_time)
    anchor = None if box is None else (task.clip_id, *(f"{value:g}" for value in box))
    return Done(rows, (len(right.frames), right.d_start, right.r_start), anchor)


def run_scene(jobs: tuple[Job, ...]) -> list[Done]:
    """The tasks of one scene, in one process: its textures are painted once."""
    return [run_job(job) for job in jobs]


def delivery_of(planned: PlannedClip) -> Delivery:
    """A planned clip, as the layouts' writers take it."""
    condition = CONDITION_TYPES.get(planned.spec.failure, OTHER_TYPE)
    return Delivery(request_of(planned.task), planned.model_id, condition, spelling(planned.model_id))


def film_of(clip: RenderedClip) -> Film:
    """A rendered clip as the layouts' writers take it."""
    actor = [figure_pose(pose) for pose in clip.c2w] if clip.spec.third_person else None
    cameras = (clip.c2w, clip.target_c2w, clip.intrinsics)
    return Film(clip.frames, *cameras, clip.depth, subject_box(clip), clip.d_start, clip.r_start, actor)


def subject_box(clip: RenderedClip, frame: int = 0) -> Box | None:
    """Centre x, centre y, width, height of the subject in one frame, in pixels; None when it is not in view."""
    rows, columns = np.nonzero(clip.parts[frame] == SUBJECT_PART)
    if not len(rows):
        return None
    left, top = float(columns.min()), float(rows.min())
    width, height = float(columns.max()) - left + 1, float(rows.max()) - top + 1
    return left + width / 2, top + height / 2, width, height


def write_datasets(plan: Sequence[PlannedClip], root: Path, workers: int = 2) -> pd.DataFrame:
    """Write every clip of the plan below `root` (replaced as a whole) and return the truth table."""
    with writing(root), part_folder(root) as staging:
        table = _write(plan, staging, root, workers)
        shutil.rmtree(root, ignore_errors=True)
        staging.replace(root)
    return table


def _write(plan: Sequence[PlannedClip], staging: Path, root: Path, workers: int) -> pd.DataFrame:
    scenes: dict[str, list[Job]] = {}
    for _, of_task in groupby(plan, key=lambda clip: clip.task):
        job = Job(tuple(of_task), staging, root)
        scenes.setdefault(job.clips[0].spec.scene, []).append(job)
    # long ones first, so that all workers finish at about the same time
    groups = sorted(
        (tuple(jobs) for jobs in scenes.values()), key=lambda jobs: -sum(len(job.clips) * job.clips[0].spec.frames for job in jobs)
    )
    done: dict[Task, Done] = {}
    for index, results in track(run_tasks(run_scene, groups, workers), "rendering the demo world", len(groups), "scene"):
        if isinstance(results, WorkerDied):
            raise LookbackError(f"Rendering {groups[index][0].clips[0].task.clip_id} of the demo world failed: {results.message}")
        done |= {job.clips[0].task: result for job, result in zip(groups[index], results, strict=True)}
    folders: dict[tuple[str, str], list[PlannedClip]] = {}
    for clip in plan:
        folders.setdefault((clip.task.benchmark, writer_of(clip.task).folder(request_of(clip.task))), []).append(clip)
    for (benchmark, name), clips in folders.items():
        tasks = dict.fromkeys(clip.task for clip in clips)
        truths = {task.clip_id: done[task].phases for task in tasks}
        writer_of(clips[0].task).finish(staging / name, [delivery_of(clip) for clip in clips], truths)
        if BENCHMARKS.get(benchmark).anchor_field == ANCHORS:
            boxes = sorted(anchor for task in tasks if (anchor := done[task].anchor) is not None)
            write_csv(staging / name / ANCHORS, [("clip_id", *NUMBERS), *boxes])
    rows = [row for result in done.values() for row in result.rows]
    table = check_table("truth", _frame(rows))
    write_table(staging / TRUTH, "truth", table)
    return table


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows).sort_values(KEYS, ignore_index=True)
    return frame.astype({"d_start": "Int64", "r_start": "Int64"})


def dataset_sources(root: Path) -> list[Source]:
    """The written datasets as curation reads them."""
    written = [(name, benchmark.name) for benchmark in BENCHMARKS if (writer := benchmark.writer()) for name in writer.folders]
    return [Source(root=portable(root / name), layout=layout) for name, layout in written if (root / name).is_dir()]
