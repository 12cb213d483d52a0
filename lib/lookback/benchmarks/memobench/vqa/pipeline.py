"""From a clip to its question bank: read, or generated, filtered on the ground truth, filtered on a known failure."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from lookback.benchmarks.memobench.vqa.asking import bank_question, listing
from lookback.benchmarks.memobench.vqa.bank import BankQuestion, QuestionFile, clip_number, parse_bank
from lookback.benchmarks.memobench.vqa.filters import failure_filter, ground_truth_filter
from lookback.clips import Clip
from lookback.errors import ContractError, NotScorable, Reason
from lookback.judging.asking import Asked
from lookback.judging.prompting import load_prompt
from lookback.judging.question import Part, Question
from lookback.judging.tasks import Footage, Sampling, compose, footage, other_footage

GENERATED = Part("generate", "Generate 24 yes/no questions from the prompt and the first frame.")


@dataclass(frozen=True)
class Bank:
    """The questions of one clip task, or why there are none; what each filter removed, and the answers on the known failure."""

    questions: tuple[BankQuestion, ...] = ()
    source: str = ""
    reason: Reason | None = None
    detail: str = ""
    removed_by_ground_truth: tuple[str, ...] = ()
    removed_by_failure: tuple[str, ...] = ()
    on_failure: Mapping[str, str] = field(default_factory=dict)  # question id -> yes/no on the known-failure clip, the hinted last


@dataclass(frozen=True)
class KnownFailure:
    """A generated clip that is known to fail, with the hint for the second look."""

    clip: Clip
    hint: str


AskAll = Callable[[list[Question]], list[Asked]]
TaskKey = tuple[str, str]  # setting, clip_id: all models share a task's bank


def read_known_failures(path: Path, clips: Sequence[Clip]) -> dict[TaskKey, KnownFailure]:
    """The CSV `clip_id,model_id,hint` of known-failure clips among this run's clips."""
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            rows = list(csv.DictReader(handle))
    except (OSError, UnicodeDecodeError) as error:
        raise ContractError(f"{path}: the list of known failures cannot be read ({error}); check judging.vqa_failures") from None
    if rows and not {"clip_id", "model_id", "hint"} <= set(rows[0]):
        raise ContractError(f"{path}: known failures have the columns clip_id, model_id, hint, not {', '.join(rows[0])}")
    by_name = {(clip.clip_id, clip.model_id): clip for clip in clips}
    found = [(by_name.get((row["clip_id"], row["model_id"])), row["hint"]) for row in rows]
    return {(clip.setting, clip.clip_id): KnownFailure(clip, hint) for clip, hint in found if clip is not None}


def read_banks(clips: Sequence[Clip], files: Mapping[tuple[str, int], QuestionFile]) -> dict[TaskKey, Bank]:
    """Each task's published bank; a task without a file is missing its input."""
    banks = {}
    for clip in clips:
        file = files.get(clip_number(clip.scene, clip.clip_id) or ("", -1))
        if file is None:
            bank = Bank(reason=Reason.MISSING_INPUT, detail=f"no question file for {clip.clip_id}")
        else:
            bank = Bank(file.final, "published", on_failure=file.on_failure)
        banks[(clip.setting, clip.clip_id)] = bank
    return banks


def make_banks(
    clips: Sequence[Clip],
    ask_all: AskAll,
    sampling: Sampling,
    failures: Mapping[TaskKey, KnownFailure],
    variant: Literal["paper", "official"],
) -> dict[TaskKey, Bank]:
    """Generate a bank per task and filter it as far as there is a ground truth and a known failure to do it with."""
    tasks = {(clip.setting, clip.clip_id): clip for clip in sorted(clips, key=lambda clip: clip.key, reverse=True)}
    banks = _generate(tasks, ask_all)
    banks = _filter_on_ground_truth(tasks, banks, ask_all, sampling)
    return _filter_on_failures(tasks, banks, ask_all, sampling, failures, variant)


def _generate(tasks: Mapping[TaskKey, Clip], ask_all: AskAll) -> dict[TaskKey, Bank]:
    prompt = load_prompt("memobench_generate.v1")
    banks: dict[TaskKey, Bank] = {}
    questions: dict[TaskKey, Question] = {}
    for key, clip in tasks.items():
        try:
            shown = other_footage(clip.ground_truth) if clip.ground_truth else footage(clip)
            questions[key] = compose(
                clip, "vqa_generate", prompt, "questions", (GENERATED,), shown, (0,), generation_prompt=clip.prompt or "(no prompt)"
            )
        except NotScorable as error:
            banks[key] = Bank(reason=error.reason, detail=error.detail)
    for key, asked in zip(questions, ask_all(list(questions.values())), strict=True):
        answer = asked.answers[0]
        try:
            if answer.reason is not None:
                raise NotScorable(answer.reason, answer.verbatim)
            banks[key] = Bank(parse_bank(answer.verbatim), "generated")
        except NotScorable as error:
            banks[key] = Bank(reason=error.reason, detail=error.detail)
    return banks


