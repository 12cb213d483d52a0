"""What is claimed of a metric: the side decides, the sentence names the population, table and sentence say the same."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import yaml
from lookback.agreement import Plan, analyse
from lookback.cli.study import example

MODELS, SCENES = [f"m{k}" for k in range(6)], [f"s{k:02d}" for k in range(12)]


def study(kind: str, fingerprint: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Votes of three people and a score that follows the clips' quality, or knows the model alone."""
    rng = np.random.default_rng(3)
    level, name = rng.normal(0, 0.8, len(MODELS)), rng.normal(0, 1, len(MODELS))
    own = rng.normal(0, 0.8, (len(MODELS), len(SCENES)))
    quality = level[:, None] + own
    known = name if fingerprint else level + (0.1 * name if kind == "rating" else 0)
    score = known[:, None] + (0 if fingerprint else own) + rng.normal(0, 0.3, own.shape)
    where = {"benchmark": "mystudy", "setting": ""}
    scores = [
        {**where, "model_id": m, "clip_id": s, "metric": "my_metric", "value": score[i, j], "reason": ""}
        for i, m in enumerate(MODELS)
        for j, s in enumerate(SCENES)
    ]
    votes = []
    for j, scene in enumerate(SCENES):
        for who in ("ann", "bob", "cyd"):
            seen = quality[:, j] + rng.normal(0, 0.4, len(MODELS))
            row = {**where, "scene": scene, "annotator": who}
            if kind == "rating":
                row |= {"task": "rating", "dimension": "realism", "clip_a": scene}
                votes += [{**row, "model_a": m, "label": int(np.clip(round(3 + seen[i]), 1, 5))} for i, m in enumerate(MODELS)]
                continue
            row |= {"task": "pairwise", "dimension": "consistency", "clip_a": scene, "clip_b": scene}
            for a, b in combinations(range(len(MODELS)), 2):
                label = "A" if seen[a] > seen[b] else "B"
                votes.append({**row, "model_a": MODELS[a], "model_b": MODELS[b], "label": label})
    return pd.DataFrame(votes), pd.DataFrame(scores)


def plan(kind: str, **changes: object) -> Plan:
    values = yaml.safe_load(example(kind, "plan")) | {"resamples": 100, "estimands": ["bridge", "rating"]}
    return Plan.model_validate(values | changes)


@pytest.mark.parametrize("kind", ["pairwise", "rating"])
def test_one_scene_makes_no_claim_about_models_either_and_says_why(kind):
    votes, scores = (table[table[column] == "s00"] for table, column in zip(study(kind), ("scene", "clip_id"), strict=True))
    chosen = plan(kind, population={"claims": "models"})
    table = analyse(votes, scores, chosen)["bridge" if kind == "pairwise" else "rating_metric"]
    assert table["claim"].tolist() == ["not tested"]
    assert "one scene only: nothing to resample, no interval." in table.attrs["reading"]


def test_annotators_as_clusters_do_not_make_a_score_that_knows_nothing_right():
    chosen = plan("pairwise", aggregate="votes", clusters={"agreement": "scene", "metric": "annotator"}, estimands=["bridge"])
    votes, scores = study("pairwise")
    claims = []
    for seed in range(8):
        noise = scores.assign(value=np.random.default_rng(seed).normal(size=len(scores)))
        table = analyse(votes, noise, chosen)["bridge"]
        claims.append(table["claim"].item())
    assert claims.count("open") >= 7
    assert "in other scenes for these models" in table.attrs["reading"]


def turned(plan: Plan) -> Plan:
    """The plan with every metric entered the wrong way round."""
    families = {
        name: f.model_copy(
            update={"dimensions": {d: a.model_copy(update={"higher_is_better": False}) for d, a in f.dimensions.items()}}
        )
        for name, f in plan.families.items()
    }
    return plan.model_copy(update={"families": families})


@pytest.mark.parametrize(("kind", "names"), [("pairwise", ["bridge", "ranking"]), ("rating", ["rating_metric"])])
def test_a_metric_entered_the_wrong_way_round_is_contradicted(kind, names):
    votes, scores = study(kind)
    asked = plan(kind, estimands=["ranking", "bridge", "rating"])
    right, wrong = (analyse(votes, scores, own) for own in (asked, turned(asked)))
    for name in names:
        assert right[name]["claim"].tolist() == ["supported"]
        assert wrong[name]["claim"].tolist() == ["contradicted"]
        read = wrong[name].attrs["reading"]
        assert "Supported" not in read and "Contradicted for " in read and ": the metric runs against people." in read


@pytest.mark.parametrize(("kind", "name"), [("pairwise", "bridge"), ("rating", "rating_metric")])
def test_the_plans_population_makes_one_reading_primary_and_the_sentence_names_it(kind, name):
    votes, scores = study(kind)
    for claims, primary, words in (
        ("scenes", "within", "in other scenes for these models."),
        ("models", "between", "for other models like these."),
        ("models_and_scenes", "pooled", "in other scenes for other models like these."),
    ):
        table = analyse(votes, scores, plan(kind, population={"claims": claims}))[name]
        row = table.iloc[0]
        assert row["primary"] == primary
        assert row["p_corrected"] == pytest.approx(row[f"{primary}_rho_p"])
        assert (row["claim"] == "supported") == (row["p_corrected"] < 0.05 and row[f"{primary}_rho"] > 0)
        shown = f"{row[f'{primary}_rho']:.2f}, {row[f'{primary}_rho_low']:.2f} to {row[f'{primary}_rho_high']:.2f}"
        assert f"{shown}), {words}" in table.attrs["reading"]


@pytest.mark.parametrize(("kind", "name"), [("pairwise", "bridge"), ("rating", "rating_metric")])
def test_a_metric_that_knows_the_model_alone_is_open_in_other_scenes(kind, name):
    row = analyse(*study(kind, fingerprint=True), plan(kind))[name].iloc[0]
    assert row["claim"] == "open"
    assert abs(row["within_rho"]) < 0.2


def test_the_rankings_test_and_interval_are_about_other_models():
    votes, scores = study("pairwise")
    row = analyse(votes, scores, plan("pairwise", estimands=["ranking"]))["ranking"].iloc[0]
    half = 1.959964 * np.sqrt((1 + row["rho"] ** 2 / 2) / (len(MODELS) - 3))  # Bonett & Wright 2000
    assert row["rho_low"] == pytest.approx(np.tanh(np.arctanh(row["rho"]) - half), abs=1e-6)
