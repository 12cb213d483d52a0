"""One whole study from CSV to the report: what a reader concludes, against the truth that was put in.

Six models, twelve scenes, three annotators of whom cat answers at random. People compare every pair of models and rate every clip.
The score `good` follows quality; the score `finger` recognises the model and knows nothing of quality.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.agreement.analyse import analyse
from lookback.agreement.figures import draw
from lookback.agreement.importers import read_ratings
from lookback.agreement.plan import Plan, load_plan
from lookback.agreement.scores import read_scores
from lookback.cli.app import app
from lookback.paths import project_root
from lookback.tables import read_csv
from typer.testing import CliRunner

LEVELS = {"alpha": 1.2, "bravo": 0.8, "charlie": 0.8, "delta": 0.0, "echo": -0.8, "foxtrot": -2.0}
MODELS, PEOPLE = np.array(list(LEVELS)), np.array(["ann", "bob", "cat"])
METRICS = {"consistency": "good", "realism": "finger"}
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


def votes_and_scores(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The files of the study, drawn by the generators of docs/statistics.md."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(project_root() / "bench"))
        import study_generators as made
    truth = made.Truth(6, 12, 3, levels=tuple(LEVELS.values()), careless=1, score_spread=0.8)
    rng, votes, scores = np.random.default_rng(seed), [], []
    for dimension, metric in METRICS.items():
        own = made.replace(truth, within=0.8, follows=1.0) if metric == "good" else truth
        drawn = made.drawn_study(own, rng)
        scene = np.array([f"s{k}" for k in range(12)])
        first, second, answers = made.compared(own, drawn, rng)
        stars = made.rated(own, drawn, rng)
        for place, label in np.ndenumerate(answers):
            pair, clip, who = place
            row = {"task": "pairwise", "dimension": dimension, "scene": scene[clip], "annotator": PEOPLE[who]}
            a, b = (second, first) if (pair + clip) % 2 else (first, second)  # every other pair the other way round
            sides = {"model_a": MODELS[a[pair]], "clip_a": scene[clip], "model_b": MODELS[b[pair]], "clip_b": scene[clip]}
            votes.append({**row, **sides, "label": {1: "A", 0: "tie", -1: "B"}[-label if (pair + clip) % 2 else label]})
        for (model, clip, who), label in np.ndenumerate(stars):
            row = {"task": "rating", "dimension": dimension, "scene": scene[clip], "annotator": PEOPLE[who]}
            votes.append({**row, "model_a": MODELS[model], "clip_a": scene[clip], "label": str(label)})
        scores += [["own", "", MODELS[m], scene[s], metric, value, ""] for (m, s), value in np.ndenumerate(drawn.score)]
    columns = ["benchmark", "setting", "model_id", "clip_id", "metric", "value", "reason"]
    return pd.DataFrame(votes).assign(benchmark="own", setting=""), pd.DataFrame(scores, columns=columns)


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
