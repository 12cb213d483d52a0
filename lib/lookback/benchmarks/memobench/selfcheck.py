"""Where the self-check scores its clips as MemoBench's, and the answers to a question bank it takes for given."""

from __future__ import annotations

from lookback.benchmarks.memobench.metrics.vqa import DIMENSIONS
from lookback.benchmarks.memobench.vqa.bank import BankQuestion

PLACES = (("real", ""),)


def answers(spoilt: bool) -> dict[str, dict[str, str | float]]:
    """Task -> question -> answer; `spoilt` changes which questions the clip passes."""
    bank = [BankQuestion(str(q), DIMENSIONS[q // 6], "negative" if q % 2 else "positive", "") for q in range(24)]
    wrong = [1, 7, 8, 13, 14, 19, 21] if spoilt else [0, 5, 10, 15, 20]
    passed = {question.part_id: question.passes("yes") == (int(question.id) not in wrong) for question in bank}
    return {"vqa": {name: "yes" if said else "no" for name, said in passed.items()}}
