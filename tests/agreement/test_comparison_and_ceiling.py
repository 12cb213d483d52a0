"""The analysis compares models and sets judges beside people; both tables follow from the votes, with and without scores."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.agreement import analyse
from lookback.stats import strength_comparisons, win_ratio_comparisons, win_ratios


@pytest.fixture(scope="module")
def only_people(study, plan):
    return analyse(study[0], None, plan.model_copy(update={"estimands": ("ranking",)}))  # these tables are of this estimand


def test_models_are_compared_without_scores_too(tables, only_people):
    for name in ("models", "comparisons"):
        assert only_people[name].equals(tables[name])
    assert "ceiling" not in only_people


def test_comparisons_are_those_of_the_majorities_and_of_the_votes(tables, study, plan):
    from lookback.agreement.validation import check_ratings
    from lookback.agreement.votes import analysis_units

    votes = check_ratings(study[0], plan)
    units = analysis_units(votes, plan)
    chosen = {"family": "wrbench_preference", "dimension": "visible_state"}
    own, pairs, cast = (t[(t[list(chosen)] == list(chosen.values())).all(axis=1)] for t in (tables["comparisons"], units, votes))
    pairs = pairs[pairs["label"].notna()].astype({"label": int})
    by_ratio = win_ratio_comparisons(pairs, "scene")
    assert own.loc[own["scale"] == "win ratio", "verdict"].eq("second scale: no verdict").all()
    np.testing.assert_allclose(own.loc[own["scale"] == "win ratio", "p_holm"], by_ratio["p_holm"])
    by_strength = strength_comparisons(cast.astype({"label": int}), "scene")
    primary = own[own["scale"] == "log strength"]
    np.testing.assert_allclose(primary["difference"], by_strength["difference"])
    assert (primary["verdict"] == np.where(by_strength["p_holm"] < 0.05, "first is better", "not told apart")).all()
    models = tables["models"][(tables["models"][list(chosen)] == list(chosen.values())).all(axis=1)]
    ratios = win_ratios(pairs).set_index("model")["win_ratio"]
    assert models["win_ratio"].tolist() == ratios.loc[models["model"]].tolist()
    assert models["value"].is_monotonic_decreasing and models["scale"].eq("log strength").all()
    # true quality rises with the models' number: the best and the worst share no letter
    assert not set(models["letters"].iloc[0]) & set(models["letters"].iloc[-1])
    assert models["model"].iloc[0] == "world-5"


def test_a_study_of_one_scene_gives_no_verdict(study, plan):
    few = study[0][study[0]["scene"].eq("scene00") & (study[0]["benchmark"] == "wrbench")]
    tables = analyse(few, study[1], plan.model_copy(update={"estimands": ("ranking", "bridge", "judgeability")}))
    assert tables["comparisons"]["verdict"].eq("not tested").all()
    assert tables["models"]["letters"].eq("a").all()
    assert tables["ceiling"]["verdict"].eq("not tested").all()
    assert "1 scene only: a comparison needs 2" in tables["models"].attrs["reading"]


def test_a_ceiling_stands_only_beside_the_rho_of_the_same_items(tables):
    assert "rho_ceiling" not in tables["bridge"] and "at most" not in tables["bridge"].attrs["reading"]
    assert "estimated ceiling 0." in tables["ceiling"].attrs["reading"]


def test_every_kind_of_question_with_a_judge_is_set_beside_people(tables, plan):
    ceiling = tables["ceiling"]
    assert set(ceiling["kind"]) == {"preference", "trigger", "judgeability", "vqa"}
    # people answer right in 90 %, the VQA judge in 95 %, the trigger judge in 85 %
    means = ceiling.groupby("kind")["difference"].mean()
    assert means["vqa"] > 0 > means["trigger"]
    assert ((ceiling["difference"] - (ceiling["judge"] - ceiling["people"])).abs() < 1e-12).all()
    assert (ceiling["p_corrected"] >= ceiling["difference_p"]).all() and (ceiling["p_corrected"] > ceiling["difference_p"]).any()
    side = np.where(ceiling["difference"] > 0, "above people", "below people")
    assert (ceiling["verdict"] == np.where(ceiling["p_corrected"] < plan.level, side, "not told apart from people")).all()


def test_the_design_counts_what_was_asked(tables, study):
    design = tables["study_design"]
    assert design["votes"].sum() == len(study[0])
    assert design.set_index("family").loc["wrbench_judgeability", ["models", "scenes", "items", "votes"]].tolist() == [
        6,
        20,
        120,
        360,
    ]
