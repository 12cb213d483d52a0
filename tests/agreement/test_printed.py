"""Printed tables: each estimate stands beside its own interval, and what a table is about is never cut off."""

from __future__ import annotations

import pandas as pd
import pytest
from lookback.agreement import analyse, read_ratings, read_scores
from lookback.agreement.overview import read_design
from lookback.agreement.plan import Plan, load_plan
from lookback.agreement.printed import MOST_COLUMNS, cell_text, hidden_columns, printed
from lookback.agreement.reading import interval, number
from lookback.cli.study import example

RATED = {
    "scales": {"stars": {"categories": [1, 2, 3], "level": "ordinal"}},
    "families": {
        "stars": {"benchmark": "own", "task": "rating", "kind": "rating", "scale": "stars", "dimensions": {"realism": {}}}
    },
}


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
    assert cells["win ratio"].startswith(f"{row['win_ratio']:.2f} ({row['win_ratio_low']:.2f} to ")
    assert cells["value"] == f"{row['value']:.2f} ({row['low']:.2f} to {row['high']:.2f})"


def test_plain_bounds_belong_to_one_column():
    table = pd.DataFrame({"model": ["x"], "win_ratio": [0.6], "low": [0.5], "high": [0.7], "log_strength": [2.5]})
    assert printed("models", table).iloc[0].tolist() == ["x", "0.60 (0.50 to 0.70)", "2.50"]


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("models", ["letters", "value"]),
        ("comparisons", ["difference", "verdict"]),
        ("ceiling", ["people", "judge", "difference", "verdict"]),
        ("main", ["measure", "value"]),
    ],
)
def test_the_answer_of_a_table_is_shown_with_several_families_and_settings(tables, name, needed):
    shown = printed(name, tables[name])
    assert set(needed) <= set(shown.columns)
    assert shown.shape[1] <= MOST_COLUMNS


def test_counts_are_printed_without_decimals_and_estimates_with_them():
    assert [cell_text(value) for value in (23.0, 0.0, -0.0, 1200.0, 0.5, float("nan"))] == ["23", "0", "0", "1200", "0.50", "-"]
    table = pd.DataFrame({"measure": ["true_yes", "recall"], "value": [23.0, 1.0], "low": [None, 0.9], "high": [None, 1.0]})
    assert printed("trigger", table)["value"].tolist() == ["23", "1.00 (0.90 to 1.00)"]


def test_an_estimate_that_rounds_to_zero_has_no_sign():
    assert (number(-0.001), interval(-0.001, 0.2)) == ("0.00", "0.00 to 0.20")
    table = pd.DataFrame({"measure": ["kappa"], "value": [-0.0], "low": [-0.4], "high": [0.4]})
    assert printed("trigger", table)["value"].tolist() == ["0.00 (-0.40 to 0.40)"]


def test_every_rule_is_printed_where_family_and_setting_vary(tables):
    shown = printed("sensitivity", tables["sensitivity"])
    assert {"as planned", "ties drop", "split tie", "every vote"} <= set(shown.columns)
    assert shown["family, setting"].tolist() == ["consistency", "second T"]
    assert shown.shape[1] <= MOST_COLUMNS
    assert hidden_columns("sensitivity", tables["sensitivity"]) == 1  # the kind


def test_readings_have_no_stray_spaces_or_plurals(tables):
    read = {name: table.attrs.get("reading", "") for name, table in tables.items()}
    assert "Where fewer than five annotators voted" in read["agreement"]
    assert "(2 rows)" in read["main"]


def test_the_design_of_ratings_speaks_of_mean_ratings():
    plan = Plan.model_validate({**RATED, "majority": {"min_votes": 2}})
    row = {"family": "stars", "setting": "", "kind": "rating", "items": 24, "votes": 1, "no_majority": 1, "fewest_scenes": 9}
    said = read_design(pd.DataFrame([row]), plan)
    assert said == "1 vote on 24 items. Items with fewer than 2 votes, which get no mean rating: 1 of 24 (4%)."
    both = read_design(pd.DataFrame([row, row | {"kind": "preference"}]), plan)
    assert "Items without a majority of at least 2 votes" in both
