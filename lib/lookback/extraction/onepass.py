"""Decode a clip once and give every frame to all jobs that want it. Jobs that require other roles get their frames afterwards."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lookback.artifacts import Artifact
from lookback.backends.base import Backend, Job
from lookback.clips import Clip
from lookback.errors import LookbackError, MediaError
from lookback.media import VideoReader, open_video
from lookback.media.ahead import ahead
from lookback.paths import resolve
from lookback.reasons import not_scorable

BATCH = 8  # frames pushed together
AHEAD = 4  # such groups are decoded ahead of a GPU
FRAME_CACHE_BYTES = 512 * 2**20  # of decoded frames, kept for later jobs; of larger clips the wanted frames are read again


@dataclass(frozen=True)
class Made:
    """The result of a role: an artifact or the reason why there is none, and the seconds it took."""

    artifact: Artifact | None
    reason: str = ""
    detail: str = ""
    seconds: float = 0.0


def built_on(role: str, reason: str, detail: str) -> Made:
    """The result of a role that requires this one, which has no artifact: for the same reason, as it found out nothing itself."""
    return Made(None, reason, f"it builds on the role '{role}': {detail}")


def extract_clip(
    clip: Clip, backends: Mapping[str, Backend], known: Mapping[str, Artifact], absent: Mapping[str, Made] | None = None
) -> tuple[dict[str, Made], float]:
    """The result of every role, and the seconds of decoding.

    Of the roles that others require, `known` are the artifacts from the store, and `absent` says why there is none.
    """
    made = dict(absent or {})
    try:
        with open_video(resolve(clip.video)) as reader:
            order = rounds({role: backend.requires for role, backend in backends.items()})
            cache = _FrameCache(reader, needed=len(order) > 1)
            for number, roles in enumerate(order):
                artifacts = {**known, **{role: result.artifact for role, result in made.items() if result.artifact is not None}}
                running = _start(roles, backends, clip, reader, artifacts, made)
                if number == 0:
                    _stream(reader, running, cache)
                else:
                    _feed(running, cache)
                for role, clock in running.items():
                    made[role] = _finish(clock)
            return made, cache.seconds
    except MediaError as error:
        failed = _failed(error)
        return {role: made.get(role, failed) for role in backends}, 0.0


@dataclass
class _Clocked:
    """A job and the seconds it has taken."""

    job: Job
    on_gpu: bool
    seconds: float = 0.0
    failure: Made | None = None

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        if self.failure is not None or not len(indices):
            return
        started = time.perf_counter()
        try:
            self.job.push(indices, frames)
        except Exception as error:  # an error in one role must not stop the others
            self.failure = _failed(error)
        self.seconds += time.perf_counter() - started


class _FrameCache:
    """The decoded frames of a clip that is small enough to keep. For larger clips the reader decodes the wanted frames again."""

    def __init__(self, reader: VideoReader, needed: bool):
        info = reader.info
        self.reader = reader
        self.keeps = needed and info.n_frames * info.width * info.height * 3 <= FRAME_CACHE_BYTES
        self.frames: dict[int, np.ndarray] = {}
        self.seconds = 0.0

    def put(self, indices: np.ndarray, frames: np.ndarray) -> None:
        if self.keeps:
            self.frames.update(zip(indices.tolist(), frames, strict=True))

    def get(self, indices: np.ndarray) -> np.ndarray:
        if all(int(index) in self.frames for index in indices):
            return np.stack([self.frames[int(index)] for index in indices])
        started = time.perf_counter()
        frames = self.reader.read(indices)
        self.seconds += time.perf_counter() - started
        return frames


def rounds(requires: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Groups of roles in the order they can run, given what each requires: first those that require nothing, and so on.

    A required role that is not among the roles (it is known already, or unavailable) is ignored.
    """
    first = [role for role, needs in requires.items() if not needs]
    order, done = [first], set(first)
    while len(done) < len(requires):
        ready = [
            role for role, needs in requires.items() if role not in done and {need for need in needs if need in requires} <= done
        ]
        if not ready:
            raise LookbackError(f"These roles require each other in a circle: {', '.join(sorted(set(requires) - done))}")
        order.append(ready)
        done |= set(ready)
    return order


def _start(
    roles: Sequence[str],
    backends: Mapping[str, Backend],
    clip: Clip,
    reader: VideoReader,
    artifacts: Mapping[str, Artifact],
    made: dict[str, Made],
) -> dict[str, _Clocked]:
    running = {}
    for role in roles:
        lacking = next((need for need in backends[role].requires if need in made and made[need].artifact is None), None)
        if lacking is not None:
            made[role] = built_on(lacking, made[lacking].reason, made[lacking].detail)
            continue
        started = time.perf_counter()
        try:
            job = backends[role].start(clip, reader.info, artifacts)
            on_gpu = getattr(backends[role], "device", "cpu") != "cpu"
            running[role] = _Clocked(job, on_gpu, time.perf_counter() - started)
        except Exception as error:
            made[role] = _failed(error)
    return running


def _stream(reader: VideoReader, running: Mapping[str, _Clocked], cache: _FrameCache) -> None:
    """Decode the clip once and give each job the frames it wants. Nothing is decoded when no job wants a frame."""
    if all(clock.job.wants is not None and not len(clock.job.wants) for clock in running.values()):
        return
    started, waiting = time.perf_counter(), 0.0
    decoded = reader.batches(BATCH)
    if any(clock.on_gpu for clock in running.values()):
        decoded = ahead(decoded, AHEAD)
    for indices, frames in decoded:
        waiting += time.perf_counter() - started
        cache.put(indices, frames)
        for clock in running.values():
            chosen = slice(None) if clock.job.wants is None else np.isin(indices, clock.job.wants)
            clock.push(indices[chosen], frames[chosen])
        started = time.perf_counter()
    cache.seconds += waiting + time.perf_counter() - started


def _feed(running: Mapping[str, _Clocked], cache: _FrameCache) -> None:
    for clock in running.values():
        wants = clock.job.wants
        if wants is None:
            wants = np.arange(cache.reader.info.n_frames)
        for start in range(0, len(wants), BATCH):
            indices = np.asarray(wants[start : start + BATCH])
            clock.push(indices, cache.get(indices))


def _finish(clock: _Clocked) -> Made:
    if clock.failure is not None:
        return clock.failure
    started = time.perf_counter()
    try:
        artifact = clock.job.finish()
    except Exception as error:  # as in push
        return _failed(error)
    return Made(artifact, seconds=clock.seconds + time.perf_counter() - started)


def _failed(error: Exception) -> Made:
    """An error as a typed reason. An unexpected error is a defect of the backend and keeps its message."""
    why = not_scorable(error)
    return Made(None, str(why.reason), why.detail)
