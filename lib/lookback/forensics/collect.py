"""Pixel evidence of every clip of a run, over processes; what the store already holds is not looked at again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lookback.artifacts import RunArtifacts
from lookback.clips import KEYS, Clip, clips_from_frame
from lookback.errors import LookbackError
from lookback.files import sha256_json
from lookback.forensics.evidence import Evidence, gather
from lookback.forensics.probe import PRODUCER, Inputs, probe
from lookback.params import RunParams
from lookback.progress import track
from lookback.store import ArtifactStore
from lookback.workers import WorkerDied, run_tasks

ROLES = ("pose", "masks", "gt_pose")
REAL_SOURCES = ("logprobs", "sampled", "stated")  # how a real judge's answers come about


@dataclass(frozen=True)
class ProbeTask:
    """One clip with its artifact rows."""

    clip: Clip
    rows: tuple[dict[str, Any], ...]
    root: Path

    def inputs(self) -> Inputs | None:
        """The clip with its artifacts loaded; None without a camera path."""
        stored = RunArtifacts(self.root, pd.DataFrame(list(self.rows), columns=None if self.rows else [*KEYS, "role"]))
        pose, masks, truth = (stored.load(self.clip, role) for role in ROLES)
        return None if pose is None else Inputs(self.clip, pose, masks, truth)


def tasks_of(clips: Sequence[Clip], artifacts: pd.DataFrame, root: Path) -> list[ProbeTask]:
    """One task per clip."""
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in artifacts[artifacts["role"].isin(ROLES)].to_dict("records"):
        rows.setdefault(tuple(row[name] for name in KEYS), []).append({str(name): value for name, value in row.items()})
    return [ProbeTask(clip, tuple(rows.get(clip.key, ())), root) for clip in clips]


def probe_task(task: ProbeTask) -> list[dict[str, Any]]:
    """The clip's records from the store, or made now; a clip that cannot be read has none."""
    made_from = [task.clip.model_dump(mode="json"), sorted((row["role"], row["stored"]) for row in task.rows)]
    store, key = ArtifactStore(task.root), sha256_json(made_from)
    known = store.load(PRODUCER, key)
    if known is not None:
        return list(known.record["pairs"])
    inputs = task.inputs()
    try:
        pairs = [] if inputs is None else probe(inputs)
    except LookbackError:
        return []
    store.save(PRODUCER, key, {}, {"pairs": pairs})
    return pairs


def collect(params: RunParams, tables: dict[str, pd.DataFrame]) -> list[Evidence]:
    """Every clip's evidence, in the clips' order."""
    clips = clips_from_frame(tables["clips"])
    tasks = tasks_of(clips, tables["artifacts"], params.paths.artifacts)
    found: dict[int, list[dict[str, Any]]] = {}
    for index, result in track(run_tasks(probe_task, tasks, params.workers), "comparing frames", total=len(tasks)):
        found[index] = [] if isinstance(result, WorkerDied) else result
    stored = RunArtifacts(params.paths.artifacts, tables["artifacts"])
    shots, answers = _shots(tables["segments"]), real_answers(tables["judgements"])
    return [
        gather(
            clip,
            stored.load(clip, "pose"),
            stored.load(clip, "masks"),
            stored.load(clip, "gt_pose"),
            shots.get(clip.key, ()),
            found[index],
            answers.get(clip.key),
        )
        for index, clip in enumerate(clips)
    ]


def _shots(segments: pd.DataFrame) -> dict[Any, list[int]]:
    starts = segments[segments["kind"] == "shot"].groupby(KEYS)["start"]
    return {key: sorted(int(value) for value in values) for key, values in starts}


def real_answers(judgements: pd.DataFrame) -> dict[Any, dict[str, float]]:
    """Mean answer per clip and question, of judges that looked at the frames; simulated answers are left out."""
    real = judgements[~judgements["simulated"] & judgements["value_from"].isin(REAL_SOURCES)].dropna(subset=["value"])
    means = real.groupby([*KEYS, "question_id"])["value"].mean()
    answers: dict[Any, dict[str, float]] = {}
    for (*key, question), value in means.items():
        answers.setdefault(tuple(key), {})[str(question)] = float(value)
    return answers
