"""Score the sample clips with every metric, and process them with every usable backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from lookback.backends.base import Backend, BackendOptions
from lookback.backends.choose import availability
from lookback.clips import Clip
from lookback.errors import BackendUnavailable, NotScorable, Reason, UsageError, hint
from lookback.extraction.identity import truth_as_clip
from lookback.extraction.onepass import Made, extract_clip
from lookback.judging.verdicts import JudgedClip
from lookback.media import encode, open_video, shrink
from lookback.media.container import open_stream
from lookback.paths import resolve
from lookback.progress import track
from lookback.registry import BACKENDS, METRICS, BackendSpec, MetricSpec, backends_of
from lookback.scoring.clip import score_clip
from lookback.scoring.contract import Item, ScoringClip
from lookback.selfcheck.clips import FPS, Sample
from lookback.selfcheck.judged import GEOMETRIC, WRITTEN, Verdicts, geometric_answers
from lookback.store import Entry

# MIND scores frames of 720 x 1280; a few of them are enough to compare numbers
CONSTANTS = {"video_max_time": 4, "lpips_every": 6}
CARRIED = ("pose", "depth")  # the clips have files of these roles; a reader of files that are not there computes nothing
Chosen = Mapping[str, BackendSpec]


@dataclass(frozen=True)
class Measured:
    """One number, or the reason why there is none, with its check, clip, backends and device."""

    check: str  # the name of a metric, `role=backend` for the output of a backend, or `media`
    clip: str
    part: str  # variant and phase of a metric; array and statistic of a backend
    backend: str
    device: str = "cpu"
    value: float | None = None
    reason: str = ""
    detail: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The key of the recorded value. All devices share one recorded value."""
        return (self.check, self.clip, self.part, self.backend)


def choose(named: Mapping[str, str]) -> tuple[dict[str, BackendSpec], list[BackendSpec]]:
    """(the first usable backend of each role, embedded ones first; all other usable ones). `named` fixes the backend of a role."""
    roles = sorted({spec.role for spec in BACKENDS})
    for role in named:
        if role not in roles:
            raise UsageError(f"There is no role '{role}'; {hint(role, roles)}")
    first: dict[str, BackendSpec] = {}
    others: list[BackendSpec] = []
    for role in roles:
        candidates = sorted(backends_of(role), key=lambda spec: not spec.embedded)
        if role not in CARRIED:
            candidates = [spec for spec in candidates if spec.name != "files"]
        if role in named:
            candidates = [BACKENDS.get(f"{role}={named[role]}")]
        usable = [spec for spec in candidates if availability(spec).usable]
        if usable:
            first[role] = usable[0]
            others += usable[1:]
    while lacking := [role for role, spec in first.items() if not first.keys() >= set(_requires(spec))]:
        first = {role: spec for role, spec in first.items() if role not in lacking}
    return first, [spec for spec in others if first.keys() >= {spec.role, *_requires(spec)}]


def measure(samples: Sequence[Sample], named: Mapping[str, str], scratch: Path, devices: Sequence[str]) -> list[Measured]:
    """Every number: media, then each backend and each metric, first with the first backends, then with each other backend."""
    first, others = choose(named)
    rows = list(_media(samples[0], scratch))
    rounds: list[tuple[Chosen, set[str], str]] = [(first, set(), "cpu")]
    rounds += [({**first, spec.role: spec}, {spec.role}, "cpu") for spec in others]
    networks = {role for role, spec in first.items() if spec.weights}
    rounds += [(first, networks, device) for device in devices if device != "cpu"]
    known: dict[str, dict[str, Made]] = {}
    steps = [(sample, *chosen) for chosen in rounds for sample in samples]
    for sample, chosen, changed, device in track(steps, "checking"):
        affected = (_affected(changed, chosen) if changed else set(chosen)) & sample.roles
        if changed and not affected:
            continue
        made = {role: entry for role, entry in known.get(sample.name, {}).items() if role not in affected}
        made |= _extract(sample, {role: chosen[role] for role in affected}, made, device)
        known.setdefault(sample.name, made)
        rows += _backend_rows(sample, affected, chosen, made, device)
        rows += _metric_rows(sample, chosen, made, affected if changed else None, device)
    return rows


