"""VQA pass rates by dimension (MemoBench section 3.5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lookback.benchmarks.memobench.metrics.shared import PACKAGE, memobench_metric
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_variant
from lookback.presets import Setting, presets_of
from lookback.scoring.contract import Item

if TYPE_CHECKING:
    from lookback.judging.verdicts import JudgedClip

DIMENSIONS = ("Instruction Following", "Object and Background", "Continuity of Memory", "Physics Adherence")
PRESETS = presets_of(PACKAGE, "vqa")


def vqa_pass_rate(
    answers: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]], *, variant: Variant = "paper"
) -> dict[str, float]:
    """Per dimension: (positive answered yes + negative answered no) / questions asked.

    Records as the benchmark writes them: questions with ID, Dimension, Dimension Polarity; answers with ID and Answer (or "Answer
    (Yes/No)"); ids as numbers or text. A question without a readable answer is not passed. Official counts the answers that came
    back and reads them as they are written (`_returned`), so that a dropped answer raises the score; a question without a polarity
    is positive. Corrected takes the polarity from the dimension's name, where the released question maker writes it: "Physics
    Adherence (Negative Polarity)".
    """
    require_variant(variant, tuple(PRESETS.settings))
    settings = PRESETS.settings[variant]
    if not questions:
        raise NotScorable(Reason.MISSING_INPUT, "no question was asked")
    count, digits = _returned if settings["answers_counted"] == "returned" else _asked, settings["raw_digits"]
    passed: dict[str, list[bool]] = {}
    for dimension, right in count(answers, questions, settings):
        passed.setdefault(dimension, []).append(right)
    if not passed:
        raise NotScorable(Reason.JUDGE_UNPARSED, "no question came back with an answer")
    rates = {dimension: sum(rights) / len(rights) for dimension, rights in passed.items()}
    return {dimension: round(rate, digits) if isinstance(digits, int) else rate for dimension, rate in rates.items()}


def _asked(
    answers: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]], settings: Mapping[str, Setting]
) -> Iterator[tuple[str, bool]]:
    """(dimension without the polarity that its name may state, passed) of every question."""
    given = {_identity(record): _yes_or_no(record, _keys(settings)) for record in answers}
    for question in questions:
        dimension, right = _plain_dimension(question), _passing_answer(question, str(settings["unstated_polarity"]))
        yield dimension, given.get(_identity(question)) == right


def _returned(
    answers: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]], settings: Mapping[str, Setting]
) -> Iterator[tuple[str, bool]]:
    """(dimension, passed) of every answer, by the letter as llm-vqa.py:269-304 counts.

    3 and "3" are different ids, and "Yes." is no yes. An answer to no question is one to a positive question, a second answer
    counts again, any polarity but "Positive" is negative, and the dimension is the answer's own. Where an answer names none, the
    released program ends; here it is the question's.
    """
    asked = {_id(question): question for question in questions}
    (key,) = _keys(settings)
    for record in answers:
        question = asked.get(_id(record), {})
        polarity = question.get("Dimension Polarity", str(settings["unstated_polarity"]).capitalize())
        dimension = str(record["Dimension"]) if "Dimension" in record else _plain_dimension(question or record)
        yield dimension, str(record.get(key, "")).strip().lower() == ("yes" if polarity == "Positive" else "no")


def _keys(settings: Mapping[str, Setting]) -> list[str]:
    """The names under which an answer may stand."""
    keys = settings["answer_keys"]
    assert isinstance(keys, list)
    return keys


def _plain_dimension(record: Mapping[str, Any]) -> str:
    """The dimension without the polarity that its name may state."""
    if "Dimension" not in record:
        raise NotScorable(Reason.INVALID_INPUT, f"the record with ID {_id(record)!r} names no Dimension")
    return str(record["Dimension"]).partition("(")[0].strip()


def _id(record: Mapping[str, Any]) -> Any:
    """The question's id as it is written."""
    if not str(record.get("ID", "")).strip():
        raise NotScorable(Reason.INVALID_INPUT, f"a record has no ID: {dict(record)}")
    return record["ID"]


def _identity(record: Mapping[str, Any]) -> str:
    """The question's id: 3, "3" and 3.0 are the same."""
    return str(_id(record)).strip().removesuffix(".0")


def _yes_or_no(record: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    for key in keys:
        word = str(record.get(key) or "").strip().strip(".").lower()
        if word in {"yes", "no"}:
            return word
    return None


def polarity_in(dimension: str) -> str:
    """The polarity that a dimension's name states in brackets; empty when it states none."""
    found = re.search(r"\((positive|negative)( polarity)?\)", dimension.lower())
    return found.group(1) if found else ""


def _passing_answer(question: Mapping[str, Any], unstated: str) -> str:
    polarity = str(question.get("Dimension Polarity", "")).strip().lower()
    if not polarity and unstated == "from_dimension":
        polarity = polarity_in(str(question["Dimension"]))
    if polarity not in {"positive", "negative"}:
        raise NotScorable(
            Reason.INVALID_INPUT, f"question {question.get('ID')}: polarity must be Positive or Negative, not '{polarity}'"
        )
    return "yes" if polarity == "positive" else "no"


def vqa_dimension(judged: JudgedClip, dimension: str) -> Item:
    """(positive & yes + negative & no) / questions asked, in [0,1]; official divides by the questions that came back."""
    from lookback.benchmarks.memobench.vqa.bank import from_part_id

    verdicts = judged.verdicts("vqa")
    asked = {
        name: question for name in verdicts if (question := from_part_id(name)) is not None and question.dimension == dimension
    }
    if not asked:
        missing = next((verdict for verdict in verdicts.values() if verdict.reason is not None), None)
        reason = Reason.MISSING_INPUT if missing is None or missing.reason is None else missing.reason
        raise NotScorable(reason, f"no {dimension} question was asked" + (f": {missing.verbatim[:200]}" if missing else ""))
    unread = [verdicts[name].reason for name in asked if verdicts[name].reason is not None]
    if len(unread) == len(asked):
        raise NotScorable(unread[0] or Reason.JUDGE_UNPARSED, f"none of {len(asked)} {dimension} questions has an answer")
    questions = [question.record() for question in asked.values()]
    answers = [{"ID": question.id, "Answer": verdicts[name].answer} for name, question in asked.items() if verdicts[name].answer]
    rate = vqa_pass_rate(answers, questions, variant=judged.variant)[dimension]  # type: ignore[arg-type]
    return Item(rate, detail=f"{len(unread)} of {len(asked)} unanswered" if unread else "", n_units=len(asked))


def _register(dimension: str) -> Callable[[JudgedClip], Item]:
    @memobench_metric(
        f"vqa_{dimension.lower().replace(' ', '_').replace('object_and', 'object')}",
        title=f"VQA {dimension}",
        unit="share of questions",
        needs=("video", "prompt"),
        roles=(),
        equation="(positive & yes + negative & no) / asked",
        source="MemoBench section 3.5",
        judge_tasks=("vqa",),
        preset="vqa",
    )
    def score(judged: JudgedClip) -> Item:
        return vqa_dimension(judged, dimension)

    return score


SCORES = {dimension: _register(dimension) for dimension in DIMENSIONS}
