"""WRBench's study with people (section 3.5): two videos and one claim on one axis; a return is first checked for judgeability."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from lookback.benchmarks.wrbench.benchmark import JUDGEABLE_FIRST, PREFERENCE
from lookback.clips import Clip
from lookback.desk.forms import Form, form_words, of_benchmark, pair, pairs, same_twice
from lookback.desk.items import Item, Question

if TYPE_CHECKING:
    from lookback.params import RunParams

NAME = "wrbench"
JUDGEABILITY = "Does the subject leave the view and come back clearly enough to be judged, in both videos?"


@cache
def forms() -> tuple[Form, ...]:
    catalogue = {question.id: question for axis in PREFERENCE for question in axis_questions(axis)}
    return (Form("wrbench_axes", NAME, form_words(__package__)["wrbench_axes"], catalogue, compared, same_twice),)


def compared(params: RunParams, clips: Sequence[Clip], seed: int) -> list[Item]:
    """One item per two models' clips and axis: the six axes are judged apart, each on a screen of its own."""
    return [pair(first, second, axis_questions(axis)) for first, second in pairs(of_benchmark(clips, NAME)) for axis in PREFERENCE]


def axis_questions(axis: str) -> list[Question]:
    """The claim of an axis. A re-observed axis first asks whether the return can be judged; without it nothing is compared."""
    claim = Question(task="pairwise", dimension=axis, text=PREFERENCE[axis], answers="preference")
    if axis not in JUDGEABLE_FIRST:
        return [claim]
    judgeable = Question(task="judgeability", dimension=axis, text=JUDGEABILITY, answers="yes_no")
    return [judgeable, claim.model_copy(update={"only_if": judgeable.id})]
