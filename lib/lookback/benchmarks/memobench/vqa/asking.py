"""MemoBench's VQA: the final question bank, asked about one generated video (section 3.5, appendix A.8 stage 3)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lookback.benchmarks.memobench.vqa.bank import BankQuestion
from lookback.clips import Clip
from lookback.errors import NotScorable
from lookback.judging.prompting import Prompt, load_prompt
from lookback.judging.question import Part, Question, Unasked
from lookback.judging.tasks import Footage, Sampling, compose, footage


def questions(clip: Clip, bank: Sequence[BankQuestion], sampling: Sampling) -> list[Question | Unasked]:
    """One call with the whole bank, as the paper's judge prompt has it; one part per question."""
    prompt = load_prompt("memobench_judge.v1")
    try:
        return [bank_question(clip, "vqa", prompt, bank, footage(clip), sampling, filtered_questions=listing(bank))]
    except NotScorable as error:
        return [Unasked(clip, "vqa", prompt.version, parts(bank), error.reason, error.detail)]


def bank_question(
    clip: Clip, task: str, prompt: Prompt, bank: Sequence[BankQuestion], shown: Footage, sampling: Sampling, **values: str
) -> Question:
    """A bank asked about a video: the clip's own, its ground truth, or a known failure."""
    return compose(clip, task, prompt, "table", parts(bank), shown, shown.timed(sampling), **values)


def listing(bank: Sequence[BankQuestion]) -> str:
    """The bank as JSON with the benchmark's columns."""
    return json.dumps([entry.record() for entry in bank], ensure_ascii=False)


def parts(bank: Sequence[BankQuestion]) -> tuple[Part, ...]:
    return tuple(Part(entry.part_id, entry.text, None, entry.dimension, entry.polarity) for entry in bank)
