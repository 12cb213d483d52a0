"""MemoBench's two studies with people (section 3.5): the survey of 96 questions, and the review of the question banks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lookback.benchmarks.memobench.metrics.vqa import DIMENSIONS
from lookback.benchmarks.memobench.vqa.bank import BankQuestion, parse_bank, read_question_files, slug
from lookback.benchmarks.memobench.vqa.pipeline import read_banks, read_known_failures
from lookback.clips import Clip
from lookback.desk.forms import Form, form_words, gold_item, of_benchmark
from lookback.desk.items import Context, Item, Question, Video, clip_context, ordered
from lookback.errors import ContractError, NotScorable, UsageError
from lookback.paths import resolve

if TYPE_CHECKING:
    from lookback.params import RunParams

NAME = "memobench"
SCENES, VERSIONS = 12, 4
ATTENTION = "This question checks the form itself, not the video: please answer No."
CHECKS = {
    "unambiguous": "Is the question unambiguous: do careful people all understand it in the same way?",
    "correctly_polarised": "Is its polarity right: does a faithful video get the answer that is named above?",
    "answerable": "Can the question be answered from the video alone?",
}


@dataclass(frozen=True)
class Banked:
    """A question of a bank with a clip of its task. The people see the clip's ground truth."""

    clip: Clip
    question: BankQuestion

    @property
    def dimension(self) -> str:
        name = slug(self.question.dimension)
        return "object_background" if name == "object_and_background" else name


@cache
def forms() -> tuple[Form, ...]:
    words = form_words(__package__)
    review = {question.id: question for question in _checks("")}
    return (
        Form("memobench_survey", NAME, words["memobench_survey"], {}, survey, instructed),
        Form("memobench_review", NAME, words["memobench_review"], review, reviewed, mispolarised),
    )


def survey(params: RunParams, clips: Sequence[Clip], seed: int) -> list[Item]:
    """8 questions per scene from 12 scenes, all four dimensions in both polarities, dealt out to four versions of 24.

    A run with fewer scenes gives a shorter survey with the same four versions.
    """
    by_scene: dict[str, list[Banked]] = {}
    for banked in bank_questions(params, clips):
        by_scene.setdefault(banked.clip.scene, []).append(banked)
    chosen = sorted(sorted(by_scene, key=lambda scene: ordered(seed, scene))[:SCENES])
    return [
        _asked(banked, version) for place, scene in enumerate(chosen) for banked, version in _dealt(by_scene[scene], place, seed)
    ]


def _dealt(questions: Sequence[Banked], place: int, seed: int) -> Iterator[tuple[Banked, int]]:
    """The questions of one scene, each with its version: one positive and one negative of each dimension, two per version.

    The versions rotate from scene to scene. Over 12 scenes each version holds 3 questions of each dimension and polarity. Where a
    bank lacks a polarity or a dimension, another of its questions takes the place.
    """
    left = sorted(questions, key=lambda banked: ordered(seed, banked.clip.clip_id, banked.question.part_id))
    slots = [(dimension, polarity) for polarity in ("positive", "negative") for dimension in DIMENSIONS]
    filled: dict[int, Banked] = {}
    for strict in (2, 1, 0):  # both fit; the dimension fits; any
        for slot, wanted in enumerate(slots):
            fits = (b for b in left if (b.question.dimension, b.question.polarity)[:strict] == wanted[:strict])
            found = None if slot in filled else next(fits, None)
            if found is not None:
                filled[slot] = found
                left.remove(found)
    for slot, banked in sorted(filled.items()):
        dimension, negative = slot % len(DIMENSIONS), slot // len(DIMENSIONS)
        yield banked, 1 + (dimension + place + 2 * negative) % VERSIONS


def _asked(banked: Banked, version: int) -> Item:
    dimension = f"{banked.dimension}#{banked.question.part_id}"
    question = Question(task="vqa", dimension=dimension, text=banked.question.text, answers="yes_no")
    return _about_truth(banked, (question,), block=f"version {version}")


def instructed(items: Sequence[Item]) -> list[Item]:
    """Gold: a question that says what to answer, one per survey version."""
    chosen = {item.block: item for item in items}
    asked = (item.questions[0].model_copy(update={"text": ATTENTION, "dimension": "attention"}) for item in chosen.values())
    return [
        gold_item(item, {question.id: "no"}, questions=(question,)) for item, question in zip(chosen.values(), asked, strict=True)
    ]


