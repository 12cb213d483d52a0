"""Score all clips of a run: choose the metrics of each clip, reuse stored scores, and spread the rest over workers."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

from lookback.artifacts import entry_of
from lookback.backends.choose import choose_backend, precision_named
from lookback.backends.files import given_file
from lookback.clips import KEYS, Clip, clips_from_frame
from lookback.code import version_of
from lookback.devices import all_devices
from lookback.errors import BackendUnavailable, NotScorable, Reason, UsageError
from lookback.executors import WorkerDied, executor_of
from lookback.extraction.built import built
from lookback.extraction.identity import can_be_read, changed_since_curation, file_hash, producer_of
from lookback.files import sha256_json
from lookback.names import listing
from lookback.params import RunParams
from lookback.paths import resolve
from lookback.progress import say, track
from lookback.registry import METRICS, MetricSpec
from lookback.scoring.clip import missing, score_clips
from lookback.scoring.contract import Item, Scored, ScoringClip, Unit, noted
from lookback.scoring.decode import DECODE, Spent
from lookback.scoring.variants import scored_variants
from lookback.store import ArtifactStore, Entry, Producer
from lookback.tables import PROVENANCE

FILES = ("ground_truth", "target_poses", "actions")  # files beside the video that a metric may read
MENDABLE = (Reason.BACKEND_FAILED, Reason.BACKEND_UNAVAILABLE)  # not stored, because another run may succeed
GROUP = 8  # clips of one ground truth that are decoded in step: each holds a decoder and a few frames
LPIPS_FRAMES_ON_CPU = 16  # of a clip, where the parameters leave it to the device
SERVING = "lookback.scoring.clip"  # the code that brings pixels to a metric
Results = dict[tuple[str, str], tuple[Scored, Producer, str]]


@dataclass(frozen=True)
class ScoringTask:
    """Everything that is needed to score one clip, as plain data."""

    clip: Clip
    metrics: tuple[tuple[str, str], ...]  # (name, variant)
    artifacts: tuple[dict[str, Any], ...]  # this clip's rows of the artifacts table
    segments: tuple[dict[str, Any], ...]
    params: RunParams


@dataclass(frozen=True)
class ScoredClip:
    """One clip's rows, and the seconds of metrics not in the store (`name variant` -> seconds; "decode" is the rest)."""

    units: list[dict[str, Any]]
    items: list[dict[str, Any]]
    seconds: dict[str, float]


def applicable(clip: Clip, wanted: Sequence[str]) -> list[MetricSpec]:
    """The metrics of the clip's benchmark, setting and subset that look at pixels or artifacts (judged ones come later)."""
    return [
        spec
        for spec in METRICS
        if not spec.judge_tasks
        and (not wanted or spec.name in wanted)
        and spec.applies_to(clip.benchmark, clip.setting, clip.subset)
    ]


def check_metrics(names: Sequence[str], clips: pd.DataFrame) -> list[str]:
    """Which of the metrics (judged ones included) apply to no clip. UsageError for unknown names, and when none applies."""
    specs = [METRICS.get(name) for name in names]
    kinds = list(clips[["benchmark", "setting", "subset"]].drop_duplicates().itertuples(index=False, name=None))
    idle = [spec.name for spec in specs if kinds and not any(spec.applies_to(*kind) for kind in kinds)]
    if idle and len(idle) == len(specs):
        raise UsageError(f"None of the metrics {', '.join(names)} applies to these clips; see lookback list-metrics")
    return idle


