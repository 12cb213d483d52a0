"""Inspect one clip's files: video, camera files, ground truth. A pure function of the clip; runs in worker processes.

Validation prints the violations found here. Curation writes them into the table `rejected` and keeps what is usable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lookback.clips import KEYS, Anchor, Clip
from lookback.curation.camera_files import CameraFiles, check_given_files, inspect_cameras
from lookback.curation.probing import Cache, Facts, facts_of
from lookback.curation.segments import segments_of
from lookback.errors import MediaError, Reason
from lookback.layouts.reading import Breach, ClipRef, Findings, Violation, emptied, refused
from lookback.media import content_hash, probe
from lookback.paths import resolve
from lookback.registry import BENCHMARKS
from lookback.workers import WorkerDied, run_tasks

BATCH, MIN_BATCHES = (
    16,
    8,
)  # clips that a worker gets at once; with fewer batches per worker than this, clips are handed out one by one

LEAST_RATE = 0.25  # of the ground truth's frames, for a video that lasts as long
LEAST_AREA = 0.01  # of the ground truth's picture; models make a thirtieth of it


@dataclass(frozen=True)
class ClipToInspect:
    """One clip to inspect; `digest` is its content hash when that is known already."""

    clip: Clip
    digest: str = ""
    cache: Cache | None = None


@dataclass
class Inspection:
    """What was found. `clip` is None when the video itself cannot be used."""

    clip: Clip | None
    digest: str = ""
    screen: dict[str, Any] = field(default_factory=dict)
    segments: list[dict[str, Any]] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)


def inspect(task: ClipToInspect) -> Inspection:
    """Probe the video, check everything the clip refers to, screen it."""
    try:
        return _inspect(task)
    except OSError as error:  # a file beside the video that no other check has reported
        problem = f"cannot be read ({error.strerror or error})"
        place = str(error.filename or task.clip.video)
        lost = Violation(place, "file", problem, "check its permissions", Reason.MISSING_INPUT, item=ClipRef.of(task.clip))
        return Inspection(None, violations=[lost])


def _inspect(task: ClipToInspect) -> Inspection:
    clip, findings = task.clip, Findings()
    item = ClipRef.of(clip)
    video = resolve(clip.video)
    digest = ""
    try:
        digest = task.digest or content_hash(video)
        facts = facts_of(video, digest, task.cache)
    except MediaError as error:
        findings.add(media_breach(video, "video", error), item=item)
        return Inspection(None, digest, violations=findings.violations)
    seen = {"n_frames": facts.n_frames, "width": facts.width, "height": facts.height, "content_hash": digest}
    clip = clip.model_copy(update={**seen, "fps": facts.fps or clip.fps})  # a folder of frames has none of its own
    truth = _ground_truth(clip, findings, item)
    clip = _checked_timing(clip, truth, findings, item)
    clip = _checked_anchor(clip, findings, item)
    cameras = inspect_cameras(clip, facts, truth, findings, item)
    check_given_files(clip, facts, findings, item)
    _check_mirror(clip, findings, item)
    for violation in findings.violations:
        if violation.concerns and not violation.kept:
            clip = refused(emptied(clip, violation.concerns), violation)
    asked = {"camera": BENCHMARKS.get(clip.benchmark).camera_request(clip), "shortfall": shortfall(clip, facts, truth, cameras)}
    clip = clip.model_copy(update=asked)
    screen = _screen(clip, facts, truth, cameras, findings)
    return Inspection(clip, digest, screen, segments_of(clip, facts.cuts), findings.violations)


def inspect_all(tasks: Sequence[ClipToInspect], workers: int) -> Iterator[tuple[int, Inspection]]:
    """(index, inspection) of every task, in the order they finish. A clip that kills its worker is a violation."""
    size = BATCH if len(tasks) >= MIN_BATCHES * BATCH * workers else 1
    batches = [range(start, min(start + size, len(tasks))) for start in range(0, len(tasks), size)]
    suspects: list[int] = []
    for number, found in run_tasks(inspect_batch, [[tasks[i] for i in batch] for batch in batches], workers):
        if not isinstance(found, WorkerDied):
            yield from zip(batches[number], found, strict=True)
        elif size > 1:
            suspects += batches[number]
        else:
            yield batches[number][0], _died(tasks[batches[number][0]].clip, found)
    for number, lone in run_tasks(inspect, [tasks[i] for i in suspects], workers):
        yield suspects[number], _died(tasks[suspects[number]].clip, lone) if isinstance(lone, WorkerDied) else lone


def inspect_batch(tasks: Sequence[ClipToInspect]) -> list[Inspection]:
    """Several clips in one call: with ten thousand clips, handing over each alone would cost as much as inspecting it."""
    return [inspect(task) for task in tasks]


def _died(clip: Clip, death: WorkerDied) -> Inspection:
    lost = Violation(clip.video, "video", death.message, "check the file", Reason.DECODE_FAILED, item=ClipRef.of(clip))
    return Inspection(None, violations=[lost])


def media_breach(path: Path, field: str, error: MediaError) -> Breach:
    """A MediaError ('path: what; remedy') as a breach."""
    text = str(error).removeprefix(f"{path}: ").removeprefix(f"{path}/")  # of a frame folder it may name one frame
    problem, _, remedy = text.rpartition("; ")
    return Breach(path, field, problem or text, remedy if problem else "copy or generate it again", error.reason)


def _ground_truth(clip: Clip, findings: Findings, item: ClipRef) -> Facts | None:
    """The ground truth's facts, without its cuts: it is probed and not decoded."""
    if clip.ground_truth is None:
        return None
    path = resolve(clip.ground_truth)
    try:
        info = probe(path)
    except MediaError as error:
        findings.add(media_breach(path, "ground_truth", error), "ground_truth", item)
        return None
    return Facts(info.n_frames, info.fps, info.width, info.height, info.duration, info.variable_frame_rate, ())


