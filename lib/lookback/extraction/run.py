"""Extract all clips of a run. Finished artifacts come from the store; workers make the others with the backend of each role."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lookback.artifacts import Artifact, kind_of
from lookback.backends.base import Backend
from lookback.backends.choose import choose_backend, named_backend
from lookback.backends.files import given_file
from lookback.clips import KEYS, Clip, clips_from_frame
from lookback.errors import BackendUnavailable, ContractError, Reason, UsageError, hint
from lookback.executors import WorkerDied, executor_of
from lookback.extraction.built import built
from lookback.extraction.identity import GT_ROLES, can_be_read, changed_since_curation, input_hash, producer_of, truth_as_clip
from lookback.extraction.onepass import Made, built_on, extract_clip, rounds
from lookback.layouts.reading import REFUSED
from lookback.params import RunParams
from lookback.progress import track
from lookback.registry import BACKENDS, BENCHMARKS, METRICS, BackendSpec, backends_of
from lookback.store import ArtifactStore, Entry, Producer


@dataclass(frozen=True)
class ExtractionTask:
    """The extraction of one clip, as plain data."""

    clip: Clip
    roles: tuple[str, ...]
    params: RunParams


@dataclass
class Extracted:
    """The rows of one clip in the artifacts table, and the seconds that they took."""

    rows: list[dict[str, Any]]
    seconds: dict[str, float]


def extract_run(
    params: RunParams, clips: pd.DataFrame, spent_on_clip: Callable[[list[dict[str, Any]]], None] = lambda rows: None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(artifacts, timings): one row per clip and role; timings are seconds per clip and role, for what was not in the store.

    `spent_on_clip` is called with the timings of every clip as it is done.
    """
    check_names(params)
    tasks = [ExtractionTask(clip, extracted_roles(clip, params), params) for clip in clips_from_frame(clips)]
    rows: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    waiting = []
    for task in track(tasks, "looking up finished artifacts"):
        finished = _rows_of(task, only_finished=True)
        if finished is None:
            waiting.append(task)
        else:
            rows += finished.rows
    spent: Counter[str] = Counter()  # seconds per role, shown beside the progress bar
    costliest = lambda: ", ".join(f"{role} {seconds:.0f} s" for role, seconds in spent.most_common(3))  # noqa: E731
    results = executor_of(params).run(extract_task, waiting)
    for index, result in track(results, "extracting", total=len(waiting), note=costliest):
        task = waiting[index]
        if isinstance(result, WorkerDied):
            rows += [_row(task.clip, role, None, "", Made(None, str(Reason.BACKEND_FAILED), result.message)) for role in task.roles]
            continue
        rows += result.rows
        spent.update(result.seconds)
        keys = dict(zip(KEYS, task.clip.key, strict=True))
        timings += (own := [{**keys, "role": role, "seconds": seconds} for role, seconds in result.seconds.items()])
        spent_on_clip(own)
    return pd.DataFrame(rows), pd.DataFrame(timings, columns=[*KEYS, "role", "seconds"])


def check_names(params: RunParams) -> None:
    """A role or backend that does not exist is a UsageError, raised before any work."""
    asked = params.extraction
    known = sorted({spec.role for spec in BACKENDS} | set(GT_ROLES))
    for name, roles in (("roles", asked.roles), ("always", asked.always), ("backends", asked.backends), ("options", asked.options)):
        for written in roles:
            benchmark, _, role = written.rpartition("/")
            if role not in known:
                raise UsageError(f"extraction.{name} names the role '{role}', which does not exist; {hint(role, known)}")
            if benchmark:
                BENCHMARKS.get(benchmark)
    for written, name in asked.backends.items():
        BACKENDS.get(f"{written.rpartition('/')[2]}={name}")


def extracted_roles(clip: Clip, params: RunParams) -> tuple[str, ...]:
    if params.extraction.roles:
        return tuple(sorted(with_requirements(set(params.extraction.roles))))
    return roles_for(clip, params)


