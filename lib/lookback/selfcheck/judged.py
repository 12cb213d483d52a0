"""The metrics above a judge: scored from answers that are written down here, and from those of the geometric judge."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from lookback.artifacts import Artifact
from lookback.clips import Clip
from lookback.errors import Reason
from lookback.judging.judges.base import JudgeContext
from lookback.judging.question import Question
from lookback.judging.tasks import TASKS, Sampling
from lookback.judging.verdicts import Verdict
from lookback.params.stages import Judging
from lookback.registry import BENCHMARKS, JUDGES

Verdicts = dict[str, dict[str, Verdict]]  # task -> question -> verdict
WRITTEN, GEOMETRIC = "judge=written", "judge=geometric"


def written_answers(spoilt: bool) -> Verdicts:
    """Answers to every question that a judged metric asks; `spoilt` changes some in every task."""
    checks = [check for benchmark in BENCHMARKS if (check := benchmark.selfcheck()) is not None]
    return {
        task: {name: _written(said) for name, said in answers.items()}
        for check in checks
        for task, answers in check.answers(spoilt).items()
    }


def _written(said: str | float) -> Verdict:
    return _verdict(said) if isinstance(said, str) else _verdict("yes", said)


def geometric_answers(clip: Clip, artifacts: Mapping[str, Artifact]) -> Verdicts:
    """What the geometric judge says about the seconds and the gate, from the camera path and the masks."""
    judge = JUDGES.get("geometric").build(JudgeContext(Judging(), artifacts=lambda _: artifacts))
    found: dict[str, Verdict] = {}
    for question in TASKS.get("judgeability").questions(clip, Sampling()):
        if not isinstance(question, Question):
            continue
        reply = asyncio.run(judge.ask(question, 0, 0))
        found |= {name: _verdict(said.answer, said.value) for name, said in (reply.stated or {}).items()}
        found |= {name: Verdict("", None, Reason(reason), "", detail) for name, (reason, detail) in reply.refused.items()}
    return {"judgeability": found}


def _verdict(answer: str, value: float | None = None) -> Verdict:
    return Verdict(answer, float(answer == "yes") if value is None else value, None, "", answer)
