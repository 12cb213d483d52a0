"""One whole study from CSV to the report: what a reader concludes, against the truth that was put in.

The same study goes through the annotation desk in tests/desk/test_whole_study_at_the_desk.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from lookback.agreement.analyse import analyse
from lookback.agreement.figures import draw
from lookback.agreement.importers import read_ratings
from lookback.agreement.plan import Plan, load_plan
from lookback.agreement.scores import read_scores
from lookback.cli.app import app
from lookback.tables import read_csv
from six_models import LEVELS, votes_and_scores
from typer.testing import CliRunner

PLAN = """
title: six models
files: {votes: votes.csv, scores: scores.csv}
resamples: 200
scales:
  answers: {categories: [-1, 0, 1], level: ordinal, labels: {A: 1, tie: 0, B: -1}}
  stars: {categories: [1, 2, 3, 4, 5], level: ordinal}
families:
  pairs:
    benchmark: own
    task: pairwise
    kind: preference
    scale: answers
    dimensions: {consistency: {metric: good}, realism: {metric: finger}}
  stars:
    benchmark: own
    task: rating
    kind: rating
    scale: stars
    dimensions: {consistency: {metric: good}, realism: {metric: finger}}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """The study's folder, analysed."""
    folder = tmp_path_factory.mktemp("study")
    votes, scores = votes_and_scores(seed=1)
    votes.to_csv(folder / "votes.csv", index=False)
    scores.to_csv(folder / "scores.csv", index=False)
    (folder / "plan.yaml").write_text(PLAN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "draw_figures", lambda tables, folder: [])
        done = CliRunner().invoke(app, ["agreement", "--plan", str(folder / "plan.yaml"), "--output", str(folder / "results")])
    assert done.exit_code == 0, (done.output, done.exception)
    return folder


@pytest.fixture(scope="module")
def table(study) -> Callable[[str], pd.DataFrame]:
    return lambda name: read_csv(study / "results" / f"{name}.csv")


@pytest.fixture(scope="module")
def readings(table) -> pd.Series:
    return table("readings").set_index("table")["reading"]


@pytest.mark.parametrize("name", ["bridge", "rating_metric"])
def test_the_true_metric_is_supported_and_the_fingerprint_is_not(table, readings, name):
    claims = table(name).set_index("dimension")["claim"]
    assert (claims["consistency"], claims["realism"]) == ("supported", "open")
    assert "Supported for consistency" in readings[name]
    assert "in other scenes for these models" in readings[name]
    assert "Supported for realism" not in readings[name]


def test_the_true_metric_entered_the_wrong_way_round_is_contradicted(study):
    plan = load_plan(study / "plan.yaml").model_dump()
    for family in plan["families"].values():
        family["dimensions"]["consistency"]["higher_is_better"] = False
    turned = Plan.model_validate({**plan, "estimands": ("bridge", "rating")})
    tables = analyse(read_ratings(study / "votes.csv"), read_scores(study / "scores.csv"), turned)
    for name in ("bridge", "rating_metric"):
        assert tables[name].set_index("dimension").loc["consistency", "claim"] == "contradicted"
        assert "Contradicted for consistency" in tables[name].attrs["reading"]
        assert "the metric runs against people" in tables[name].attrs["reading"]


def test_differences_of_models_that_are_told_are_true_and_most_are_told(table):
    found = table("comparisons")
    told = found[found["verdict"] == "first is better"]
    assert (told["first"].map(LEVELS) > told["second"].map(LEVELS)).all()
    for _, own in told.groupby(["family", "dimension", "scale"]):
        assert ("alpha", "foxtrot") in set(zip(own["first"], own["second"], strict=True))
    strengths = told[told["scale"] == "log strength"]
    assert strengths.groupby("dimension").size().min() >= 7  # of 14 that differ


def test_the_annotator_who_answers_at_random_is_flagged_in_both_forms_and_nobody_else(table, readings):
    flags = table("annotators").fillna("").set_index(["family", "annotator"])["flags"]
    assert set(flags[flags != ""].index) == {("pairs", "cat"), ("stars", "cat")}
    assert "cat (pairs: agrees less with the others)" in readings["annotators"]


def test_agreement_is_claimed_by_alpha_and_no_ceiling_is_called_a_limit(study, table):
    assert set(table("agreement")["claim"]) == {"supported"}
    text = (study / "results" / "agreement.md").read_text(encoding="utf-8")
    assert "beyond chance by AC" not in text
    assert "of at most" not in text


def test_a_sentence_tells_the_families_apart_and_counts_what_its_own_table_leaves_out(readings):
    assert "supported for consistency [pairs] (" in readings["agreement"] and "consistency [stars] (" in readings["agreement"]
    assert "split votes" not in readings["agreement"]  # they enter agreement
    assert "29 without a majority (split votes)" in readings["ranking"]


def test_the_flagged_annotator_is_left_out_once_and_the_true_metric_then_follows_people_better(table):
    found = table("influence")
    cat = found[(found["left_out"] == "annotator") & (found["name"] == "cat")].set_index(["family", "dimension"])["change"]
    assert len(cat) == 4
    assert cat["stars", "consistency"] > 0