def roles_for(clip: Clip, params: RunParams) -> tuple[str, ...]:
    """The roles to extract for one clip, sorted, with the roles that they require."""
    wanted = set(params.extraction.always)
    for spec in METRICS:
        chosen = not params.scoring.metrics or spec.name in params.scoring.metrics
        if chosen and spec.applies_to(clip.benchmark, clip.setting, clip.subset):
            wanted |= set(spec.roles)
    return tuple(sorted(with_requirements(wanted)))


def with_requirements(roles: set[str]) -> set[str]:
    """These roles and the roles that their backends require."""
    complete: set[str] = set()
    waiting = list(roles)
    while waiting:
        role = waiting.pop()
        if role not in complete:
            complete.add(role)
            waiting += [need for spec in backends_of(role) for need in getattr(spec.build, "requires", ())]
    return complete


def extract_task(task: ExtractionTask) -> Extracted:
    """The rows of one clip. This runs in a worker process, which keeps its backends between clips."""
    done = _rows_of(task, only_finished=False)
    assert done is not None
    return done


def _rows_of(task: ExtractionTask, only_finished: bool) -> Extracted | None:
    """The rows of the clip. With `only_finished` nothing is made, and None means that the store does not have everything."""
    done = Extracted([], {})
    for clip, roles in _videos(task):
        if clip is None:
            absent = Made(None, str(Reason.MISSING_INPUT), "the dataset has no ground truth for this clip")
            done.rows += [_row(task.clip, role, None, "", absent) for role in roles]
            continue
        found = _look_up(clip, roles, task.params)
        if found.missing and only_finished:
            return None
        part = _make(clip, roles, found, task.params)
        done.rows += [{**row, **dict(zip(KEYS, task.clip.key, strict=True))} for row in part.rows]
        mark = "" if clip is task.clip else "gt_"
        done.seconds |= {f"{mark}decode" if name == "decode" else name: seconds for name, seconds in part.seconds.items()}
    return done


def _videos(task: ExtractionTask) -> list[tuple[Clip | None, list[str]]]:
    """The videos to extract from, with their roles: the generated video, and the ground truth (None where there is none)."""
    own = [role for role in task.roles if role not in GT_ROLES]
    of_truth = [role for role in task.roles if role in GT_ROLES]
    truth = truth_as_clip(task.clip) if task.clip.ground_truth or task.clip.gt_poses else None
    return [(task.clip, own)] + ([(truth, of_truth)] if of_truth else [])


@dataclass
class _Found:
    """The rows and artifacts of a clip in the store; for missing roles the backend, the producer and the input hash."""

    rows: dict[str, dict[str, Any]]
    known: dict[str, Artifact]
    missing: dict[str, tuple[BackendSpec, Producer, str]]


def _look_up(clip: Clip, roles: Sequence[str], params: RunParams) -> _Found:
    """What the store has of a clip. No backend is built for this, so a finished clip loads no model."""
    store, found = ArtifactStore(params.paths.artifacts), _Found({}, {}, {})
    specs: dict[str, BackendSpec] = {}
    for role in roles:
        if (why := clip.extras.get(REFUSED, {}).get(role)) and named_backend(role, params, clip.benchmark) is None:
            detail = f"the file that was named for this clip is refused: {why}; mend it, or name a backend of the role '{role}'"
            found.rows[role] = _row(clip, role, None, "", Made(None, str(Reason.INVALID_INPUT), detail))
            continue
        try:
            specs[role] = backend_for(role, clip, params)
        except BackendUnavailable as error:
            found.rows[role] = _row(clip, role, None, "", Made(None, str(Reason.BACKEND_UNAVAILABLE), str(error)))
    keys: dict[str, str] = {}
    needs = {role: tuple(spec.build.requires) for role, spec in specs.items()}  # type: ignore[attr-defined]
    for role in (role for rank in rounds(needs) for role in rank):
        producer = producer_of(role, specs[role], params, clip.benchmark)
        inputs = input_hash(clip, {need: keys.get(need, "absent") for need in needs[role]}, role)
        keys[role] = producer.key(inputs)
        absent = next((row for need in needs[role] if (row := found.rows.get(need)) and row["reason"]), None)
        if absent is not None:
            found.rows[role] = _row(clip, role, producer, inputs, built_on(absent["role"], absent["reason"], absent["detail"]))
            continue
        entry = store.load(producer, inputs)
        made = None if entry is None else _stored(role, entry)
        if made is None:
            found.missing[role] = (specs[role], producer, inputs)
            continue
        found.rows[role] = _row(clip, role, producer, inputs, made)
        if made.artifact is not None:
            found.known[role] = made.artifact
    return found


