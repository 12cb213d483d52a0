"""Run a local judge model in Ray actors: each actor holds one copy and answers one question at a time.

Questions and recording stay in this process. Other judges stay here too: an endpoint already takes several calls at once, and
judges that read artifacts answer in milliseconds.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lookback.devices import Devices
from lookback.errors import Reason
from lookback.executors.connection import connect
from lookback.judging.frames import Encoding, FrameSource
from lookback.judging.judges.base import Judge, JudgeContext
from lookback.judging.panel import Panel, Seat
from lookback.judging.question import JudgeError, Question, Reply
from lookback.params import RunParams
from lookback.params.stages import Judging, Ray
from lookback.paths import project_root
from lookback.registry import JUDGES
from lookback.workers import WorkerDied, share_cores

TRIES = 2  # if an actor dies, its question is sent to another one


class JudgeActor:
    """Runs in its own process and keeps the model loaded."""

    def __init__(self, build: Callable[[], Judge], root: str, threads: int):
        os.environ["LOOKBACK_ROOT"] = root
        share_cores(threads)
        self.judge = build()

    def ask(self, question: Question, sample: int, repeat: int) -> Reply | dict[str, Any] | Exception:
        """A reply; the fields of a JudgeError; or another error, which the asking process raises."""
        try:
            return asyncio.run(self.judge.ask(question, sample, repeat))
        except JudgeError as error:
            return {name: getattr(error, name) for name in ("reason", "detail", "retry", "wait_s", "fatal")}
        except Exception as error:
            return error


@dataclass
class _Hired:
    actor: Any
    asked: int = 0


class SpreadJudge:
    """A judge that passes its questions to several actors with copies of the same model."""

    def __init__(self, judge: Judge, build: Callable[[], Judge], workers: int, settings: Ray):
        self.identity, self.costs = judge.identity, judge.costs
        self.unable, self.samples = judge.unable, judge.samples
        self._build, self._workers, self._settings = build, workers, settings
        self._hired: list[_Hired] = []

    async def ask(self, question: Question, sample: int, repeat: int) -> Reply:
        ray = connect(self._workers, self._settings)
        deaths = (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError, ray.exceptions.ObjectLostError)
        for _ in range(TRIES):
            hired = self._least_busy(ray)
            hired.asked += 1
            try:
                return _reply(await hired.actor.ask.remote(question, sample, repeat))
            except deaths:
                if hired in self._hired:
                    self._hired.remove(hired)
            finally:
                hired.asked -= 1
        raise JudgeError(Reason.BACKEND_FAILED, WorkerDied().message)

    async def close(self) -> None:
        """Do nothing: the actors stay for the next questions and end with this process."""

    def _least_busy(self, ray: Any) -> _Hired:
        idle = next((hired for hired in self._hired if hired.asked == 0), None)
        if idle is None and len(self._hired) < self._workers:
            resources = {"num_cpus": self._settings.num_cpus, "num_gpus": self._settings.num_gpus}
            threads = max(1, int(self._settings.num_cpus))
            actor = ray.remote(JudgeActor).options(max_restarts=0, **resources).remote(self._build, str(project_root()), threads)
            idle = _Hired(actor)
            self._hired.append(idle)
        return idle or min(self._hired, key=lambda hired: hired.asked)


def _reply(outcome: Reply | dict[str, Any] | Exception) -> Reply:
    if isinstance(outcome, dict):
        raise JudgeError(outcome.pop("reason"), outcome.pop("detail"), **outcome)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def spread_panel(panel: Panel, params: RunParams, context: JudgeContext) -> Panel:
    """The same panel with local models in Ray actors; unchanged with the local executor."""
    if params.executor != "ray":
        return panel
    spread: dict[int, SpreadJudge] = {}
    seats: dict[str, Seat] = {}
    for role, seat in panel.seats.items():
        if seat.judge is not None and JUDGES.get(seat.name).local_model:
            model = (params.judging.gate_model if role == "gate" else "") or params.judging.model
            build = partial(_build, seat.name, context.params, model, context.seed, context.device, context.allow_download)
            judge = spread.setdefault(
                id(seat.judge), SpreadJudge(seat.judge, partial(build, context.frames.encoding), params.workers, params.ray)
            )
            seats[role] = replace(seat, judge=judge)
        else:
            seats[role] = seat
    return Panel(seats)


def _build(name: str, params: Judging, model: str, seed: int, device: Devices, allow_download: bool, encoding: Encoding) -> Judge:
    context = JudgeContext(params, model, seed, device, allow_download, frames=FrameSource(encoding))
    return JUDGES.get(name).build(context)