def _checked_timing(clip: Clip, truth: Facts | None, findings: Findings, item: ClipRef) -> Clip:
    """Check phases and mark_time against the real length of the ground truth."""
    if truth is None:
        return clip
    path = resolve(clip.ground_truth or clip.video)
    if clip.gt_frames is not None and clip.gt_frames != truth.n_frames:
        source = BENCHMARKS.get(clip.benchmark).length_field
        problem = f"is {clip.gt_frames}, but the ground truth has {truth.n_frames} frames"
        breach = Breach(
            resolve(clip.actions) if clip.actions else path, source, problem, "correct the number", Reason.LENGTH_MISMATCH
        )
        findings.add(breach, "gt_frames", item, kept=True)
    # a prediction from mark_time on ends at the length that its own file states, if the ground truth is longer than that
    stated = truth.n_frames if clip.mark_time is None or clip.gt_frames is None else clip.gt_frames
    clip = clip.model_copy(update={"gt_frames": min(stated, truth.n_frames)})
    if clip.r_start is not None and clip.r_start >= truth.n_frames:
        problem = f"is {clip.r_start}, but the ground truth has {truth.n_frames} frames"
        findings.add(Breach(path, "r_start", problem, "give a frame inside the ground truth"), "r_start", item)
        clip = clip.model_copy(update={"d_start": None})
    if clip.mark_time is not None and clip.mark_time >= truth.n_frames:
        problem = f"is {clip.mark_time}, but the ground truth has {truth.n_frames} frames"
        findings.add(Breach(path, "mark_time", problem, "mark a frame inside the ground truth"), "mark_time", item)
    return clip