def _affected(changed: set[str], chosen: Chosen) -> set[str]:
    """The roles that changed, and those that require them."""
    found = set(changed)
    while grown := {role for role, spec in chosen.items() if role not in found and found & set(_requires(spec))}:
        found |= grown
    return found


def _with_required(spec: BackendSpec, chosen: Chosen) -> set[str]:
    """The backend and those that it builds on: features of objects are other numbers with other masks."""
    below = [chosen[role] for role in _requires(spec) if role in chosen]
    return {spec.key}.union(*(_with_required(each, chosen) for each in below))


def _requires(spec: BackendSpec) -> tuple[str, ...]:
    return tuple(getattr(spec.build, "requires", ()))


def _extract(sample: Sample, chosen: Chosen, known: Mapping[str, Made], device: str) -> dict[str, Made]:
    """The artifact of each role, or the reason why there is none."""
    built: dict[str, Backend] = {}
    made: dict[str, Made] = {}
    for role, spec in chosen.items():
        try:
            built[role] = spec.build(BackendOptions(device=device))
        except BackendUnavailable as error:
            made[role] = Made(None, str(Reason.BACKEND_UNAVAILABLE), str(error))
    entries = {role: part.artifact for role, part in known.items() if part.artifact is not None}
    made |= extract_clip(sample.clip, built, entries, made)[0]
    if sample.clip.gt_poses and "gt_pose" not in known:
        files = BACKENDS.get("pose=files").build(BackendOptions())
        made["gt_pose"] = extract_clip(truth_as_clip(sample.clip), {"pose": files}, {})[0]["pose"]
    return made


def _backend_rows(sample: Sample, roles: set[str], chosen: Chosen, made: Mapping[str, Made], device: str) -> Iterator[Measured]:
    """Statistics of the arrays of each backend. A mean weighted by position shows when values are swapped."""
    for role in sorted(roles):
        spec = chosen[role]
        row = Measured(spec.key, sample.name, "", ",".join(sorted(_with_required(spec, chosen))), device)
        artifact = made[role].artifact
        if artifact is None:
            yield replace(row, reason=made[role].reason, detail=made[role].detail)
            continue
        for name, array in sorted(artifact.stored_arrays().items()):
            if array.dtype.kind in "biuf" and array.size:
                for statistic, value in _statistics(array).items():
                    yield replace(row, part=f"{name} {statistic}", value=value)


def _statistics(array: np.ndarray) -> dict[str, float]:
    flat = np.nan_to_num(array.astype(np.float64).ravel(), posinf=0.0, neginf=0.0)
    ramp = np.linspace(-1.0, 1.0, len(flat)) if len(flat) > 1 else np.ones(1)
    return {"size": float(len(flat)), "mean": float(flat.mean()), "spread": float(flat.std()), "slope": float((flat * ramp).mean())}


