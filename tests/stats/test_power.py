"""Power by simulation: the textbook formula where it holds, the level under equality, and the command's answer."""

from __future__ import annotations

import numpy as np
import pytest
import typer
from lookback.cli import power as command
from lookback.errors import UsageError
from lookback.stats import PlannedStudy, study_power
from lookback.stats.power import GRID
from lookback.stats.simulation import drawn_votes
from typer.testing import CliRunner


def test_independent_pairs_need_as_many_votes_as_the_formula_says():
    # two models, one vote a scene: every vote is independent. Fleiss, Levin & Paik (2003), eq. 2.8, 0.7 against 0.5, 80 % power: 47
    scenes = 47
    found = study_power(PlannedStudy(models=2, scenes=scenes, raters=1, ties=0.0, agreement=0.0, studies=2000), win_ratio=0.7)
    assert found.table.set_index("win_ratio").loc[0.7, "power"] == pytest.approx(0.8, abs=0.04)
    assert found.vote_effect == pytest.approx(1.0, abs=0.1)
    assert found.pair_effect == pytest.approx(1.0, abs=0.1)
    assert (found.decided_pairs, found.plan.pairs, found.plan.votes) == (scenes, scenes, scenes)


def test_votes_on_one_pair_are_worth_less_than_votes_on_many():
    many = study_power(PlannedStudy(models=4, scenes=30, raters=1, studies=400))
    repeated = study_power(PlannedStudy(models=4, scenes=10, raters=3, studies=400))
    assert many.plan.votes == repeated.plan.votes == 180
    assert repeated.vote_effect > 1.5 * many.vote_effect
    assert repeated.smallest > many.smallest
    assert repeated.decided_pairs < repeated.plan.pairs


@pytest.mark.parametrize(("agreement", "ties"), [(0.0, 0.2), (0.4, 0.2), (0.4, 0.0), (0.8, 0.5)])
def test_agreement_is_the_correlation_of_the_votes_themselves(agreement, ties):
    model = PlannedStudy(models=2, scenes=5, raters=2, ties=ties, agreement=agreement).truth(0.5)
    votes = drawn_votes(model, np.random.default_rng(1), 1, 60_000, 2).reshape(-1, 2)
    assert np.corrcoef(votes.T)[0, 1] == pytest.approx(agreement, abs=0.015)
    assert (votes == 0).mean() == pytest.approx(ties, abs=0.01)


def test_equal_models_are_told_apart_no_more_often_than_the_level():
    found = study_power(PlannedStudy(models=5, scenes=12, raters=3, studies=2000))
    assert found.false_alarms == pytest.approx(0.05, abs=0.02)
    assert found.table["power"].is_monotonic_increasing
    assert (found.table["power_corrected"] <= found.table["power"]).all()
    assert (found.table["power_corrected"] < found.table["power"]).any()


def test_a_model_that_few_scenes_show_is_no_finding():
    # two of fifteen pairs a scene: a model is in about five of eight scenes, and below five the analysis has no test
    found = study_power(PlannedStudy(models=6, scenes=8, raters=3, pairs_per_scene=2, studies=1000))
    assert found.false_alarms < 0.05


def test_a_study_that_finds_the_smallest_ratio_of_the_grid_says_that_one():
    found = study_power(PlannedStudy(models=2, scenes=20, raters=1, power=0.01, studies=200))
    assert found.smallest == GRID[0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"scenes": 1}, "plan at least 2"), ({"models": 1}, "at least 2 models"), ({"pairs_per_scene": 9}, "1 to that")],
)
def test_a_design_that_cannot_be_is_refused(wrong, said):
    with pytest.raises(UsageError, match=said):
        PlannedStudy(**{"models": 3, "scenes": 8, "raters": 3, **wrong})


def test_the_command_keeps_pairs_votes_and_decided_pairs_apart_and_answers():
    study = typer.Typer()
    study.callback()(lambda: None)
    command.register(study)
    asked = ["power", "--models", "4", "--scenes", "20", "--raters", "3", "--pairs-per-scene", "3", "--studies", "200"]
    result = CliRunner().invoke(study, asked)
    assert result.exit_code == 0
    for line in (
        "pairs          60 (3 of 6",
        "votes          180",
        "decided pairs  about 5",
        "independent ones",
        "Answer: a win ratio of 0.6",
    ):
        assert line in result.output
    wrong = CliRunner().invoke(study, [*asked, "--seed", "-1"])
    assert wrong.exit_code == 2 and "--seed" in wrong.output
