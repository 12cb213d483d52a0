"""One clip, one decode: every frame goes to all jobs that want it; jobs that build on other roles are fed afterwards."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lookback.artifacts import Artifact
from lookback.backends.base import Backend, Job
from lookback.clips import Clip
from lookback.errors import LookbackError, MediaError, not_scorable
from lookback.media import VideoReader, open_video
from lookback.paths import resolve

BATCH = 8  # frames pushed together
SHELF_BYTES = 512 * 2**20  # decoded frames kept for the jobs of later rounds; longer clips are read again at the wanted frames


@dataclass(frozen=True)
class Made:
    """A role's result: an artifact, or the reason there is none; and what it cost."""

    artifact: Artifact | None
    reason: str = ""
    detail: str = ""
    seconds: float = 0.0


def extract_clip(clip: Clip, backends: Mapping[str, Backend], known: Mapping[str, Artifact]) -> tuple[dict[str, Made], float]:
    """Every role's result, and the seconds spent on decoding. `known` are artifacts from the store that others build on."""
    made: dict[str, Made] = {}
    try:
        with open_video(resolve(clip.video)) as reader:
            order = rounds({role: backend.requires for role, backend in backends.items()})
            shelf = _Shelf(reader, needed=len(order) > 1)
            for number, roles in enumerate(order):
                artifacts = {**known, **{role: result.artifact for role, result in made.items() if result.artifact is not None}}
                running = _start(roles, backends, clip, reader, artifacts, made)
                if number == 0:
                    _stream(reader, running, shelf)
                else:
                    _feed(running, shelf)
                for role, clock in running.items():
                    made[role] = _finish(clock)
            return made, shelf.seconds
    except MediaError as error:
        failed = _failed(error)
        return {role: made.get(role, failed) for role in backends}, 0.0


@dataclass
class _Clocked:
    """A job and the time it took so far."""

    job: Job
    seconds: float = 0.0
    failure: Made | None = None

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        if self.failure is not None or not len(indices):
            return
        started = time.perf_counter()
        try:
            self.job.push(indices, frames)
        except Exception as error:  # a defect of one role must not cost the others
            self.failure = _failed(error)
        self.seconds += time.perf_counter() - started


class _Shelf:
    """The decoded frames of a clip that is small enough to keep; else the reader fetches the wanted ones again."""

    def __init__(self, reader: VideoReader, needed: bool):
        info = reader.info
        self.reader = reader
        self.keeps = needed and info.n_frames * info.width * info.height * 3 <= SHELF_BYTES
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
    """Roles in the order they can run, given what each builds on: those that build on nothing, then those whose needs are done.

    A need that is not among the roles (it is known already, or cannot be had) is not waited for.
    """
    first = [role for role, needs in requires.items() if not needs]
    order, done = [first], set(first)
    while len(done) < len(requires):
        ready = [
            role for role, needs in requires.items() if role not in done and {need for need in needs if need in requires} <= done
        ]
        if not ready:
            raise LookbackError(f"These roles build on each other in a circle: {', '.join(sorted(set(requires) - done))}")
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
        started = time.perf_counter()
        try:
            running[role] = _Clocked(backends[role].start(clip, reader.info, artifacts), time.perf_counter() - started)
        except Exception as error:
            made[role] = _failed(error)
    return running


def _stream(reader: VideoReader, running: Mapping[str, _Clocked], shelf: _Shelf) -> None:
    """The one decode: batches of consecutive frames, cut to what each job wants. No job wants a frame: nothing is decoded."""
    if all(clock.job.wants is not None and not len(clock.job.wants) for clock in running.values()):
        return
    started, waiting = time.perf_counter(), 0.0
    for indices, frames in reader.batches(BATCH):
        waiting += time.perf_counter() - started
        shelf.put(indices, frames)
        for clock in running.values():
            chosen = slice(None) if clock.job.wants is None else np.isin(indices, clock.job.wants)
            clock.push(indices[chosen], frames[chosen])
        started = time.perf_counter()
    shelf.seconds += waiting + time.perf_counter() - started


def _feed(running: Mapping[str, _Clocked], shelf: _Shelf) -> None:
    for clock in running.values():
        wants = clock.job.wants
        if wants is None:
            wants = np.arange(shelf.reader.info.n_frames)
        for start in range(0, len(wants), BATCH):
            indices = np.asarray(wants[start : start + BATCH])
            clock.push(indices, shelf.get(indices))


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
    """An error as a typed reason; what nobody foresaw is a defect of the backend and keeps its message."""
    why = not_scorable(error)
    return Made(None, str(why.reason), why.detail)