def _metric_rows(
    sample: Sample, chosen: Chosen, made: Mapping[str, Made], roles: set[str] | None, device: str
) -> Iterator[Measured]:
    """Every metric of every label of the clip. With `roles`, only metrics that use one of them."""
    tools: dict[str, Backend] = {}

    def load(role: str) -> Entry:
        part = made.get(role)
        if part is None:
            raise NotScorable(Reason.BACKEND_UNAVAILABLE, f"no backend of the role '{role}' is usable here")
        if part.artifact is None:
            raise NotScorable(part.reason, f"{role}: {part.detail}")
        return part.artifact.pack()

    def tool(role: str) -> Backend:
        if role not in chosen:
            raise NotScorable(Reason.BACKEND_UNAVAILABLE, f"no backend of the role '{role}' is usable here")
        if role not in tools:
            tools[role] = chosen[role].build(BackendOptions(device=device))
        return tools[role]

    for clip in sample.clips:
        # a metric that other benchmarks borrow is checked once, as its own benchmark's
        own = [spec for spec in METRICS if spec.benchmark == clip.benchmark]
        specs = [spec for spec in own if spec.applies_to(clip.benchmark, clip.setting, clip.subset)]
        wanted = [spec for spec in specs if roles is None or roles & {*spec.roles, *spec.tools}]
        shared: dict[object, object] = {}
        tasks = [
            (
                spec,
                ScoringClip(clip, variant, CONSTANTS, pd.DataFrame(), load, tool, shared, settings=spec.preset(variant, CONSTANTS)),
            )
            for spec in wanted
            if not spec.judge_tasks
            for variant in spec.variants
        ]
        for (spec, context), scored in zip(tasks, score_clip(tasks), strict=True):
            for item in scored.items:
                yield from _from_item(spec, sample.name, context.variant, item, _backends(spec, chosen), device)
        if roles is None:
            judged = [spec for spec in wanted if spec.judge_tasks]
            yield from _judged_rows(judged, sample.name, clip, sample.answers, WRITTEN)
            if gated := [spec for spec in judged if spec.judge_tasks == ("judgeability",)]:
                entries = {role: part.artifact for role, part in made.items() if part.artifact is not None}
                yield from _judged_rows(gated, sample.name, clip, geometric_answers(clip, entries), GEOMETRIC)


def _judged_rows(specs: Sequence[MetricSpec], name: str, clip: Clip, answers: Verdicts, judge: str) -> Iterator[Measured]:
    """The metrics that read the answers of a judge."""
    for spec in specs:
        for variant in spec.variants:
            try:
                item = spec.score(JudgedClip(clip, variant, answers, settings=spec.preset(variant, CONSTANTS)))
            except NotScorable as missing:
                item = Item(reason=str(missing.reason), detail=missing.detail)
            yield from _from_item(spec, name, variant, item, judge)


def _backends(spec: MetricSpec, chosen: Chosen) -> str:
    named = {role: chosen[role].name if role in chosen else "none" for role in (*spec.roles, *spec.tools) if role != "gt_pose"}
    return ",".join(f"{role}={name}" for role, name in sorted(named.items())) or "none"


def _from_item(spec: MetricSpec, clip: str, variant: str, item: Item, backend: str, device: str = "cpu") -> Iterator[Measured]:
    """The value, and its raw number where that differs, because a score that is limited to 1 hides differences."""
    if item.reason == Reason.NOT_APPLICABLE:
        return
    part = " ".join(filter(None, [variant, item.phase]))
    row = Measured(spec.name, clip, part, backend, device, item.value, str(item.reason), item.detail)
    yield row
    if item.raw is not None and item.raw != item.value:
        yield replace(row, part=f"{part} raw", value=item.raw)


def _media(sample: Sample, scratch: Path) -> Iterator[Measured]:
    """The decoder and resizing. A lossless file gives the same frames, an H.264 file the same planes and nearly the same RGB."""
    with open_video(resolve(sample.clip.video)) as reader:
        frames = reader.read(np.arange(8))
    files = {
        "ffv1": encode(scratch / "lossless.mkv", frames, FPS, codec="ffv1", crf=None, pix_fmt="bgr0"),
        "h264": encode(scratch / "lossy.mp4", frames, FPS),
    }
    row = Measured("media", sample.name, "", "none")
    for name, file in files.items():
        with open_video(file) as reader:
            decoded = reader.read(np.arange(len(frames)))
        yield replace(row, part=f"{name} mean difference", value=float(np.abs(decoded.astype(int) - frames).mean()))
    with open_stream(files["h264"]) as (container, stream):
        planes = np.stack([frame.to_ndarray() for frame in container.decode(stream)])
    yield from (replace(row, part=f"h264 planes {name}", value=value) for name, value in _statistics(planes).items())
    small = np.stack([shrink(frame, 100) for frame in frames])
    yield from (replace(row, part=f"shrink {name}", value=value) for name, value in _statistics(small).items())