def _filter_on_ground_truth(
    tasks: Mapping[TaskKey, Clip], banks: dict[TaskKey, Bank], ask_all: AskAll, sampling: Sampling
) -> dict[TaskKey, Bank]:
    prompt = load_prompt("memobench_filter.v1")
    questions = {}
    for key, bank in banks.items():
        truth = tasks[key].ground_truth
        if bank.questions and truth:
            shown = other_footage(truth)
            questions[key] = bank_question(
                tasks[key], "vqa_ground_truth", prompt, bank.questions, shown, sampling, questions=listing(bank.questions)
            )
    filtered = dict(banks)
    for key, looked in _looks(questions, ask_all).items():
        kept = ground_truth_filter(banks[key].questions, looked.answers)
        filtered[key] = _reduced(banks[key], kept, "removed_by_ground_truth", looked)
    return filtered


def _filter_on_failures(
    tasks: Mapping[TaskKey, Clip],
    banks: dict[TaskKey, Bank],
    ask_all: AskAll,
    sampling: Sampling,
    failures: Mapping[TaskKey, KnownFailure],
    variant: Literal["paper", "official"],
) -> dict[TaskKey, Bank]:
    plain, hinted = {}, {}
    for key, failure in failures.items():
        bank = banks.get(key, Bank())
        if not bank.questions:
            continue
        shown: Footage = footage(failure.clip)
        asked = listing(bank.questions)
        first, second = load_prompt("memobench_filter.v1"), load_prompt("memobench_filter_hint.v1")
        plain[key] = bank_question(failure.clip, "vqa_failure", first, bank.questions, shown, sampling, questions=asked)
        hinted[key] = bank_question(
            failure.clip, "vqa_failure_hint", second, bank.questions, shown, sampling, questions=asked, hint=failure.hint
        )
    looks, hinted_looks = _looks(plain, ask_all), _looks(hinted, ask_all)
    filtered = dict(banks)
    for key, bank in ((key, banks[key]) for key in plain):
        look, again = looks[key], hinted_looks[key]
        kept = failure_filter(bank.questions, look.answers, again.answers, variant)
        tried = replace(bank, on_failure={**look.answers, **again.answers})
        needed = (again,) if variant == "paper" else (look, again)  # the paper's reading rests on the hinted look alone
        filtered[key] = _reduced(tried, kept, "removed_by_failure", *needed)
    return filtered


@dataclass(frozen=True)
class _Look:
    """What a judge said about one video: question id -> yes/no, and of the rest the first one's reason with the words."""

    answers: Mapping[str, str]
    reason: Reason | None = None
    detail: str = ""


def _looks(questions: Mapping[TaskKey, Question], ask_all: AskAll) -> dict[TaskKey, _Look]:
    looks = {}
    for key, asked in zip(questions, ask_all(list(questions.values())), strict=True):
        answers = {answer.part.question_id.rpartition(".")[2]: answer.answer for answer in asked.answers if answer.reason is None}
        unread = next((answer for answer in asked.answers if answer.reason is not None), None)
        looks[key] = _Look(answers) if unread is None else _Look(answers, unread.reason, unread.verbatim)
    return looks


def _reduced(bank: Bank, kept: tuple[BankQuestion, ...], removed_by: str, *looks: _Look) -> Bank:
    """The bank with the questions kept. One that loses them all to a call without answers says so: no filter has looked at them."""
    gone = tuple(question.id for question in bank.questions if question not in kept)
    unread = None if kept else next((look for look in looks if look.reason is not None), None)
    if unread is not None and not unread.answers:
        return replace(bank, questions=(), reason=unread.reason, detail=unread.detail)
    reduced = replace(bank, questions=kept, **{removed_by: gone})  # type: ignore[arg-type]
    if kept:
        return reduced
    told = f"every question was {removed_by.replace('_', ' ')}"
    if unread is None:
        return replace(reduced, reason=Reason.TOO_FEW_VALUES, detail=told)
    return replace(reduced, reason=unread.reason, detail=f"{told}, some because they have no answer: {unread.detail}")


def bank_records(banks: Mapping[TaskKey, Bank]) -> str:
    """The banks as JSON, for a person and for human review (the paper's third filter)."""
    content = [
        {
            "setting": setting,
            "clip_id": clip_id,
            "source": bank.source,
            "reason": "" if bank.reason is None else str(bank.reason),
            "detail": bank.detail,
            "removed_by_ground_truth": list(bank.removed_by_ground_truth),
            "removed_by_failure": list(bank.removed_by_failure),
            "questions": [question.record() for question in bank.questions],
        }
        for (setting, clip_id), bank in sorted(banks.items())
    ]
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
