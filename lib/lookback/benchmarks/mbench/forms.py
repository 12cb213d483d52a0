"""MBench's two studies with people (section 5.3.1, appendix C.1): the trigger of one clip, and preferences between two."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from lookback.benchmarks.mbench.benchmark import PREFERENCE, TRIGGER
from lookback.clips import Clip
from lookback.desk.forms import Form, form_words, held_still, of_benchmark, pair, pairs, same_twice, single
from lookback.desk.items import Item, Question
from lookback.registry import BENCHMARKS

if TYPE_CHECKING:
    from lookback.params import RunParams

NAME = "mbench"


@cache
def forms() -> tuple[Form, ...]:
    words = form_words(__package__)
    preferences = [_preference(dimension, text) for dimension, (_, text) in PREFERENCE.items()]
    triggers = [_trigger(f"trigger_{subset}", text) for subset, text in TRIGGER.items()]
    return (
        Form("mbench_trigger", NAME, words["mbench_trigger"], {asked.id: asked for asked in triggers}, triggered, held_still),
        Form("mbench_pairwise", NAME, words["mbench_pairwise"], {asked.id: asked for asked in preferences}, compared, same_twice),
    )


def triggered(params: RunParams, clips: Sequence[Clip], seed: int) -> list[Item]:
    """One item per text-conditioned clip."""
    asked = [(clip, BENCHMARKS.get(NAME).yes_no_question(clip)) for clip in of_benchmark(clips, NAME)]
    return [single(clip, [_trigger(question.dimension, question.text)]) for clip, question in asked if question is not None]


def compared(params: RunParams, clips: Sequence[Clip], seed: int) -> list[Item]:
    """One item per two models' clips of a task, with all questions of its subset on one page (figure 4b)."""
    items = []
    for first, second in pairs(of_benchmark(clips, NAME)):
        questions = BENCHMARKS.get(NAME).pair_questions(first.setting, first.subset).questions
        if questions:
            items.append(pair(first, second, [_preference(dimension, text) for dimension, text in questions.items()]))
    return items


def _trigger(dimension: str, text: str) -> Question:
    return Question(task="trigger", dimension=dimension, text=text, answers="yes_no")


def _preference(dimension: str, text: str) -> Question:
    return Question(task="pairwise", dimension=dimension, text=text, answers="preference")
