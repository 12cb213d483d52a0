"""The simulated judge answers from the truth, is wrong at its declared rate, and repeats its answers for the same seed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.benchmarks.memobench.vqa.bank import DIMENSIONS, parse_bank
from lookback.benchmarks.wrbench.judging import probes
from lookback.demo.effects import LOSSES, RATED, VQA_LOSSES, damage
from lookback.demo.failures import FAILURES
from lookback.demo.judge import SimulatedJudge
from lookback.errors import BackendUnavailable, Reason
from lookback.judging.judges.base import JudgeContext
from lookback.judging.parsing import interpret
from lookback.judging.tasks import TASKS, Sampling
from lookback.params.stages import Judging


@pytest.fixture
def make_judge(tmp_path: Path, make_clip):
    """A judge that knows forty clips of three seconds; the subject is out of view in the second second."""

    def make(failure="none", severity=0.0, error_rate=0.0, seed=7, n=40):
        clips = [make_clip(k, n_frames=24, subset="human") for k in range(n)]
        record = tmp_path / "truth.npz"
        visibility = np.r_[np.ones(8), np.zeros(8), np.ones(8)]
        arrays = {"c2w": np.tile(np.eye(4), (24, 1, 1)), "intrinsics": np.array([[80.0, 0, 80], [0, 80, 48], [0, 0, 1]])}
        np.savez(record, visibility=visibility, **arrays)
        keys = [dict(zip(("benchmark", "setting", "model_id", "clip_id"), clip.key, strict=True)) for clip in clips]
        truth = pd.DataFrame([{**key, "failure": failure, "severity": severity, "record": str(record)} for key in keys])
        judge = SimulatedJudge(JudgeContext(Judging(error_rate=error_rate), seed=seed, truth=truth))
        return judge, clips

    return make


def answers(judge, question, repeat=0):
    return interpret(question, [asyncio.run(judge.ask(question, 0, repeat))])


def test_without_errors_it_says_what_the_truth_says(make_judge):
    judge, clips = make_judge()
    question = TASKS.get("judgeability").questions(clips[0], Sampling())[0]
    said = answers(judge, question)
    assert [answer.answer for answer in said] == ["yes", "no", "yes"]
    assert {answer.value_from for answer in said} == {"simulated"}
    assert judge.identity.simulated


def test_declared_errors_happen_at_about_their_rate(make_judge):
    """240 facts at a rate of 0.2: a binomial count within three standard deviations."""
    (right, clips), (wrong, _) = make_judge(), make_judge(error_rate=0.2)
    asked = [question for clip in clips for question in TASKS.get("judgeability").questions(clip, Sampling())[1:]]
    flips = [answers(right, question)[0].answer != answers(wrong, question)[0].answer for question in asked]
    assert len(flips) == 240
    assert abs(np.mean(flips) - 0.2) < 3 * np.sqrt(0.2 * 0.8 / 240)


def test_the_same_seed_gives_the_same_answers_and_repeats_differ(make_judge):
    (first, clips), (again, _), (other, _) = (
        make_judge(error_rate=0.3),
        make_judge(error_rate=0.3),
        make_judge(error_rate=0.3, seed=8),
    )
    asked = [TASKS.get("probe").questions(clip, Sampling())[0] for clip in clips]
    values = [[answers(judge, question)[0].value for question in asked] for judge in (first, again, other)]
    assert values[0] == values[1] != values[2]
    assert values[0] != [answers(first, question, repeat=1)[0].value for question in asked]


def test_more_severity_means_worse_answers(make_judge):
    means = []
    for severity in (0.0, 0.5, 1.0):
        judge, clips = make_judge("event_never_starts", severity)
        asked = [TASKS.get("probe").questions(clip, Sampling())[3] for clip in clips]
        means.append(np.mean([answers(judge, question)[0].value for question in asked]))
    assert means[0] > 0.85 > means[1] > 0.4 > means[2] > 0


def test_ratings_fall_from_five_to_one(make_judge):
    for severity, rating in ((0.0, 5), (0.5, 3), (1.0, 1)):
        judge, clips = make_judge("event_never_starts", severity)
        clip = clips[0].model_copy(update={"benchmark": "wrbench", "subset": "causal"})
        assert answers(judge, TASKS.get("state_progress").questions(clip, Sampling())[0])[0].value == rating


def test_its_question_bank_is_complete(make_judge):
    judge, clips = make_judge()
    question = TASKS.get("probe").questions(clips[0], Sampling())[0]
    reply = judge._bank(question)
    assert len(parse_bank(reply)) == 24
    assert "the main subject of the scene" in reply


def test_a_clip_of_another_world_is_refused(make_judge, make_clip):
    judge, _ = make_judge()
    stranger = TASKS.get("probe").questions(make_clip(999), Sampling())[0]
    assert answers(judge, stranger)[0].reason == Reason.MISSING_INPUT
    with pytest.raises(BackendUnavailable):
        SimulatedJudge(JudgeContext(Judging(), truth=None))


def test_every_failure_of_the_world_has_a_declared_loss_or_none():
    asked = {*DIMENSIONS, *RATED, *(probe.dimension for probe in probes())}
    for dimension in asked:
        assert damage(dimension, "none", 1.0) == 0
    known = {failure for table in (*VQA_LOSSES.values(), *LOSSES.values()) for failure in table}
    assert known <= set(FAILURES)
    hurt = {failure for failure in FAILURES if any(damage(dimension, failure, 1.0) > 0 for dimension in asked)}
    assert hurt == set(FAILURES) - {"none"}
