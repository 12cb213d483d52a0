"""The same votes and scores give the same numbers, whatever the models are called and in whatever order things come."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from lookback.scoring.aggregate import aggregate
from lookback.stats import correlation_structure, judge_beside_people, model_ceiling, rank_agreement, rank_agreement_pairs

RENAMED = {"m0": "z", "m1": "d", "m2": "y", "m3": "a", "m4": "k"}


@pytest.fixture
def pairs() -> pd.DataFrame:
    """Five models, all pairs in eight scenes; the first model of a pair is the one whose name comes first."""
    rng = np.random.default_rng(3)
    rows = []
    for scene in range(8):
        seen = np.linspace(0, 1, 5) + rng.normal(0, 0.7, 5)
        scored = seen + rng.normal(0, 0.5, 5)
        for i, j in combinations(range(5), 2):
            label, metric = int(np.sign(round(seen[i] - seen[j]))), int(np.sign(scored[i] - scored[j]))
            rows.append({"model_a": f"m{i}", "model_b": f"m{j}", "label": label, "human": label, "metric": metric, "scene": scene})
    return pd.DataFrame(rows)


def renamed(pairs: pd.DataFrame) -> pd.DataFrame:
    """Other names, each pair again in the order of its names, and the rows in the order of these."""
    table = pairs.assign(model_a=pairs["model_a"].map(RENAMED), model_b=pairs["model_b"].map(RENAMED))
    turned = table["model_a"] > table["model_b"]
    table.loc[turned, ["model_a", "model_b"]] = table.loc[turned, ["model_b", "model_a"]].to_numpy()
    for name in ("label", "human", "metric"):
        table[name] = table[name].where(~turned, -table[name])
    return table.sort_values(["scene", "model_a", "model_b"], ignore_index=True)


def test_rank_agreement_knows_no_names(pairs):
    first, second = (rank_agreement_pairs(table, cluster="scene", resamples=300) for table in (pairs, renamed(pairs)))
    for name, value in first.as_row().items():
        expected = value if isinstance(value, (str, bool)) else pytest.approx(value, abs=1e-9)
        assert second.as_row()[name] == expected, name


def test_the_model_ceiling_knows_no_names_and_no_order_of_votes(pairs):
    rng = np.random.default_rng(0)
    noise = rng.integers(-1, 2, (len(pairs), 4))
    votes = np.where(rng.random(noise.shape) < 0.6, pairs["label"].to_numpy()[:, None], noise).astype(object)
    votes[::7, 3] = None
    found = model_ceiling(votes, pairs["model_a"], pairs["model_b"]).value
    turned = np.array([[None if v is None else -v for v in row[::-1]] for row in votes], dtype=object)
    order = rng.permutation(len(pairs))
    a, b = (pairs[side].map(RENAMED).to_numpy()[order] for side in ("model_a", "model_b"))
    assert model_ceiling(turned[order], b, a).value == pytest.approx(found, abs=1e-12)


def test_the_p_of_many_models_does_not_depend_on_their_order():
    x, y = np.arange(10.0), np.array([3.0, 0, 1, 5, 2, 7, 4, 9, 6, 8])
    orders = [np.random.default_rng(k).permutation(10) for k in range(4)]
    assert len({rank_agreement(x[order], y[order]).p_rho for order in orders}) == 1
    table = pd.DataFrame({"a": x, "b": y})
    found = [correlation_structure(table.iloc[order], interval="bootstrap", resamples=300) for order in orders]
    assert all(own.equals(found[0]) for own in found)


def test_the_interval_of_a_mean_does_not_depend_on_the_models_name():
    values = np.random.default_rng(3).random(16)
    keys = {"benchmark": "b", "setting": "", "metric": "my.metric", "variant": "paper", "phase": "", "reason": ""}
    items = pd.DataFrame([{**keys, "scene": f"s{k // 2}", "value": v} for k, v in enumerate(values)])
    found = aggregate(pd.concat([items.assign(model_id=name) for name in ("alpha", "beta")]))
    assert found["ci_low"].nunique() == found["ci_high"].nunique() == 1


def test_equal_mean_votes_stay_tied_whatever_the_order_of_the_votes():
    rng = np.random.default_rng(1)
    votes = rng.choice([-1.0, 0.0, 1.0], (40, 5), p=[0.3, 0.3, 0.4])
    scores = votes.mean(axis=1) + rng.normal(0, 0.5, 40)
    found = [
        judge_beside_people(table, np.sign(scores), [-1.0, 0.0, 1.0], scores=scores, symmetric=True, resamples=20)["value"]
        for table in (votes, *(rng.permuted(votes, axis=1) for _ in range(5)))
    ]
    for own in found[1:]:
        np.testing.assert_allclose(own, found[0], atol=1e-12)
