"""The metrics above a judge: scored from answers that are written down here, and from those of the geometric judge."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from lookback.benchmarks.memobench.vqa.bank import DIMENSIONS, BankQuestion
from lookback.benchmarks.wrbench.judgeability import SECOND, questions
from lookback.benchmarks.wrbench.probes import probes
from lookback.clips import Clip
from lookback.errors import Reason
from lookback.judging.judges.base import JudgeContext
from lookback.judging.question import Question
from lookback.judging.tasks import Sampling
from lookback.judging.verdicts import Verdict
from lookback.params.stages import Judging
from lookback.registry import JUDGES
from lookback.store import Entry

Verdicts = dict[str, dict[str, Verdict]]  # task -> question -> verdict
WRITTEN, GEOMETRIC = "judge=written", "judge=geometric"
GATE = {"hidden": "yes", "returned": "yes", "unidentifiable": "no"}


def written_answers(spoilt: bool) -> Verdicts:
    """Answers to every question that a judged metric asks; `spoilt` flips some in every task."""
    asked = probes()
    shares = {probe.id: (3 * place % 11 + 1) / 12 for place, probe in enumerate(asked) if probe.role == "score"}
    gate = {probe.id: GATE[probe.role] for probe in asked if probe.role != "score"}
    gate |= {f"{SECOND}{second:03d}": answer for second, answer in enumerate(("yes", "yes" if spoilt else "no", "yes"))}
    bank = [BankQuestion(str(q), DIMENSIONS[q // 6], "negative" if q % 2 else "positive", "") for q in range(24)]
    wrong = [1, 7, 8, 13, 14, 19, 21] if spoilt else [0, 5, 10, 15, 20]  # questions of the bank that the clip does not pass
    passed = {q.part_id: q.passes("yes") == (int(q.id) not in wrong) for q in bank}
    return {
        "state_progress": {"state_progress": _verdict("4", 2.0 if spoilt else 4.0)},
        "progress_correctness": {"progress_correctness": _verdict("3", 3.0)},
        "judgeability": {name: _verdict(answer) for name, answer in gate.items()},
        "probe": {name: _verdict("yes", 1 - share if spoilt else share) for name, share in shares.items()},
        "vqa": {name: _verdict("yes" if said else "no") for name, said in passed.items()},
    }


def geometric_answers(clip: Clip, artifacts: Mapping[str, Entry]) -> Verdicts:
    """What the geometric judge says about the seconds and the gate, from the camera path and the masks."""
    judge = JUDGES.get("geometric").build(JudgeContext(Judging(), artifacts=lambda _: artifacts))
    found: dict[str, Verdict] = {}
    for question in questions(clip, Sampling()):
        if not isinstance(question, Question):
            continue
        reply = asyncio.run(judge.ask(question, 0, 0))
        found |= {name: _verdict(said.answer, said.value) for name, said in (reply.stated or {}).items()}
        found |= {name: Verdict("", None, Reason(reason), "", detail) for name, (reason, detail) in reply.refused.items()}
    return {"judgeability": found}


def _verdict(answer: str, value: float | None = None) -> Verdict:
    return Verdict(answer, float(answer == "yes") if value is None else value, None, "", answer)
