"""Score one clip: advance every metric to its pixel requests, decode once, let them finish."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import isgenerator
from itertools import islice
from typing import Any

from lookback.errors import NotScorable, Reason, not_scorable
from lookback.paths import resolve
from lookback.registry import MetricSpec
from lookback.scoring.clock import Spent, clocked
from lookback.scoring.context import ScoringClip
from lookback.scoring.decode import serve
from lookback.scoring.requests import PixelScoring, Request
from lookback.scoring.results import Item, Scored

ROUNDS = 3  # a metric may ask for pixels again after its first answer; more rounds mean more decodes


@dataclass
class _Running:
    """A metric under way: its generator, and the request it waits on."""

    number: int
    name: str  # of the metric and its variant
    generator: PixelScoring
    request: Request | list[Request] | None = None
    answer: Any = field(default=None)


def score_clip(metrics: Sequence[tuple[MetricSpec, ScoringClip]], spent: Spent | None = None) -> list[Scored]:
    """Each metric's result, in order; what cannot be scored is an item with its reason.

    `spent` is told each metric's seconds (`name variant`): its own and its part of what it shares; decoding is nobody's.
    """
    spent = defaultdict(float) if spent is None else spent
    results: dict[int, Scored] = {}
    running: list[_Running] = []
    for number, (spec, context) in enumerate(metrics):
        job = _Running(number, f"{spec.name} {context.variant}", _begin(spec, context))
        _advance(job, results, running, spent)
    clip = metrics[0][1].clip if metrics else None
    for _ in range(ROUNDS):
        if not running or clip is None:
            break
        truth = resolve(clip.ground_truth) if clip.ground_truth else None
        waiting, running = running, []
        requests = [(job, request) for job in waiting for request in _listed(job.request)]
        together: Spent = defaultdict(float)
        answers = iter(serve(resolve(clip.video), truth, [request for _, request in requests], together))
        for job in waiting:
            found = list(islice(answers, len(_listed(job.request))))
            job.answer = found if isinstance(job.request, list) else found[0]
        for job in waiting:
            _advance(job, results, running, spent)
        for key, seconds in together.items():
            sharers = [job.name for job, request in requests if getattr(request, "key", None) == key]
            for name in sharers:
                spent[name] += seconds / len(sharers)
    for job in running:
        results[job.number] = missing(Reason.BACKEND_FAILED, f"asked for pixels more than {ROUNDS} times")
    return [results[number] for number in range(len(metrics))]


def _listed(request: Request | list[Request] | None) -> list[Request]:
    return request if isinstance(request, list) else [] if request is None else [request]


def missing(reason: Reason | str, detail: str) -> Scored:
    return Scored([Item(reason=str(reason), detail=detail)])


def _begin(spec: MetricSpec, context: ScoringClip) -> PixelScoring:
    """A metric that needs no pixels is a plain function: wrap it, so that all run alike."""
    result = spec.score(context)
    if isgenerator(result):
        return (yield from result)
    return result


def _advance(job: _Running, results: dict[int, Scored], running: list[_Running], spent: Spent) -> None:
    try:
        with clocked(spent, job.name):
            if job.request is None:
                job.request = next(job.generator)
            elif isinstance(job.answer, NotScorable):
                job.request = job.generator.throw(job.answer)
            else:
                job.request = job.generator.send(job.answer)
        running.append(job)
    except StopIteration as end:
        results[job.number] = end.value
    except Exception as error:  # one metric's defect must not take the others' scores with it
        reason = not_scorable(error)
        results[job.number] = missing(reason.reason, reason.detail)
