"""MemoBench's question banks: generation, both filters in both readings, scoring, and the discrimination audit."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from lookback.errors import ContractError, NotScorable, Reason
from lookback.judging.vqa import (
    BankQuestion,
    QuestionFile,
    discrimination_audit,
    failure_filter,
    ground_truth_filter,
    parse_bank,
    read_question_file,
    read_question_files,
)
from lookback.judging.vqa.audit import discrimination_summary
from lookback.judging.vqa.bank import DIMENSIONS, STAGES, clip_number, from_part_id

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


def test_the_two_readings_of_the_failure_filter_keep_opposite_questions():
    """One question that penalises the failure with the hint, one that passes with and without: the paper keeps the first."""
    sharp = BankQuestion("1", "Continuity of Memory", "positive", "Is it there?")
    blunt = BankQuestion("2", "Continuity of Memory", "positive", "Is there a sky?")
    plain, hinted = {"1": "yes", "2": "yes"}, {"1": "no", "2": "yes"}
    assert failure_filter([sharp, blunt], plain, hinted, "paper") == (sharp,)
    assert failure_filter([sharp, blunt], plain, hinted, "official") == (blunt,)
    assert failure_filter([sharp, blunt], plain, {}, "official") == ()


@needs_files
def test_the_official_filters_regenerate_the_published_banks():
    """From the published answers on the ground truth and the failure clip, exactly the published final questions come out."""
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
    """The two files are part of the 860 published questions, 800 of which pass on a known-failure clip."""
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
