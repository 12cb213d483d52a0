"""MemoBench's questions: each clip's bank, asked once the bank is read or made (`MemoBench.ask_later`)."""

from __future__ import annotations

from lookback.benchmarks.memobench.vqa.session import ask_banks, kept_banks
from lookback.clips import Clip
from lookback.judging.question import Question, Unasked
from lookback.judging.tasks import Sampling, Task, register

__all__ = ["ask_banks", "kept_banks"]


def applies(clip: Clip) -> bool:
    return clip.benchmark == "memobench"


def no_bank_yet(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """The bank is made or read first (`lookback.benchmarks.memobench.vqa`), then `questions` asks it."""
    return []


register(Task("vqa", "MemoBench VQA over the final question bank", "scorer", applies, no_bank_yet))
