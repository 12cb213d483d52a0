"""Tasks over Ray actors, with few in flight. An actor that dies costs only the task that killed it.

Each actor is one process that keeps its models from task to task. A batch that was on a dead actor (or on a lost node) is tried
again task by task, each alone on its actor: the task that kills a second one is given up with a typed result.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from lookback.errors import LookbackError
from lookback.executors.base import Result, Task
from lookback.executors.connection import connect
from lookback.params.stages import Ray
from lookback.paths import project_root
from lookback.workers import WorkerDied, share_cores

AHEAD = 2  # batches per actor: one at work, one waiting, so that results and arguments do not pile up
LOOK_AGAIN_S = 5.0


@dataclass(frozen=True)
class RayExecutor:
    """`workers` actors on the cluster that the settings name; those that find no room on it start when there is some."""

    workers: int
    settings: Ray

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result | WorkerDied]]:
        if tasks:
            ray = connect(self.workers, self.settings)
            yield from _Crew(ray, function, tasks, min(self.workers, len(tasks)), self.settings).run()


class Worker:
    """The actor: does batches of tasks, one after the other."""

    def __init__(self, root: str, threads: int):
        os.environ["LOOKBACK_ROOT"] = root
        share_cores(threads)

    def ready(self) -> bool:
        return True

    def run(self, function: Callable[[Task], Result], batch: list[Task]) -> list[tuple[Result | None, Exception | None]]:
        """(result, None) per task, or (None, the exception) for the last one done."""
        done: list[tuple[Result | None, Exception | None]] = []
        for task in batch:
            try:
                done.append((function(task), None))
            except Exception as error:  # travels to the driver and is raised there as it would be by a local worker
                done.append((None, error))
                break
        return done


@dataclass
class _Member:
    """An actor and how many batches it holds."""

    actor: Any
    batches: int = 0
    careful: bool = False  # it tries a suspect, alone


@dataclass
class _Flight:
    """A batch on its way."""

    member: _Member
    indices: list[int]
    careful: bool


@dataclass
class _Crew(Generic[Task, Result]):
    """One call's actors, what they hold, and what waits."""

    ray: Any
    function: Callable[[Task], Result]
    tasks: Sequence[Task]
    workers: int
    settings: Ray
    suspects: deque[int] = field(default_factory=deque)
    starting: dict[Any, _Member] = field(default_factory=dict)
    members: list[_Member] = field(default_factory=list)
    flying: dict[Any, _Flight] = field(default_factory=dict)
    failed_starts: int = 0

    def __post_init__(self) -> None:
        self.waiting = deque(range(len(self.tasks)))
        errors = self.ray.exceptions
        self.deaths = (errors.RayActorError, errors.WorkerCrashedError, errors.ObjectLostError, errors.OutOfMemoryError)
        resources = {"num_cpus": self.settings.num_cpus, "num_gpus": self.settings.num_gpus}
        # no restart by Ray: the crew hires anew, and knows which tasks the dead one held
        self.actor_class = self.ray.remote(Worker).options(max_restarts=0, **resources)
        self.arguments = (str(project_root()), max(1, int(self.settings.num_cpus)))
        self.sent = self.ray.put(self.function)
        self.seen_working = time.monotonic()

    def run(self) -> Iterator[tuple[int, Result | WorkerDied]]:
        for _ in range(self.workers):
            self._hire()
        try:
            while self.waiting or self.suspects or self.flying:
                self._hand_out()
                arrived, _ = self.ray.wait([*self.flying, *self.starting], num_returns=1, timeout=LOOK_AGAIN_S)
                for reference in arrived:
                    if reference in self.starting:
                        self._started(reference)
                    else:
                        yield from self._landed(reference)
                self._give_up_waiting()
        finally:
            for member in (*self.members, *self.starting.values()):
                self.ray.kill(member.actor)

    def _hire(self) -> None:
        actor = self.actor_class.remote(*self.arguments)
        self.starting[actor.ready.remote()] = _Member(actor)

    def _started(self, reference: Any) -> None:
        member = self.starting.pop(reference)
        try:
            self.ray.get(reference)
        except (*self.deaths, self.ray.exceptions.RayTaskError) as error:
            self.failed_starts += 1
            if self.failed_starts > 2 * self.workers:
                raise _unfit(error) from error
            self._hire()
            return
        self.failed_starts = 0
        self.members.append(member)

    def _hand_out(self) -> None:
        """Fill every actor up; a suspect waits for an empty one and has it alone."""
        for member in self.members:
            while not member.careful and member.batches < AHEAD:
                if self.suspects and member.batches == 0:
                    self._send(member, [self.suspects.popleft()], careful=True)
                elif self.waiting:
                    size = min(self.settings.batch, len(self.waiting))
                    self._send(member, [self.waiting.popleft() for _ in range(size)], careful=False)
                else:
                    break

    def _send(self, member: _Member, indices: list[int], careful: bool) -> None:
        reference = member.actor.run.remote(self.sent, [self.tasks[index] for index in indices])
        self.flying[reference] = _Flight(member, indices, careful)
        member.batches += 1
        member.careful = careful

    def _landed(self, reference: Any) -> Iterator[tuple[int, Result | WorkerDied]]:
        flight = self.flying.pop(reference)
        try:
            done = self.ray.get(reference)
        except self.deaths:
            self._dismiss(flight.member)
            if flight.careful:
                yield from ((index, WorkerDied()) for index in flight.indices)
            else:
                self.suspects.extend(flight.indices)
            return
        except self.ray.exceptions.RayTaskError as error:  # not the task's own: that one comes back as a result
            raise _unfit(error) from error
        flight.member.batches -= 1
        flight.member.careful = False
        for index, (result, raised) in zip(flight.indices, done, strict=False):
            if raised is not None:
                raise raised
            yield index, result

    def _dismiss(self, member: _Member) -> None:
        """Its other batch fails by itself and lands here too."""
        if member in self.members:
            self.members.remove(member)
            self.ray.kill(member.actor)  # it may only have been out of reach, and would go on
            self._hire()

    def _give_up_waiting(self) -> None:
        """Work may only wait while somebody works, or for as long as nodes may take to join."""
        if self.members:
            self.seen_working = time.monotonic()
        elif time.monotonic() - self.seen_working > self.settings.start_timeout_s:
            there, asked = self.ray.cluster_resources(), self.settings
            raise LookbackError(
                f"No Ray worker could start within {asked.start_timeout_s:g} s: each asks for {asked.num_cpus:g} CPUs "
                f"and {asked.num_gpus:g} GPUs, the cluster has {there.get('CPU', 0):g} and {there.get('GPU', 0):g}; "
                "ask for less in ray.num_cpus and ray.num_gpus, or add nodes"
            )


def _unfit(error: Exception) -> LookbackError:
    cause = next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
    return LookbackError(f"Ray workers do not work: {cause.strip()}; lookback must be installed on every node, at the same version")
