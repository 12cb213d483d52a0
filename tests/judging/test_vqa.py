"""MemoBench's question banks: generation, both filters in both variants, scoring, and the discrimination audit."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from lookback.benchmarks.memobench.vqa.audit import bank_audit, discrimination_audit, discrimination_summary
from lookback.benchmarks.memobench.vqa.bank import (
    DIMENSIONS,
    STAGES,
    BankQuestion,
    QuestionFile,
    clip_number,
    from_part_id,
    parse_bank,
    read_question_file,
    read_question_files,
)
from lookback.benchmarks.memobench.vqa.pipeline import KnownFailure, failure_filter, ground_truth_filter, make_banks
from lookback.errors import ContractError, NotScorable, Reason
from lookback.judging.asking import Asked
from lookback.judging.parsing import unanswered
from lookback.judging.question import Answer
from lookback.judging.tasks import Sampling

SHARED = Path(__file__).resolve().parents[3] / "shared" / "clips" / "memobench" / "vqa_questions"
needs_files = pytest.mark.skipif(not SHARED.is_dir(), reason="the published question files are not in ../shared/clips")


def bank_text(per_dimension=6, polarity=lambda number: "Positive" if number % 2 else "Negative"):
    rows = [(name, number) for name in DIMENSIONS for number in range(per_dimension)]
    sides = [polarity(number) for _, number in rows]
    made = [{"ID": k, "Dimension": name, "Question": f"Q{k}?"} for k, (name, _) in enumerate(rows, 1)]
    return json.dumps([{**row, "Dimension Polarity": side} for row, side in zip(made, sides, strict=True)])


def test_a_generated_bank_has_six_questions_of_mixed_polarity_per_dimension():
    assert len(parse_bank(bank_text())) == 24
    assert len(parse_bank(f"Here you are:\n```json\n{bank_text()}\n```")) == 24
    twice = bank_text().replace('"ID": 2,', '"ID": 1,')
    for broken in (bank_text(5), bank_text(polarity=lambda n: "Positive"), "[]", "no", json.dumps([{"ID": 1}]), twice):
        with pytest.raises(NotScorable) as error:
            parse_bank(broken)
        assert error.value.reason == Reason.JUDGE_UNPARSED


def test_question_ids_in_tables_say_dimension_and_polarity():
    question = BankQuestion("7", "Object and Background", "negative", "Does it change?")
    assert question.part_id == "object_and_background.negative.7"
    assert from_part_id(question.part_id, question.text) == question
    assert from_part_id("bank") is None


def test_the_ground_truth_filter_keeps_what_is_answered_right():
    bank = parse_bank(bank_text())
    answers = {question.id: "yes" if question.polarity == "positive" else "no" for question in bank}
    answers["1"] = "yes" if answers["1"] == "no" else "no"
    del answers["2"]
    assert [question.id for question in ground_truth_filter(bank, answers)] == [str(n) for n in range(3, 25)]


def answer_all(question, right=True):
    """Answers to every question of a bank, all right or all wrong."""
    good = ["yes" if part.polarity == "positive" else "no" for part in question.parts]
    wrong = {"yes": "no", "no": "yes"}
    return [Answer(part, word if right else wrong[word]) for part, word in zip(question.parts, good, strict=True)]


@pytest.fixture
def banks(make_clip, video):
    """The bank of one clip. `how` answers the calls of the filters: task -> function of the question."""
    clip = make_clip(benchmark="memobench", ground_truth=str(video))
    failure = {(clip.setting, clip.clip_id): KnownFailure(clip, "it melts")}

    def make(variant="paper", **how):
        def ask_all(questions):
            asked = []
            for question in questions:
                said = [Answer(question.parts[0], "yes", 1.0, verbatim=bank_text())] if question.task == "vqa_generate" else None
                asked.append(Asked(question, 0, said or how[question.task](question)))
            return asked

        known = failure if "vqa_failure" in how else {}
        return make_banks([clip], ask_all, Sampling(), known, variant)[(clip.setting, clip.clip_id)]

    return make


@pytest.mark.parametrize("reason", [Reason.BUDGET_SPENT, Reason.JUDGE_UNPARSED, Reason.JUDGE_FAILED])
def test_a_filter_call_without_answers_gives_its_own_reason_and_removes_nothing(reason, banks):
    def silent(question):
        return unanswered(question, reason, "the words")

    lost = banks(vqa_ground_truth=silent)
    assert (lost.questions, lost.reason, lost.detail, lost.removed_by_ground_truth) == ((), reason, "the words", ())
    wrong = partial(answer_all, right=False)
    for variant, plain, hinted in (("paper", wrong, silent), ("official", silent, wrong), ("official", wrong, silent)):
        lost = banks(variant, vqa_ground_truth=answer_all, vqa_failure=plain, vqa_failure_hint=hinted)
        assert (lost.questions, lost.reason, lost.removed_by_failure) == ((), reason, ()), variant
    kept = banks("paper", vqa_ground_truth=answer_all, vqa_failure=silent, vqa_failure_hint=wrong)
    assert (len(kept.questions), kept.reason) == (24, None), "the paper's reading rests on the hinted look alone"


def test_a_filter_that_read_every_answer_and_kept_none_has_too_few_and_a_partly_read_one_says_so(banks):
    none_right = banks(vqa_ground_truth=partial(answer_all, right=False))
    assert (none_right.reason, len(none_right.removed_by_ground_truth)) == (Reason.TOO_FEW_VALUES, 24)

    def half(question):
        unread = unanswered(question, Reason.JUDGE_UNPARSED, "maybe")
        return [*unread[:12], *answer_all(question, right=False)[12:]]

    partly = banks(vqa_ground_truth=half)
    assert (partly.reason, len(partly.removed_by_ground_truth)) == (Reason.JUDGE_UNPARSED, 24)
    assert "no answer: maybe" in partly.detail


def test_a_bank_keeps_its_answers_on_the_known_failure_for_the_audit(banks):
    wrong = partial(answer_all, right=False)
    bank = banks("official", vqa_ground_truth=answer_all, vqa_failure=answer_all, vqa_failure_hint=answer_all)
    audit = bank_audit({("natural25", "a"): bank})
    assert (len(audit), int(audit["passes_failure"].sum())) == (24, 24), "the released filter keeps what cannot tell"
    sharp = banks("paper", vqa_ground_truth=answer_all, vqa_failure=answer_all, vqa_failure_hint=wrong)
    assert int(bank_audit({("natural25", "a"): sharp})["passes_failure"].sum()) == 0
    untried = banks(vqa_ground_truth=answer_all)
    assert bank_audit({("natural25", "a"): untried}).empty, "no known failure, nothing to audit"


def test_the_two_readings_of_the_failure_filter_keep_opposite_questions():
    """One question fails the known failure with the hint; the other passes with and without it. The paper keeps the first."""
    sharp = BankQuestion("1", "Continuity of Memory", "positive", "Is it there?")
    blunt = BankQuestion("2", "Continuity of Memory", "positive", "Is there a sky?")
    plain, hinted = {"1": "yes", "2": "yes"}, {"1": "no", "2": "yes"}
    assert failure_filter([sharp, blunt], plain, hinted, "paper") == (sharp,)
    assert failure_filter([sharp, blunt], plain, hinted, "official") == (blunt,)
    assert failure_filter([sharp, blunt], plain, {}, "official") == ()


@needs_files
def test_the_official_filters_regenerate_the_published_banks():
    """The published answers on the ground truth and the failure clip give exactly the published final questions."""
    files = read_question_files(SHARED)
    assert set(files) == {("barnyard", 1), ("nordic", 1)}
    kept = {}
    for key, file in files.items():
        assert len(file.start) == 24
        bank = ground_truth_filter(file.start, file.ground_truth)
        assert failure_filter(bank, file.failure, file.revised, "official") == file.final
        kept[key] = [question.id for question in failure_filter(bank, file.failure, file.revised, "paper")]
    assert kept == {("barnyard", 1): ["13"], ("nordic", 1): ["1", "3", "13", "17", "20", "23"]}


@needs_files
def test_the_audit_finds_that_no_published_question_here_fails_its_failure_clip():
    """The two files belong to the 860 published questions, of which 800 pass on a clip with a known failure."""
    audit = discrimination_audit(read_question_files(SHARED).values())
    assert (len(audit), int(audit["passes_failure"].sum())) == (41, 41)
    total = discrimination_summary(audit).set_index("dimension").loc["all"]
    assert (total["questions"], total["tried"], total["share_without_power"]) == (41, 41, 1.0)


def test_the_audit_counts_questions_with_and_without_power():
    sharp = BankQuestion("1", "Continuity of Memory", "positive", "Is it there?")
    blunt = BankQuestion("2", "Physics Adherence", "negative", "Does it melt?")
    untried = BankQuestion("3", "Physics Adherence", "negative", "Does it float?")
    file = QuestionFile("Bar", "1", (), {}, {"1": "yes", "2": "no"}, {"1": "no"}, (sharp, blunt, untried))
    audit = discrimination_audit([file])
    assert audit["passes_failure"].tolist() == [False, True, pd.NA]
    summary = discrimination_summary(audit).set_index("dimension")
    assert summary.loc["all", ["questions", "tried", "pass_on_failure"]].tolist() == [3, 2, 1]
    assert summary.loc["Continuity of Memory", "share_without_power"] == 0


def test_clip_ids_name_their_question_file():
    assert clip_number("Barnyard", "Barnyard_001") == ("barnyard", 1)
    assert clip_number("", "Nordic_012") == ("nordic", 12)
    assert clip_number("real", "007") == ("real", 7)
    assert clip_number("x", "nothing") is None


def test_a_broken_question_file_is_a_sentence(tmp_path):
    path = tmp_path / "Bar-1-questions.csv"
    path.write_text("scene,video_id\nBar,1\n")
    with pytest.raises(ContractError, match="has the columns"):
        read_question_file(path)
    path.write_text(",".join(("scene", "video_id", *STAGES)) + "\nBar,1,x,[],[],[],x\n")
    with pytest.raises(ContractError, match="JSON"):
        read_question_file(path)
    with pytest.raises(ContractError, match="no folder"):
        read_question_files(tmp_path / "nowhere")
