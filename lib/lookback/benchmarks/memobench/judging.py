"""MemoBench's questions: one bank of yes/no questions per clip, asked in one call (section 3.5, appendix A.8)."""

from __future__ import annotations

from collections.abc import Sequence

from lookback.benchmarks.memobench.vqa.bank import read_question_files
from lookback.benchmarks.memobench.vqa.pipeline import Bank, TaskKey, make_banks, questions, read_banks, read_known_failures
from lookback.clips import Clip
from lookback.errors import Reason
from lookback.judging.panel import Seat
from lookback.judging.question import Part, Question, Unasked
from lookback.judging.run import Session
from lookback.judging.tasks import Sampling, Task, register
from lookback.paths import resolve

KEPT = "question banks"


def ask_banks(session: Session, clips: Sequence[Clip]) -> None:
    """Ask every clip's whole bank in one call. A clip without a bank gets the reason."""
    scorer = session.panel.judge("scorer")
    if scorer is None or not clips:
        return
    session.counted["vqa"] = scorer.label
    banks = session.kept[KEPT] = question_banks(session, scorer, clips)
    asked: list[Question | Unasked] = []
    for clip in clips:
        bank = banks[(clip.setting, clip.clip_id)]
        if bank.questions:
            asked += questions(clip, bank.questions, session.sampling)
        else:
            part = Part("bank", "Is there a question bank for this clip?")
            asked.append(Unasked(clip, "vqa", "", (part,), bank.reason or Reason.MISSING_INPUT, bank.detail))
    session.ask(scorer, asked)


def question_banks(session: Session, scorer: Seat, clips: Sequence[Clip]) -> dict[TaskKey, Bank]:
    """The banks in the run's files, or new ones. A bank is made once, however often the judge is asked."""
    params = session.params
    if params.vqa_questions:
        return read_banks(clips, read_question_files(resolve(params.vqa_questions)))
    failures = read_known_failures(resolve(params.vqa_failures), clips) if params.vqa_failures else {}
    return make_banks(clips, lambda asked: session.answers(scorer, asked, 1), session.sampling, failures, params.vqa_filter)


def kept_banks(session: Session) -> dict[TaskKey, Bank]:
    """The banks that this session asked; empty when it asked none."""
    banks = session.kept.get(KEPT, {})
    assert isinstance(banks, dict)
    return banks


def applies(clip: Clip) -> bool:
    return clip.benchmark == "memobench"


def no_bank_yet(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """Nothing: the bank must be made or read first, then `ask_banks` asks it (`MemoBench.ask_later`)."""
    return []


register(Task("vqa", "MemoBench VQA over the final question bank", "scorer", applies, no_bank_yet))
