"""What must not depend on which clip is called A, and what equal values must stay: equal."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from lookback.agreement import analyse, load_plan
from lookback.cli.study import example

MODELS = ["m0", "m1", "m2", "m3"]
RENAMED = dict(zip(MODELS, ["z", "d", "y", "a"], strict=True))


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text(example("pairwise", "plan") + "resamples: 200\nestimands: [bridge]\n")
    return load_plan(path)


def study() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Six scenes, all pairs of four models with sides at random; scores in tenths, so that many differences are equal."""
    rng = np.random.default_rng(5)
    votes, scores = [], []
    for scene in (f"s{k}" for k in range(6)):
        tenths = {model: int(rng.integers(1, 9)) + k for k, model in enumerate(MODELS)}
        where = {"benchmark": "mystudy", "setting": ""}
        scores += [
            {**where, "model_id": m, "clip_id": scene, "metric": "my_metric", "value": v / 10, "reason": ""}
            for m, v in tenths.items()
        ]
        for pair in combinations(MODELS, 2):
            a, b = pair if rng.random() < 0.5 else pair[::-1]
            sides = {"model_a": a, "clip_a": scene, "model_b": b, "clip_b": scene}
            for who in ("ann", "bob", "cyd"):
                gap = tenths[a] - tenths[b] + rng.normal(1.5, 2)
                label = "A" if gap > 1 else "B" if gap < -1 else "tie"
                task = {"task": "pairwise", **where, "dimension": "consistency", "scene": scene}
                votes.append({**task, **sides, "annotator": who, "label": label})
    return pd.DataFrame(votes), pd.DataFrame(scores)


def test_equal_differences_of_scores_stay_tied(plan):
    votes, scores = study()
    plain, shifted, tenfold = (
        analyse(votes, scores.assign(value=change(scores["value"])), plan)["bridge"].iloc[0]
        for change in (lambda v: v, lambda v: v + 10, lambda v: (10 * v).round())
    )
    assert plain["pooled_rho"] == pytest.approx(tenfold["pooled_rho"], abs=1e-12)  # whole numbers have no rounding
    assert shifted["within_rho"] == pytest.approx(tenfold["within_rho"], abs=1e-12)


def test_answers_are_counted_as_given_and_pairs_in_both_orders(plan):
    votes, scores = study()
    names = votes.assign(model_a=votes["model_a"].map(RENAMED), model_b=votes["model_b"].map(RENAMED))
    first = analyse(votes, scores, plan)
    second = analyse(names, scores.assign(model_id=scores["model_id"].map(RENAMED)), plan)
    counts = votes["label"].value_counts()
    for tables in (first, second):
        given = tables["distributions"].set_index("answer")["votes"]
        assert given.to_dict() == {"-1": counts["B"], "0": counts["tie"], "1": counts["A"]}
    cells = [name for name in first["bridge"] if name.startswith("confusion_")]
    pd.testing.assert_frame_equal(first["bridge"][cells], second["bridge"][cells])
    row = first["bridge"].iloc[0]
    assert row[cells].sum() == 2 * row["n"] and row["confusion_-1_1"] == row["confusion_1_-1"] == row["reversals"]


def test_ratings_without_noise_set_no_ceiling_below_one(tmp_path):
    (tmp_path / "plan.yaml").write_text(example("rating", "plan") + "resamples: 200\nestimands: [rating]\n")
    keys = {"benchmark": "mystudy", "setting": ""}
    votes = [
        {"task": "rating", **keys, "dimension": "realism", "scene": f"s{k}", "model_a": "m", "clip_a": f"s{k}", "annotator": who}
        | {"label": str(4 if k % 2 else 2)}
        for k in range(8)
        for who in ("ann", "bob")
    ]
    score = [{**keys, "model_id": "m", "clip_id": f"s{k}", "metric": "my_metric", "value": k / 10, "reason": ""} for k in range(8)]
    table = analyse(pd.DataFrame(votes), pd.DataFrame(score), load_plan(tmp_path / "plan.yaml"))["rating_metric"]
    assert table["rho_ceiling"].iloc[0] == 1 and np.isnan(table["rho_ceiling_low"].iloc[0])
    assert "votes on one item do not differ" in table["rho_ceiling_note"].iloc[0]
