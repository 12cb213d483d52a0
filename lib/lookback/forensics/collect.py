"""The evidence of every clip of a run, gathered in several processes. Stored pixel evidence is reused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookback.artifacts import Masks, PoseTrack, RunArtifacts, TruePoseTrack
from lookback.clips import KEYS, Clip, clips_from_frame
from lookback.code import code_version
from lookback.errors import LookbackError
from lookback.extraction.identity import truth_hash
from lookback.files import sha256_json
from lookback.forensics.curves import curves
from lookback.forensics.evidence import Evidence, gather
from lookback.forensics.probe import Inputs, probe
from lookback.params import RunParams
from lookback.paths import resolve
from lookback.progress import track
from lookback.store import ArtifactStore, Producer
from lookback.workers import WorkerDied, run_tasks

ROLES = (PoseTrack.role, Masks.role, TruePoseTrack.role)
REAL_SOURCES = ("logprobs", "sampled", "stated")  # values of `value_from` that only real judges have


@dataclass(frozen=True)
class ProbeTask:
    """One clip with its rows of the artifacts table."""

    clip: Clip
    rows: tuple[dict[str, Any], ...]
    root: Path
    producer: Producer

    @property
    def truth(self) -> str:
        """Hash of the ground truth's content; empty without one."""
        return truth_hash(self.clip.ground_truth) if self.clip.ground_truth else ""

    def inputs(self) -> Inputs | None:
        """The clip with its artifacts loaded; None if it has no camera path."""
        stored = RunArtifacts(self.root, pd.DataFrame(list(self.rows), columns=None if self.rows else [*KEYS, "role"]))
        pose = stored.load(self.clip, PoseTrack)
        if pose is None or not self.clip.n_frames:
            return None
        return Inputs(
            self.clip, pose.per_frame(self.clip.n_frames), stored.load(self.clip, Masks), stored.load(self.clip, TruePoseTrack)
        )


def tasks_of(clips: Sequence[Clip], artifacts: pd.DataFrame, root: Path) -> list[ProbeTask]:
    """One task per clip."""
    rows: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in artifacts[artifacts["role"].isin(ROLES)].to_dict("records"):
        rows.setdefault(tuple(row[name] for name in KEYS), []).append({str(name): value for name, value in row.items()})
    producer = Producer("forensics", "pixels", code_version("lookback.forensics.probe"))
    return [ProbeTask(clip, tuple(rows.get(clip.key, ())), root, producer) for clip in clips]


def probe_task(task: ProbeTask) -> list[dict[str, Any]]:
    """The pixel records of the clip, from the store or computed now; none if the clip cannot be read."""
    made_from = [task.clip.model_dump(mode="json"), sorted((row["role"], row["stored"]) for row in task.rows), task.truth]
    store, key = ArtifactStore(task.root), sha256_json(made_from)
    known = store.load(task.producer, key)
    if known is not None:
        return list(known.record["pairs"])
    inputs = task.inputs()
    try:
        pairs = [] if inputs is None else probe(inputs)
    except LookbackError:
        return []
    store.save(task.producer, key, {}, {"pairs": pairs})
    return pairs


def curves_task(task: ProbeTask) -> dict[str, np.ndarray]:
    """The curves of the clip, from the store or computed now; none if the clip cannot be read."""
    clip = task.clip
    truth = resolve(clip.ground_truth) if clip.ground_truth else None
    producer = Producer("forensics", "curves", code_version("lookback.forensics.curves"))
    store, key = ArtifactStore(task.root), sha256_json([clip.content_hash, clip.video, clip.ground_truth, task.truth])
    known = store.load(producer, key)
    if known is not None:
        return dict(known.arrays)
    try:
        found = {name: np.asarray(values, np.float64) for name, values in curves(resolve(clip.video), truth).items()}
    except LookbackError:
        return {}
    store.save(producer, key, found, {})
    return found


def look(task: ProbeTask) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """The pixel records and the curves of one clip."""
    return probe_task(task), curves_task(task)


def probe_alone(task: ProbeTask) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """The pixel records of one clip, without curves."""
    return probe_task(task), {}


def collect(params: RunParams, tables: dict[str, pd.DataFrame], over_time: bool = True) -> list[Evidence]:
    """The evidence of every clip, in the order of the clips table; the curves over time only where somebody reads them."""
    clips = clips_from_frame(tables["clips"])
    tasks = tasks_of(clips, tables["artifacts"], params.paths.artifacts)
    found: dict[int, tuple[list[dict[str, Any]], dict[str, np.ndarray]]] = {}
    results = run_tasks(look if over_time else probe_alone, tasks, params.workers)
    for index, result in track(results, "comparing frames", total=len(tasks)):
        found[index] = ([], {}) if isinstance(result, WorkerDied) else result
    shots, answers = _shots(tables["segments"]), real_answers(tables["judgements"])
    return [
        _evidence(task, shots.get(task.clip.key, ()), *found[index], answers.get(task.clip.key)) for index, task in enumerate(tasks)
    ]


def _evidence(
    task: ProbeTask,
    shots: Sequence[int],
    pairs: list[dict[str, Any]],
    over_time: dict[str, np.ndarray],
    answers: dict[str, float] | None,
) -> Evidence:
    inputs = task.inputs()
    if inputs is None:
        return Evidence(task.clip, shots=shots, answers=answers or {}, curves=over_time)
    seen = gather(task.clip, inputs.pose, inputs.masks, inputs.truth_pose, shots, pairs, answers)
    return replace(seen, curves=over_time)


def _shots(segments: pd.DataFrame) -> dict[tuple[str, ...], list[int]]:
    starts = segments[segments["kind"] == "shot"].groupby(KEYS)["start"]
    return {key: sorted(int(value) for value in values) for key, values in starts}


def real_answers(judgements: pd.DataFrame) -> dict[tuple[str, ...], dict[str, float]]:
    """Mean answer per clip and question, from real judges only."""
    real = judgements[~judgements["simulated"] & judgements["value_from"].isin(REAL_SOURCES)].dropna(subset=["value"])
    means = real.groupby([*KEYS, "question_id"])["value"].mean()
    answers: dict[tuple[str, ...], dict[str, float]] = {}
    for (*key, question), value in means.items():
        answers.setdefault(tuple(key), {})[str(question)] = float(value)
    return answers
