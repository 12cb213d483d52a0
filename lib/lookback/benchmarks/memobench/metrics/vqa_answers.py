"""MemoBench VQA: the pass rate of each dimension's questions (section 3.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lookback.errors import NotScorable, Reason
from lookback.benchmarks.memobench.metrics.vqa import vqa_pass_rate
from lookback.registry import metric
from lookback.scoring.results import Item

if TYPE_CHECKING:
    from lookback.judging.verdicts import JudgedClip

DIMENSIONS = ("Instruction Following", "Object and Background", "Continuity of Memory", "Physics Adherence")


def vqa_dimension(judged: JudgedClip, dimension: str) -> Item:
    """(positive & yes + negative & no) / questions asked, in [0,1]; official divides by the questions that came back."""
    from lookback.benchmarks.memobench.vqa.bank import from_part_id

    verdicts = judged.verdicts("vqa")
    asked = {
        name: question for name in verdicts if (question := from_part_id(name)) is not None and question.dimension == dimension
    }
    if not asked:
        missing = next((verdict for verdict in verdicts.values() if verdict.reason is not None), None)
        reason = Reason.MISSING_INPUT if missing is None or missing.reason is None else missing.reason
        raise NotScorable(reason, f"no {dimension} question was asked" + (f": {missing.verbatim[:200]}" if missing else ""))
    unread = [verdicts[name].reason for name in asked if verdicts[name].reason is not None]
    if len(unread) == len(asked):
        raise NotScorable(unread[0] or Reason.JUDGE_UNPARSED, f"none of {len(asked)} {dimension} questions has an answer")
    questions = [question.record() for question in asked.values()]
    answers = [{"ID": question.id, "Answer": verdicts[name].answer} for name, question in asked.items() if verdicts[name].answer]
    rate = vqa_pass_rate(answers, questions, variant=judged.variant)[dimension]  # type: ignore[arg-type]
    return Item(rate, detail=f"{len(unread)} of {len(asked)} unanswered" if unread else "", n_units=len(asked))


def _register(dimension: str) -> Callable[[JudgedClip], Item]:
    @metric(
        name=f"memobench.vqa_{dimension.lower().replace(' ', '_').replace('object_and', 'object')}",
        title=f"VQA {dimension}",
        benchmark="memobench",
        unit="share of questions",
        range=(0.0, 1.0),
        higher_is_better=True,
        needs=("video", "prompt"),
        roles=(),
        equation="(positive & yes + negative & no) / asked",
        source="MemoBench section 3.5",
        variants=("paper", "official"),
        judge_tasks=("vqa",),
    )
    def score(judged: JudgedClip) -> Item:
        return vqa_dimension(judged, dimension)

    return score


SCORES = {dimension: _register(dimension) for dimension in DIMENSIONS}
