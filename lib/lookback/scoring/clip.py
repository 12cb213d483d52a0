"""Score one clip: run every metric up to its pixel request, decode the video once for all of them, then let them finish."""

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
from lookback.scoring.contract import Item, PixelScoring, Request, Scored, ScoringClip
from lookback.scoring.decode import Spent, clocked, serve

ROUNDS = 3  # a metric may ask for pixels again after its first answer; more rounds mean more decodes


@dataclass
class _Running:
    """A metric that has started: its generator, and the request it waits for."""

    number: int
    name: str  # of the metric and its variant
    generator: PixelScoring
    request: Request | list[Request] | None = None
    answer: Any = field(default=None)


def score_clip(metrics: Sequence[tuple[MetricSpec, ScoringClip]], spent: Spent | None = None) -> list[Scored]:
    """The result of each metric, in order. A metric that cannot be scored gives an item with a reason.

    `spent` receives the seconds of each metric (`name variant`): its own and its part of shared work, without decoding.
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
    """Start a metric. One that needs no pixels is a plain function; it is wrapped into a generator like the others."""
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
    except Exception as error:  # an error in one metric must not cost the scores of the others
        reason = not_scorable(error)
        results[job.number] = missing(reason.reason, reason.detail)
