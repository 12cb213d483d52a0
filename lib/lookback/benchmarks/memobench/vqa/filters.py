"""The two automatic filters of a question bank (MemoBench section 3.5 and appendix A.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from lookback.benchmarks.memobench.vqa.bank import BankQuestion


def ground_truth_filter(bank: Sequence[BankQuestion], answers: Mapping[str, str]) -> tuple[BankQuestion, ...]:
    """Keep the questions the judge answers right on the ground-truth video; one without an answer is removed."""
    return tuple(question for question in bank if question.passes(answers.get(question.id, "")))


def failure_filter(
    bank: Sequence[BankQuestion],
    answers: Mapping[str, str],
    hinted: Mapping[str, str],
    variant: Literal["paper", "official"] = "paper",
) -> tuple[BankQuestion, ...]:
    """The second filter, on a known-failure clip answered plainly and with a hint.

    paper (section 3.5): "questions that fail to penalize known errors are removed", so a question stays when the hinted answer
    fails the clip. official (appendix A.8, and what the published files do): "remove unstable questions", so a question stays when
    the hint does not change its answer; most of those pass the failure clip. A question without an answer is removed.
    """
    if variant == "paper":
        return tuple(question for question in bank if question.id in hinted and not question.passes(hinted[question.id]))
    return tuple(question for question in bank if question.id in hinted and hinted[question.id] == answers.get(question.id))
