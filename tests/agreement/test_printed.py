"""Printed tables: each estimate stands beside its own interval, and what a table is about is never cut off."""

from __future__ import annotations

import pandas as pd
import pytest
from lookback.agreement import analyse, read_ratings, read_scores
from lookback.agreement.plan import Plan, load_plan
from lookback.agreement.printed import MOST_COLUMNS, printed
from lookback.cli.study import example


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> dict[str, pd.DataFrame]:
    """The pairwise example with two dimensions in two settings, quickly."""
    folder = tmp_path_factory.mktemp("study")
    for part, ending in (("votes", "csv"), ("scores", "csv"), ("plan", "yaml")):
        (folder / f"{part}.{ending}").write_text(example("pairwise", part))
    plan = load_plan(folder / "plan.yaml").model_dump(mode="json")
    plan |= {"resamples": 100, "estimands": ["agreement", "ranking", "bridge"]}
    plan["families"]["second"] = plan["families"]["consistency"] | {"benchmark": "other"}
    votes, scores = read_ratings(folder / "votes.csv"), read_scores(folder / "scores.csv")
    votes, scores = (pd.concat([t, t.assign(benchmark="other", setting="T")], ignore_index=True) for t in (votes, scores))
    return analyse(votes, scores, Plan.model_validate(plan))


def test_every_estimate_is_printed_with_its_own_interval(tables):
    row, cells = tables["models"].iloc[0], printed("models", tables["models"]).iloc[0]
    assert cells["win ratio"].startswith(f"{row['win_ratio']:.2f} ({row['low']:.2f} to ")
    assert cells["log strength"] == f"{row['log_strength']:.2f} ({row['log_strength_low']:.2f} to {row['log_strength_high']:.2f})"


def test_plain_bounds_belong_to_one_column():
    table = pd.DataFrame({"model": ["x"], "win_ratio": [0.6], "low": [0.5], "high": [0.7], "log_strength": [2.5]})
    assert printed("models", table).iloc[0].tolist() == ["x", "0.60 (0.50 to 0.70)", "2.50"]


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("models", ["letters", "log strength"]),
        ("comparisons", ["difference", "verdict"]),
        ("ceiling", ["people", "judge", "difference", "verdict"]),
        ("main", ["measure", "value"]),
    ],
)
def test_the_answer_of_a_table_is_shown_with_several_families_and_settings(tables, name, needed):
    shown = printed(name, tables[name])
    assert set(needed) <= set(shown.columns)
    assert shown.shape[1] <= MOST_COLUMNS