def _stored(role: str, entry: Entry) -> Made | None:
    """The result in an entry of the store. None when the entry does not fit its role; the artifact is then made again."""
    if reason := entry.record.get("missing"):
        return Made(None, reason["reason"], reason["detail"])
    kind = kind_of(role)
    try:
        return Made(kind.unpack(entry))
    except ContractError:
        return None


def _make(clip: Clip, roles: Sequence[str], found: _Found, params: RunParams) -> Extracted:
    """The rows of all roles. Artifacts that the store did not have are made and stored."""
    made: dict[str, Made] = {}
    backends: dict[str, Backend] = {}
    for role, (spec, _, _) in found.missing.items():
        try:
            backends[role] = built(spec, params, clip.benchmark)
        except BackendUnavailable as error:
            made[role] = Made(None, str(Reason.BACKEND_UNAVAILABLE), str(error))
    seconds: dict[str, float] = {}
    changed = changed_since_curation(clip) if backends else ""
    if changed:
        made |= {role: Made(None, str(Reason.INVALID_INPUT), changed) for role in backends}
    elif backends:
        results, decoding = extract_clip(clip, backends, found.known, made)
        made |= results
        seconds = {**{role: result.seconds for role, result in results.items()}, "decode": decoding}
    store, rows = ArtifactStore(params.paths.artifacts), dict(found.rows)
    for role, (_, producer, inputs) in found.missing.items():
        if not changed and can_be_read(clip):
            _keep(store, producer, inputs, made[role])
        rows[role] = _row(clip, role, producer, inputs, made[role])
    return Extracted([rows[role] for role in roles], seconds)


def backend_for(role: str, clip: Clip, params: RunParams) -> BackendSpec:
    """The backend of a role for this clip. A file beside the clip is preferred unless the run names a backend."""
    served = GT_ROLES.get(role, role)
    if named_backend(served, params, clip.benchmark) is None and given_file(served, clip) is not None:
        return BACKENDS.get(f"{served}=files")
    return choose_backend(served, params, clip.benchmark)


def _keep(store: ArtifactStore, producer: Producer, inputs: str, made: Made) -> None:
    """Store the artifact, or the reason why there is none. A failure that may not happen again is not stored."""
    if made.artifact is not None:
        entry = made.artifact.pack()
        store.save(producer, inputs, entry.arrays, entry.record)
    elif made.reason not in {Reason.BACKEND_FAILED, Reason.BACKEND_UNAVAILABLE}:
        store.save(producer, inputs, {}, {"missing": {"reason": made.reason, "detail": made.detail}})


def _row(clip: Clip, role: str, producer: Producer | None, inputs: str, made: Made) -> dict[str, Any]:
    artifact = made.artifact
    record = {} if artifact is None else artifact.record
    return {
        **dict(zip(KEYS, clip.key, strict=True)),
        "role": role,
        "stored": producer.key(inputs) if producer is not None and artifact is not None else "",
        "reason": made.reason,
        "detail": made.detail,
        "n_frames": None if artifact is None else artifact.n_frames,
        "summary": json.dumps(_small(record), sort_keys=True),
        "backend": producer.backend if producer else "",
        "version": producer.version if producer else "",
        "weights": producer.weights if producer else "",
        "params_hash": producer.params_hash if producer else "",
        "input_hash": inputs,
    }


def _small(record: dict[str, Any]) -> dict[str, Any]:
    """The plain facts of the record, for tables."""
    return {name: value for name, value in record.items() if isinstance(value, int | float | str | bool)}
