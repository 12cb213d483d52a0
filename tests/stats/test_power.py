"""Power by simulation: the analysis' own test, an independent simulation, the textbook formula where it holds, the plan's rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import typer
from lookback.agreement.comparison import BESIDE, RATIO, STRENGTH, model_tables
from lookback.agreement.plan import Majority, Plan
from lookback.agreement.power import power_lines, rules_of
from lookback.agreement.tables.metric import GROUP
from lookback.cli import power as command
from lookback.errors import NotScorable, UsageError
from lookback.stats import PlannedStudy, StudyRules, majority_vote, strength_comparisons, study_power
from lookback.stats.batches import strength_tests
from lookback.stats.power import GRID, analysed, drawn_counts, label_counts
from lookback.stats.simulation import drawn_votes
from scipy.stats import multivariate_normal, norm
from typer.testing import CliRunner

ANY_VOTES = StudyRules(min_votes=1)


def as_table(counts: np.ndarray, pairs: tuple[np.ndarray, np.ndarray]) -> pd.DataFrame:
    """One row per vote of one study."""
    found = np.argwhere(counts > 0)
    scene, rater, pair, outcome = np.repeat(found, counts[counts > 0].astype(int), axis=0).T
    names = {"model_a": pairs[0][pair].astype(str), "model_b": pairs[1][pair].astype(str)}
    return pd.DataFrame({"scene": scene, "annotator": rater, **names, "label": np.array([1, -1, 0])[outcome]})


@pytest.mark.parametrize(
    "design",
    [
        {"models": 4, "scenes": 8, "raters": 3},
        {"models": 4, "scenes": 6, "raters": 3, "pairs_per_scene": 2, "missing": 0.2},
        {"models": 2, "scenes": 3, "raters": 2},  # often without a fit
        {"models": 3, "scenes": 4, "raters": 2, "ties": 0.0},
        {"models": 3, "scenes": 3, "raters": 2, "ties": 0.05, "missing": 0.3},  # often without a tie
        {"models": 3, "scenes": 6, "raters": 5, "missing": 0.4, "tastes": 0.5, "rules": StudyRules(like_these=True)},
    ],
)
def test_the_test_is_that_of_the_analysis(design):
    plan = PlannedStudy(**design)
    truth = plan.truth(0.75)
    counts = drawn_counts(plan, truth, np.random.default_rng(3), 12)
    raters = "annotator" if plan.rules.like_these else None
    tests = strength_tests(counts, truth.pairs, annotators=plan.rules.like_these)
    for own, difference, p in zip(counts, *tests, strict=True):
        try:
            table = strength_comparisons(as_table(own, truth.pairs), "scene", annotator=raters).set_index(["first", "second"])
        except NotScorable:
            assert np.isnan(difference) and np.isnan(p)
            continue
        sign, names = (1, ("0", "1")) if ("0", "1") in table.index else (-1, ("1", "0"))
        expected = [sign * table.loc[names, "difference"], table.loc[names, "p"]]
        assert [difference, p] == pytest.approx(expected, rel=1e-6, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize(
    "plan",
    [
        Plan.model_construct(),
        Plan.model_construct(majority=Majority(rule="plurality", split="tie"), win_ratio_ties="drop", looks=2),
    ],
)
def test_a_simulated_study_says_what_the_report_would_say(plan):
    """Sizes at which strengths often do not exist, so that win ratios decide."""
    study = PlannedStudy(3, 4, 3, ties=0.1, rules=replace(rules_of(plan, 3), like_these=True))
    truth = study.truth(0.93)
    counts = drawn_counts(study, truth, np.random.default_rng(5), 10)
    study = replace(study, rules=rules_of(plan, 3))
    found = analysed(study, truth, counts)
    scales = set()
    for own, difference, p, n_labels in zip(counts, found.difference, found.p, found.labels, strict=True):
        votes = as_table(own, truth.pairs).assign(**dict.fromkeys(GROUP, "")).assign(kind="preference", clip_b="b")
        votes = votes.assign(item=votes["scene"].astype(str) + votes["model_a"] + votes["model_b"])
        matrix = votes.pivot(index="item", columns="annotator", values="label").astype(float)
        split = 0.0 if plan.majority.split == "tie" else None
        labels = majority_vote(matrix, [-1.0, 0.0, 1.0], rule=plan.majority.rule, split=split, min_votes=plan.majority.min_votes)
        items = votes.drop_duplicates("item").set_index("item").drop(columns="label").join(labels).reset_index()
        _, comparisons = model_tables(items.assign(cluster=items["scene"]), votes, plan)
        assert n_labels == items["label"].notna().sum()
        decisive = comparisons[comparisons["verdict"] != BESIDE].set_index(["first", "second"])
        row = decisive.loc[("0", "1") if ("0", "1") in decisive.index else ("1", "0")]
        scales.add(row["scale"])
        assert [abs(difference), p] == pytest.approx([row["difference"], row["p"]], rel=1e-6, nan_ok=True)
    assert scales == {STRENGTH, RATIO}


@pytest.mark.parametrize("rules", [StudyRules(), StudyRules(rule="plurality"), StudyRules(split="tie", min_votes=3)])
def test_labels_are_those_of_the_analysis(rules):
    votes = np.random.default_rng(0).choice([1.0, -1.0, 0.0, np.nan], size=(300, 5))
    counts = np.stack([(votes == sign).sum(axis=1) for sign in (1, -1, 0)], axis=1).astype(float)
    found = label_counts(counts, rules)
    split = 0.0 if rules.split == "tie" else None
    expected = majority_vote(pd.DataFrame(votes), [-1.0, 0.0, 1.0], rule=rules.rule, split=split, min_votes=rules.min_votes)[
        "label"
    ]
    said = [None if row.sum() == 0 else [1.0, -1.0, 0.0][int(row.argmax())] for row in found]
    assert said == expected.tolist() and found.sum(axis=1).max() == 1


@pytest.mark.long
@pytest.mark.parametrize(("raters", "gap"), [(3, 1.3), (1, 1.9)])
def test_power_equals_that_of_an_independent_simulation(raters, gap):
    """Plain loops with chances and correlations in closed form; of lookback only the analysis of each study."""
    models, scenes, studies, tie, alike = 4, 10, 500, 0.5, 0.5
    gaps = np.array([gap, gap, gap, 0, 0, 0])
    a, b = np.triu_indices(models, 1)
    total = np.exp(gaps / 2) + np.exp(-gaps / 2) + tie
    low, high = norm.ppf(np.exp(-gaps / 2) / total), norm.ppf(1 - np.exp(gaps / 2) / total)
    rng, found = np.random.default_rng(11), []
    for _ in range(studies):
        rows = []
        for scene in range(scenes):
            clip = rng.standard_normal(models)
            for pair, (i, j) in enumerate(zip(a, b, strict=True)):
                hidden = np.sqrt(alike / 2) * (clip[i] - clip[j]) + np.sqrt(1 - alike) * rng.standard_normal(raters)
                rows += [(scene, f"m{i}", f"m{j}", int(h > high[pair]) - int(h < low[pair])) for h in hidden]
        try:
            table = strength_comparisons(pd.DataFrame(rows, columns=["scene", "model_a", "model_b", "label"]), "scene")
        except NotScorable:
            found.append(1.0)
            continue
        row = table[(table["first"] == "m0") & (table["second"] == "m1")]
        found.append(float(row["p"].iloc[0]) if len(row) else 1.0)
    cut, ties = high[-1], tie / (2 + tie)
    corner = lambda x, y: multivariate_normal([0, 0], [[1, alike], [alike, 1]]).cdf([x, y])  # noqa: E731
    agreement = 2 * (corner(-cut, -cut) - (corner(-cut, 9) - corner(-cut, cut))) / (1 - ties)
    share = (np.exp(gap / 2) + tie / 2) / total[0]
    plan = PlannedStudy(models, scenes, raters, ties=ties, agreement=agreement, rules=ANY_VOTES, studies=1000)
    said = study_power(plan, share).table.set_index("share").loc[share]
    for level, name in ((0.05, "power"), (0.05 / 6, "power_corrected")):
        other = float(np.mean(np.array(found) < level))
        assert 0.1 < other < 0.95
        assert said[name] == pytest.approx(other, abs=2 * np.sqrt(other * (1 - other) * (1 / studies + 1 / 1000)))


def test_independent_pairs_need_as_many_votes_as_the_formula_says():
    # two models, one vote a scene: every vote is independent. Fleiss, Levin & Paik (2003), eq. 2.8, 0.7 against 0.5, 80 % power: 47
    plan = PlannedStudy(models=2, scenes=47, raters=1, ties=0.0, agreement=0.0, rules=ANY_VOTES)
    found = study_power(plan, share=0.7)
    assert found.table.set_index("share").loc[0.7, "label_power"] == pytest.approx(0.8, abs=0.04)
    assert found.vote_effect == pytest.approx(1.0, abs=0.1)
    assert (found.labels, found.plan.pairs, found.plan.votes) == (47, 47, 47)


def test_votes_on_one_pair_are_worth_less_than_votes_on_many():
    many = study_power(PlannedStudy(models=4, scenes=30, raters=1, rules=ANY_VOTES, studies=400))
    repeated = study_power(PlannedStudy(models=4, scenes=10, raters=3, studies=400))
    assert many.plan.votes == repeated.plan.votes == 180
    assert repeated.vote_effect > 1.5 * many.vote_effect
    assert repeated.smallest > many.smallest
    assert repeated.labels < repeated.plan.pairs


@pytest.mark.parametrize(("agreement", "ties"), [(0.0, 0.2), (0.4, 0.2), (0.4, 0.0), (0.8, 0.5)])
def test_agreement_is_the_correlation_of_the_votes_themselves(agreement, ties):
    model = PlannedStudy(models=2, scenes=5, raters=2, ties=ties, agreement=agreement).truth(0.5)
    votes = drawn_votes(model, np.random.default_rng(1), 1, 60_000, 2).reshape(-1, 2)
    assert np.corrcoef(votes.T)[0, 1] == pytest.approx(agreement, abs=0.015)
    assert (votes == 0).mean() == pytest.approx(ties, abs=0.01)


def test_the_share_of_votes_is_that_of_all_raters_and_their_own_preferences_cost_power():
    design = {"models": 3, "scenes": 12, "raters": 3, "agreement": 0.2, "studies": 400}
    alike, apart = PlannedStudy(**design), PlannedStudy(**design, tastes=0.8)
    votes = drawn_votes(apart.truth(0.7), np.random.default_rng(2), 4000, 12, 3, tastes=0.8)
    assert ((votes[:, :, 0] + 1) / 2).mean() == pytest.approx(0.7, abs=0.01)
    assert (votes[:, :, 2] == 0).mean() == pytest.approx(0.2, abs=0.01)
    found, other = study_power(alike, 0.7), study_power(apart, 0.7)
    assert other.vote_effect > found.vote_effect
    assert other.false_alarms > 0.1 > found.false_alarms


def test_equal_models_are_told_apart_no_more_often_than_the_level():
    found = study_power(PlannedStudy(models=5, scenes=12, raters=3))
    assert found.false_alarms == pytest.approx(0.05, abs=0.02)
    assert found.table["power"].is_monotonic_increasing
    assert (found.table["power_corrected"] <= found.table["power"]).all()
    assert (found.table["power_corrected"] < found.table["power"]).any()


def test_looks_share_the_level_and_without_holm_all_comparisons_have_that_of_one():
    design = {"models": 3, "scenes": 12, "raters": 3, "studies": 300}
    plan = Plan.model_construct(looks=4, multiplicity="none")
    rules = rules_of(plan, 3)
    assert rules.level == 0.0125 and not rules.holm
    found = study_power(PlannedStudy(**design, rules=rules))
    assert (found.table["power"] == found.table["power_corrected"]).all()
    assert (found.table["power"] <= study_power(PlannedStudy(**design)).table["power"].iloc[: len(found.table)]).all()
    assert any("level 0.0125 (0.05 shared by 4 looks)" in line for line in power_lines(found, 0.6, plan))


def test_a_study_that_finds_the_smallest_share_of_the_grid_says_that_one():
    found = study_power(PlannedStudy(models=2, scenes=20, raters=1, rules=ANY_VOTES, power=0.01, studies=200))
    assert found.smallest == GRID[0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"scenes": 1}, "plan at least 2"),
        ({"models": 1}, "at least 2 models"),
        ({"pairs_per_scene": 9}, "1 to that"),
        ({"raters": 1}, "leaves out every pair: a label needs 2 votes .* each has 1"),
        ({"missing": 1.0}, "missing votes"),
    ],
)
def test_a_design_that_cannot_be_is_refused(wrong, said):
    with pytest.raises(UsageError, match=said):
        PlannedStudy(**{"models": 3, "scenes": 8, "raters": 3, **wrong})


def test_the_command_reads_the_plan_keeps_pairs_votes_and_labels_apart_and_answers(tmp_path):
    study = typer.Typer()
    study.callback()(lambda: None)
    command.register(study)
    asked = ["power", "--models", "4", "--scenes", "20", "--pairs-per-scene", "3", "--studies", "200"]
    result = CliRunner().invoke(study, asked)
    assert result.exit_code == 0
    for line in (
        "pairs   60 (3 of 6",
        "votes   180",
        "labels  about 5",
        "independent ones",
        "a share of votes of 0.6 (win ratio 0.6",
    ):
        assert line in result.output
    alone = CliRunner().invoke(study, [*asked, "--raters", "1"])
    assert isinstance(alone.exception, UsageError) and "leaves out every pair" in str(alone.exception)
    text = "families: {}\nscales: {}\nmajority: {min_votes: 1}\n"
    (tmp_path / "plan.yaml").write_text(text)
    read = CliRunner().invoke(study, [*asked, "--raters", "1", "--plan", str(tmp_path / "plan.yaml")])
    assert read.exit_code == 0 and "labels  about 60" in read.output
    wrong = CliRunner().invoke(study, [*asked, "--seed", "-1"])
    assert wrong.exit_code == 2 and "--seed" in wrong.output