def reviewed(params: RunParams, clips: Sequence[Clip], seed: int) -> list[Item]:
    """One item per question of the banks: is it unambiguous, correctly polarised, and answerable from the video?"""
    own = of_benchmark(clips, NAME)
    named = params.judging.vqa_failures
    failures = read_known_failures(resolve(named), own) if named else {}
    items = []
    for banked in bank_questions(params, own):
        failure = failures.get((banked.clip.setting, banked.clip.clip_id))
        beside = (Video(path=failure.clip.video, caption="A known failure"),) if failure else ()
        items.append(_under_review(banked, beside, banked.question.polarity))
    return items


def _under_review(banked: Banked, beside: tuple[Video, ...], polarity: str) -> Item:
    item = _about_truth(banked, tuple(_checks(banked.question.part_id)))
    return item.model_copy(
        update={
            "videos": (*item.videos, *beside),
            "context": (Context(title="Question", lines=(banked.question.text,)), _polarity(polarity), *item.context),
        }
    )


def _polarity(polarity: str) -> Context:
    answer = "Yes" if polarity == "positive" else "No"
    return Context(title="Polarity", lines=(f"{polarity}: a faithful video gets the answer {answer}",))


def _checks(part_id: str) -> list[Question]:
    question = f"#{part_id}" if part_id else ""
    return [Question(task="review", dimension=name + question, text=text, answers="yes_no") for name, text in CHECKS.items()]


def mispolarised(items: Sequence[Item]) -> list[Item]:
    """Gold: a question whose stated polarity is turned round, one per scene. Only the polarity has a known answer."""
    gold = []
    for item in {item.scene: item for item in items}.values():
        (check,) = (question.id for question in item.questions if question.dimension.startswith("correctly_polarised"))
        stated = next(line.lines[0] for line in item.context if line.title == "Polarity")
        turned = _polarity("negative" if stated.startswith("positive") else "positive")
        context = tuple(turned if line.title == "Polarity" else line for line in item.context)
        gold.append(gold_item(item, {check: "no"}, context=context))
    return gold


def _about_truth(banked: Banked, questions: tuple[Question, ...], block: str = "") -> Item:
    from lookback.agreement.plan import GROUND_TRUTH  # the whole analysis comes with it; other forms start without

    clip = banked.clip
    return Item(
        benchmark=NAME,
        setting=clip.setting,
        scene=clip.scene,
        clip_a=clip.clip_id,
        model_a=GROUND_TRUTH,
        videos=(Video(path=str(clip.ground_truth), caption="Ground truth"),),
        questions=questions,
        context=clip_context(clip)[:1],  # the prompt; the ground truth itself shows the rest
        block=block,
    )


def bank_questions(params: RunParams, clips: Sequence[Clip]) -> list[Banked]:
    """The final question bank of every task with a ground truth: the run's own banks, or the files that the run names."""
    tasks = {(clip.setting, clip.clip_id): clip for clip in of_benchmark(clips, NAME) if clip.ground_truth}
    banks = _banks(params, tasks)
    found = [Banked(clip, question) for key, clip in sorted(tasks.items()) for question in banks.get(key, ())]
    if not found:
        raise UsageError(
            "No question bank is found for clips with a ground truth; run the judging stage, or name the folder of "
            "question files in judging.vqa_questions"
        )
    return found


def _banks(params: RunParams, tasks: Mapping[tuple[str, str], Clip]) -> dict[tuple[str, str], tuple[BankQuestion, ...]]:
    kept = params.paths.tables / "judging" / "vqa_banks.json"
    if not kept.is_file():
        folder = params.judging.vqa_questions
        files = read_banks(list(tasks.values()), read_question_files(resolve(folder))) if folder else {}
        return {key: bank.questions for key, bank in files.items()}
    try:
        records = json.loads(kept.read_text(encoding="utf-8"))
        return {(r["setting"], r["clip_id"]): parse_bank(json.dumps(r["questions"]), complete=False) for r in records}
    except (ValueError, TypeError, KeyError, NotScorable) as error:
        raise ContractError(f"{kept} is not a list of question banks ({error}); run the judging stage again") from None
