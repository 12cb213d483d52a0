"""Score clips: run every metric up to its pixel request, decode each video once for all of them, then let them finish.

Clips that share a ground truth are scored together, so that it is decoded once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from inspect import isgenerator
from itertools import islice
from typing import Any

from lookback.errors import NotScorable, Reason
from lookback.paths import resolve
from lookback.reasons import not_scorable
from lookback.registry import MetricSpec
from lookback.scoring.contract import Frames, Item, PixelScoring, Request, Scored, ScoringClip
from lookback.scoring.decode import DECODE, Asked, Spent, clocked, serve

ROUNDS = 3  # a metric may ask for pixels again after its first answer; more rounds mean more decodes
KEPT_BYTES = 1 << 30  # of frames that metrics ask to keep (`Frames`), over all clips that are decoded in step

Chosen = Sequence[tuple[MetricSpec, ScoringClip]]  # the metrics of one clip, and the clip as each of them sees it


@dataclass
class _Running:
    """A metric that has started: its generator, and the request it waits for."""

    number: int
    spec: MetricSpec
    name: str  # of the metric and its variant
    generator: PixelScoring
    request: Request | list[Request] | None = None
    answer: Any = field(default=None)


def score_clip(metrics: Chosen, spent: Spent | None = None) -> list[Scored]:
    """The result of each metric, in order. A metric that cannot be scored gives an item with a reason.

    `spent` receives the seconds of each metric (`name variant`): its own and its part of shared work; "decode" is the rest.
    """
    return score_clips([metrics], [defaultdict(float) if spent is None else spent])[0]


def score_clips(clips: Sequence[Chosen], spent: Sequence[Spent]) -> list[list[Scored]]:
    """The results of several clips. Those that share a ground truth are decoded in step, so that it is decoded once for all."""
    scored = [_ClipScoring(metrics, seconds) for metrics, seconds in zip(clips, spent, strict=True)]
    for _ in range(ROUNDS):
        for together in _within_memory([clip for clip in scored if clip.running]):
            answers = serve([clip.asked() for clip in together])
            for clip, found in zip(together, answers, strict=True):
                clip.receive(found)
    return [clip.finished() for clip in scored]


def _within_memory(clips: Sequence[_ClipScoring]) -> Iterator[list[_ClipScoring]]:
    """The clips in groups. The frames that a group keeps fit into KEPT_BYTES, or it is a single clip."""
    group: list[_ClipScoring] = []
    held = 0
    for clip in clips:
        if group and held + clip.kept_bytes > KEPT_BYTES:
            yield group
            group, held = [], 0
        group.append(clip)
        held += clip.kept_bytes
    if group:
        yield group


class _ClipScoring:
    """The metrics of one clip, each advanced to its next request."""

    def __init__(self, metrics: Chosen, spent: Spent):
        self.clip = metrics[0][1].clip if metrics else None
        self.spent, self.count = spent, len(metrics)
        self.results: dict[int, Scored] = {}
        self.running: list[_Running] = []
        for number, (spec, context) in enumerate(metrics):
            self._advance(_Running(number, spec, f"{spec.name} {context.variant}", _begin(spec, context)))

    @property
    def requests(self) -> list[tuple[_Running, Request]]:
        return [(job, request) for job in self.running for request in _listed(job.request)]

    @property
    def kept_bytes(self) -> int:
        """How much memory the frames take that metrics ask to keep."""
        assert self.clip is not None
        kept = {int(index) for _, request in self.requests if isinstance(request, Frames) for index in request.indices}
        return len(kept) * 3 * (self.clip.width or 0) * (self.clip.height or 0)

    def asked(self) -> Asked:
        assert self.clip is not None
        truth = resolve(self.clip.ground_truth) if self.clip.ground_truth else None
        self.together: Spent = defaultdict(float)
        requests = [request for _, request in self.requests]
        return Asked(resolve(self.clip.video), truth, requests, self.together, self.clip.n_frames or 0)

    def receive(self, found: list[Any]) -> None:
        """Hand the answers to the metrics that wait for them, and share out the time that they took."""
        answers, requests = iter(found), self.requests
        waiting, self.running = self.running, []
        for job in waiting:
            own = list(islice(answers, len(_listed(job.request))))
            job.answer = own if isinstance(job.request, list) else own[0]
        for job in waiting:
            self._advance(job)
        for key, seconds in self.together.items():
            sharers = [job.name for job, request in requests if getattr(request, "key", None) == key] or [DECODE]
            for name in sharers:
                self.spent[name] += seconds / len(sharers)

    def finished(self) -> list[Scored]:
        for job in self.running:
            self.results[job.number] = missing(job.spec, Reason.BACKEND_FAILED, f"asked for pixels more than {ROUNDS} times")
        return [self.results[number] for number in range(self.count)]

    def _advance(self, job: _Running) -> None:
        try:
            with clocked(self.spent, job.name):
                if job.request is None:
                    job.request = next(job.generator)
                elif isinstance(job.answer, NotScorable):
                    job.request = job.generator.throw(job.answer)
                else:
                    job.request = job.generator.send(job.answer)
            self.running.append(job)
        except StopIteration as end:
            self.results[job.number] = end.value
        except Exception as error:  # an error in one metric must not cost the scores of the others
            reason = not_scorable(error)
            self.results[job.number] = missing(job.spec, reason.reason, reason.detail)


def _listed(request: Request | list[Request] | None) -> list[Request]:
    return request if isinstance(request, list) else [] if request is None else [request]


def missing(spec: MetricSpec, reason: Reason | str, detail: str) -> Scored:
    """The items of a clip that the metric cannot score: the reason in each of its phases, so that all of them count the clip."""
    return Scored([Item(phase=phase, reason=str(reason), detail=detail) for phase in spec.phases])


def _begin(spec: MetricSpec, context: ScoringClip) -> PixelScoring:
    """Start a metric. One that needs no pixels is a plain function; it is wrapped into a generator like the others."""
    result = spec.score(context)
    scored: Scored = (yield from result) if isgenerator(result) else result
    return scored.checked()