def score_run(
    params: RunParams,
    clips: pd.DataFrame,
    segments: pd.DataFrame,
    artifacts: pd.DataFrame,
    spent_on_clip: Callable[[list[dict[str, Any]]], None] = lambda rows: None,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """(units, items, timings) of every clip and applicable metric; timings: seconds of every part that was not in the store.

    `spent_on_clip` is called with the timings of every clip as it is done.
    """
    if idle := check_metrics(params.scoring.metrics, clips):
        say(f"Not scored, because no clip is of the kind that they are for: {listing(idle)}")
    tasks = list(_tasks(params, clips, segments, artifacts))
    units: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    for task, done in track(_scored(params, tasks), "scoring", total=len(tasks)):
        units += done.units
        items += done.items
        keys = dict(zip(KEYS, task.clip.key, strict=True))
        timings += (own := [{**keys, "part": part, "seconds": seconds} for part, seconds in done.seconds.items()])
        spent_on_clip(own)
    return pd.DataFrame(units), pd.DataFrame(items), pd.DataFrame(timings, columns=[*KEYS, "part", "seconds"])


def _scored(params: RunParams, tasks: Sequence[ScoringTask]) -> Iterator[tuple[ScoringTask, ScoredClip]]:
    """Every clip with its rows, group by group. Where a group killed its worker, its clips are tried again one by one."""
    groups = grouped(tasks, params.workers)
    alone: list[ScoringTask] = []
    for number, result in executor_of(params).run(score_group, groups):
        if not isinstance(result, WorkerDied):
            yield from zip(groups[number], result, strict=True)
        elif len(groups[number]) > 1:
            alone += groups[number]
        else:
            yield groups[number][0], _dead(groups[number][0], result.message)
    for index, one in executor_of(params).run(score_task, alone):
        yield alone[index], _dead(alone[index], one.message) if isinstance(one, WorkerDied) else one


def grouped(tasks: Sequence[ScoringTask], workers: int) -> list[list[ScoringTask]]:
    """The clips of one ground truth in groups, as large as GROUP and an even share of the workers allow; others are alone."""
    most = min(GROUP, -(-len(tasks) // max(1, workers)))
    groups: list[list[ScoringTask]] = []
    open_groups: dict[str, list[ScoringTask]] = {}
    for task in tasks:
        truth = task.clip.ground_truth
        group = open_groups.get(truth) if truth else None
        if group is None or len(group) >= most:
            group = []
            groups.append(group)
            if truth:
                open_groups[truth] = group
        group.append(task)
    return groups


def _tasks(params: RunParams, clips: pd.DataFrame, segments: pd.DataFrame, artifacts: pd.DataFrame) -> Iterator[ScoringTask]:
    rows_of = {name: _by_clip(frame) for name, frame in (("segments", segments), ("artifacts", artifacts))}
    for clip in clips_from_frame(clips):
        chosen = tuple(
            (spec.name, variant) for spec in applicable(clip, params.scoring.metrics) for variant in scored_variants(spec, params)
        )
        yield ScoringTask(clip, chosen, rows_of["artifacts"].get(clip.key, ()), rows_of["segments"].get(clip.key, ()), params)


def _by_clip(frame: pd.DataFrame) -> dict[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in frame.to_dict("records"):
        found.setdefault(tuple(row[name] for name in KEYS), []).append(row)
    return {key: tuple(rows) for key, rows in found.items()}


def score_task(task: ScoringTask) -> ScoredClip:
    """Rows of units and items for one clip; metrics the store already holds are not scored again."""
    return score_group([task])[0]


def score_group(tasks: Sequence[ScoringTask]) -> list[ScoredClip]:
    """The rows of clips that share a ground truth, in one pass over it."""
    prepared = [_prepared(task) for task in tasks]
    scored = score_clips([clip.metrics for clip in prepared], [clip.spent for clip in prepared])
    return [_stored(clip, results) for clip, results in zip(prepared, scored, strict=True)]


@dataclass
class _Prepared:
    """A clip with what the store holds of it, and what is to be scored."""

    task: ScoringTask
    store: ArtifactStore
    known: Results
    fresh: list[tuple[MetricSpec, ScoringClip, Producer, str]]
    changed: str  # how the file differs from what curation saw: then nothing is scored
    spent: Spent

    @property
    def metrics(self) -> list[tuple[MetricSpec, ScoringClip]]:
        return [] if self.changed else [(spec, context) for spec, context, _, _ in self.fresh]


def _prepared(task: ScoringTask) -> _Prepared:
    started = time.perf_counter()
    store = ArtifactStore(task.params.paths.artifacts)
    known: Results = {}
    fresh: list[tuple[MetricSpec, ScoringClip, Producer, str]] = []
    shared: dict[Any, Any] = {}
    for name, variant in task.metrics:
        spec = METRICS.get(name)
        producer, inputs = _identity(spec, variant, task)
        record = store.record(producer, inputs)
        if record is not None:
            known[name, variant] = (_from_record(record), producer, inputs)
        else:
            fresh.append((spec, _context(spec, variant, task, store, shared), producer, inputs))
    changed = changed_since_curation(task.clip) if fresh else ""
    spent: Spent = defaultdict(float)
    if fresh:
        spent[DECODE] = time.perf_counter() - started
    return _Prepared(task, store, known, fresh, changed, spent)


def _stored(clip: _Prepared, scored: list[Scored]) -> ScoredClip:
    """Keep the new results, and give all of them as rows."""
    if clip.changed:
        scored = [missing(spec, Reason.INVALID_INPUT, clip.changed) for spec, *_ in clip.fresh]
    for found, (spec, context, producer, inputs) in zip(scored, clip.fresh, strict=True):
        notes = "; ".join(filter(None, (context.shared.get(("notes", role)) for role in sorted(context.used))))
        result = replace(found, items=[noted(item, notes) for item in found.items])
        mendable = any(item.reason in MENDABLE for item in result.items)
        if not clip.changed and can_be_read(clip.task.clip) and not mendable:
            clip.store.save(producer, inputs, {}, asdict(result))
        clip.known[spec.name, context.variant] = (result, producer, inputs)
    return ScoredClip(*_rows(clip.task, clip.known), clip.spent)


def _identity(spec: MetricSpec, variant: str, task: ScoringTask) -> tuple[Producer, str]:
    """The producer (code, variant, constants, backends) and a hash of the inputs (the clip's row, files and artifacts)."""
    tools = {role: _tool_identity(role, task.params, task.clip.benchmark) for role in spec.tools}
    constants = run_constants(task.params)
    made_by = [[role, tool.version, tool.params_hash] for role, tool in tools.items()]
    settings = sha256_json([variant, spec.preset(variant, constants), dict(task.params.scoring.constants), made_by])
    rows = {row["role"]: row for row in task.artifacts if row["role"] in spec.roles}
    named = {role: tool.backend for role, tool in tools.items()} | {role: row["backend"] or "none" for role, row in rows.items()}
    sampled = constants.get("lpips_frames", 0) if "lpips_frames" in spec.constants else 0
    rounded = {precision_named(role, name, task.params, task.clip.benchmark) for role, name in named.items()} - {"fp32"}
    named |= {"precision": "+".join(sorted(rounded))} if rounded else {}
    named |= {"lpips_frames": f"{sampled:g}"} if sampled else {}  # so that every table that shows the score says so
    backends = ",".join(f"{role}={name}" for role, name in sorted(named.items()))
    weights = ",".join(sorted({*(row["weights"] for row in rows.values()), *(tool.weights for tool in tools.values())} - {""}))
    code = version_of(spec.score, SERVING)
    producer = Producer("score", spec.name, code, settings, f"{backends or 'none'};{weights}")
    files = [file_hash(resolve(path)) for name in FILES if (path := getattr(task.clip, name))]
    files += [file_hash(path) for role in spec.tools if (path := given_file(role, task.clip))]
    made = [(role, row["stored"], row["reason"]) for role, row in rows.items()]
    return producer, sha256_json([task.clip.model_dump(mode="json"), files, made, list(task.segments)])


def run_constants(params: RunParams) -> dict[str, float]:
    """The constants of the run, with `lpips_frames` (0: all) as its parameters and its device decide it.

    The number is part of a score's identity, so a sampled score never stands for one of all frames.
    """
    constants, wanted = params.scoring.constants, params.scoring.lpips_frames
    if wanted == "all" or {"lpips_every", "lpips_frames"} & set(constants):
        return dict(constants)
    if wanted != "auto":
        return {**constants, "lpips_frames": wanted}
    released = params.scoring.variant == "official" or params.profile == "paper"  # who asks for the release's number gets it
    if released or all_devices(params.device) != ["cpu"]:
        return dict(constants)
    return {**constants, "lpips_frames": LPIPS_FRAMES_ON_CPU}


def _tool_identity(role: str, params: RunParams, benchmark: str) -> Producer:
    """The identity of a backend that a metric calls directly: version, options and weights."""
    try:
        return producer_of(role, choose_backend(role, params, benchmark), params, benchmark)
    except BackendUnavailable:
        return Producer(role, "none", "")


def _context(spec: MetricSpec, variant: str, task: ScoringTask, store: ArtifactStore, shared: dict[Any, Any]) -> ScoringClip:
    rows = {row["role"]: row for row in task.artifacts}

    def load(role: str) -> Entry:
        row = rows.get(role)
        if row is None:
            raise NotScorable(Reason.MISSING_INPUT, f"the extraction stage was not asked for '{role}'")
        if row["reason"]:
            raise NotScorable(row["reason"], f"{role}: {row['detail']}")
        entry = entry_of(store, row)
        if entry is None:
            raise NotScorable(Reason.MISSING_INPUT, f"the artifact '{role}' is gone from the store; run the extraction stage again")
        return entry

    segments, constants = pd.DataFrame(task.segments), run_constants(task.params)
    return ScoringClip(
        task.clip,
        variant,
        constants,
        segments,
        load,
        lambda role: _tool(role, task.params, task.clip.benchmark),
        shared,
        settings=spec.preset(variant, constants),
    )


def _tool(role: str, params: RunParams, benchmark: str) -> Any:
    """The role's backend."""
    try:
        return built(choose_backend(role, params, benchmark), params, benchmark)
    except BackendUnavailable as error:
        raise NotScorable(Reason.BACKEND_UNAVAILABLE, str(error)) from None


def _from_record(record: dict[str, Any]) -> Scored:
    return Scored([Item(**item) for item in record["items"]], [Unit(**unit) for unit in record["units"]])


def _rows(task: ScoringTask, results: Results) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    keys = dict(zip(KEYS, task.clip.key, strict=True))
    units, items = [], []
    for (name, variant), (result, producer, inputs) in results.items():
        backend, _, weights = producer.weights.partition(";")
        origin = dict(zip(PROVENANCE, (backend, producer.version, weights, producer.params_hash[:16], inputs[:16]), strict=True))
        common = {**keys, "metric": name, "variant": variant}
        units += [{**common, **asdict(unit)} for unit in result.units]
        items += [{**common, **asdict(noted(item, task.clip.shortfall)), **origin} for item in result.items]
    return units, items


def _dead(task: ScoringTask, message: str) -> ScoredClip:
    nobody = Producer("score", "", "")
    dead = {chosen: missing(METRICS.get(chosen[0]), Reason.BACKEND_FAILED, message) for chosen in task.metrics}
    rows = _rows(task, {chosen: (scored, nobody, "") for chosen, scored in dead.items()})
    return ScoredClip(*rows, {})