def _checked_anchor(clip: Clip, findings: Findings, item: ClipRef) -> Clip:
    """The clip with its anchor in pixels, inside the frame. An anchor given as shares (all four at most 1) is scaled."""
    anchor = clip.object_anchor
    if anchor is None or clip.width is None or clip.height is None:
        return clip
    if max(anchor.centre_x, anchor.centre_y, anchor.width, anchor.height) <= 1:
        sizes = (clip.width, clip.height, clip.width, clip.height)
        values = zip(Anchor.model_fields, anchor.model_dump().values(), sizes, strict=True)
        return clip.model_copy(update={"object_anchor": Anchor(**{name: value * size for name, value, size in values})})
    if anchor.centre_x >= clip.width or anchor.centre_y >= clip.height:
        problem = f"has its centre at {anchor.centre_x:g}, {anchor.centre_y:g}, outside the {clip.width}x{clip.height} frame"
        source = BENCHMARKS.get(clip.benchmark).anchor_field
        breach = Breach(resolve(clip.video), source, problem, "give the anchor in pixels of the first frame")
        findings.add(breach, "object_anchor", item)
    return clip


def _check_mirror(clip: Clip, findings: Findings, item: ClipRef) -> None:
    if clip.subset == "mirror_test" and clip.n_frames is not None and clip.n_frames % 2:
        problem = f"has {clip.n_frames} frames, and the way back must be as long as the way there"
        breach = Breach(resolve(clip.video), "video", problem, "generate an even number of frames", Reason.LENGTH_MISMATCH)
        findings.add(breach, "video", item, kept=True)


def _screen(clip: Clip, facts: Facts, truth: Facts | None, cameras: CameraFiles, findings: Findings) -> dict[str, Any]:
    mismatches = [f"{v.field} {v.problem}" for v in findings.violations if v.kept]
    return {
        **dict(zip(KEYS, clip.key, strict=True)),
        "duration_s": facts.duration_s,
        "n_cuts": len(facts.cuts),
        **cameras.screen(clip, facts),
        "mismatch": "; ".join([*truth_mismatches(clip, facts, truth), *mismatches]),
        "duplicate_of": "",
    }


def truth_mismatches(clip: Clip, facts: Facts, truth: Facts | None) -> list[str]:
    """Differences of length and rate from the ground truth, in words. A different length is common; the clip is still scored."""
    if truth is None:
        return []
    expected = _expected_frames(clip, truth)
    found = []
    if facts.n_frames != expected:
        part = "" if not clip.mark_time else f" from frame {clip.mark_time}"
        found.append(f"{facts.n_frames} frames, ground truth{part} {expected}")
    if facts.fps and truth.fps and abs(facts.fps - truth.fps) > 0.01:
        found.append(f"{facts.fps:g} fps, ground truth {truth.fps:g}")
    return found


def _expected_frames(clip: Clip, truth: Facts) -> int:
    return (clip.gt_frames or truth.n_frames) - (clip.mark_time or 0)


def shortfall(clip: Clip, facts: Facts, truth: Facts | None, cameras: CameraFiles) -> str:
    """What the video lacks of what its task asks for, in words; empty where it is all there.

    The task is the ground truth or the path of the camera. A video whose frames are not compared one by one (no mark_time) may have
    a lower rate: down to LEAST_RATE of the ground truth's it is whole if it lasts as long.
    """
    if truth is not None and not BENCHMARKS.get(clip.benchmark).repeats_truth:
        truth = None
    expected = _expected_frames(clip, truth) if truth else 0 if cameras.target is None else len(cameras.target)
    lasts = bool(
        truth and facts.duration_s and truth.duration_s and facts.duration_s >= (1 - 1 / max(1, expected)) * truth.duration_s
    )
    slower = lasts and clip.mark_time is None and facts.n_frames >= LEAST_RATE * expected
    found = [f"{facts.n_frames} of {expected} frames"] if facts.n_frames < expected and not slower else []
    if truth and facts.width * facts.height < LEAST_AREA * truth.width * truth.height:
        found.append(f"{facts.width}x{facts.height} of {truth.width}x{truth.height} pixels")
    return ", ".join(found)
