"""Run tasks on Ray actors, a few at a time. When an actor dies, only the task that killed it is lost.

Each actor is one process that keeps its models between tasks. The tasks of a dead actor (or a lost node) are tried again one by
one, each alone on an actor. A task that kills a second actor is given up with a typed result.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from lookback.errors import LookbackError
from lookback.executors.connection import connect
from lookback.params.stages import Ray
from lookback.paths import project_root
from lookback.workers import Result, Task, WorkerDied, share_cores

AHEAD = 2  # batches per actor: one running and one waiting, so that results and arguments do not pile up
LOOK_AGAIN_S = 5.0


@dataclass(frozen=True)
class RayExecutor:
    """`workers` actors on the cluster that the settings name. Actors without free resources start when there are some."""

    workers: int
    settings: Ray

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result | WorkerDied]]:
        if tasks:
            ray = connect(self.workers, self.settings)
            yield from _Crew(ray, function, tasks, min(self.workers, len(tasks)), self.settings).run()


class Worker:
    """The actor: it works on batches of tasks, one after the other."""

    def __init__(self, root: str, threads: int):
        os.environ["LOOKBACK_ROOT"] = root
        share_cores(threads)

    def ready(self) -> bool:
        return True

    def run(self, function: Callable[[Task], Result], batch: list[Task]) -> list[tuple[Result | None, Exception | None]]:
        """(result, None) per task. After an exception, (None, exception) is the last entry."""
        done: list[tuple[Result | None, Exception | None]] = []
        for task in batch:
            try:
                done.append((function(task), None))
            except Exception as error:  # raised again in the main process, as with a local worker
                done.append((None, error))
                break
        return done


@dataclass
class _Member:
    """An actor, and how many batches it has."""

    actor: Any
    batches: int = 0
    careful: bool = False  # it runs one suspect task alone


@dataclass
class _Sent:
    """A batch that was sent to an actor."""

    member: _Member
    indices: list[int]
    careful: bool


@dataclass
class _Crew(Generic[Task, Result]):
    """The actors of one call, their batches, and the waiting tasks."""

    ray: Any
    function: Callable[[Task], Result]
    tasks: Sequence[Task]
    workers: int
    settings: Ray
    suspects: deque[int] = field(default_factory=deque)
    starting: dict[Any, _Member] = field(default_factory=dict)
    members: list[_Member] = field(default_factory=list)
    running: dict[Any, _Sent] = field(default_factory=dict)
    failed_starts: int = 0

    def __post_init__(self) -> None:
        self.waiting = deque(range(len(self.tasks)))
        errors = self.ray.exceptions
        self.deaths = (errors.RayActorError, errors.WorkerCrashedError, errors.ObjectLostError, errors.OutOfMemoryError)
        resources = {"num_cpus": self.settings.num_cpus, "num_gpus": self.settings.num_gpus}
        # Ray does not restart actors: this class starts new ones, because it knows the tasks of the dead one
        self.actor_class = self.ray.remote(Worker).options(max_restarts=0, **resources)
        self.arguments = (str(project_root()), max(1, int(self.settings.num_cpus)))
        self.function_reference = self.ray.put(self.function)
        self.seen_working = time.monotonic()

    def run(self) -> Iterator[tuple[int, Result | WorkerDied]]:
        for _ in range(self.workers):
            self._start_actor()
        try:
            while self.waiting or self.suspects or self.running:
                self._hand_out()
                arrived, _ = self.ray.wait([*self.running, *self.starting], num_returns=1, timeout=LOOK_AGAIN_S)
                for reference in arrived:
                    if reference in self.starting:
                        self._started(reference)
                    else:
                        yield from self._finished(reference)
                self._give_up_waiting()
        finally:
            for member in (*self.members, *self.starting.values()):
                self.ray.kill(member.actor)

    def _start_actor(self) -> None:
        actor = self.actor_class.remote(*self.arguments)
        self.starting[actor.ready.remote()] = _Member(actor)

    def _started(self, reference: Any) -> None:
        member = self.starting.pop(reference)
        try:
            self.ray.get(reference)
        except (*self.deaths, self.ray.exceptions.RayTaskError) as error:
            self.failed_starts += 1
            if self.failed_starts > 2 * self.workers:
                raise _broken_workers(error) from error
            self._start_actor()
            return
        self.failed_starts = 0
        self.members.append(member)

    def _hand_out(self) -> None:
        """Give every actor its batches. A suspect task waits for an idle actor and runs there alone."""
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
        reference = member.actor.run.remote(self.function_reference, [self.tasks[index] for index in indices])
        self.running[reference] = _Sent(member, indices, careful)
        member.batches += 1
        member.careful = careful

    def _finished(self, reference: Any) -> Iterator[tuple[int, Result | WorkerDied]]:
        sent = self.running.pop(reference)
        try:
            done = self.ray.get(reference)
        except self.deaths:
            self._replace(sent.member)
            if sent.careful:
                yield from ((index, WorkerDied()) for index in sent.indices)
            else:
                self.suspects.extend(sent.indices)
            return
        except self.ray.exceptions.RayTaskError as error:  # not an exception of the task: that comes back as a result
            raise _broken_workers(error) from error
        sent.member.batches -= 1
        sent.member.careful = False
        for index, (result, raised) in zip(sent.indices, done, strict=False):
            if raised is not None:
                raise raised
            yield index, result

    def _replace(self, member: _Member) -> None:
        """Replace a dead actor. Its other batch fails too, and is handled in the same way."""
        if member in self.members:
            self.members.remove(member)
            self.ray.kill(member.actor)  # it may only be unreachable and still running
            self._start_actor()

    def _give_up_waiting(self) -> None:
        """Stop with an error when no actor has run for longer than nodes may take to join."""
        if self.members:
            self.seen_working = time.monotonic()
        elif time.monotonic() - self.seen_working > self.settings.start_timeout_s:
            there, asked = self.ray.cluster_resources(), self.settings
            raise LookbackError(
                f"No Ray worker could start within {asked.start_timeout_s:g} s: each asks for {asked.num_cpus:g} CPUs "
                f"and {asked.num_gpus:g} GPUs, the cluster has {there.get('CPU', 0):g} and {there.get('GPU', 0):g}; "
                "ask for less in ray.num_cpus and ray.num_gpus, or add nodes"
            )


def _broken_workers(error: Exception) -> LookbackError:
    cause = next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
    return LookbackError(f"Ray workers do not work: {cause.strip()}; lookback must be installed on every node, at the same version")
