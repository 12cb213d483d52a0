"""Studies with little or odd data: every vote that goes is counted, nobody is accused, no reading says what is not so."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from lookback.agreement import analyse
from lookback.agreement.plan import Plan, load_plan
from lookback.agreement.tables.study import GROUP, read_sensitivity
from lookback.cli.study import example
from lookback.stats.reliability import mean_vote_reliability
from scipy.stats import spearmanr


@pytest.fixture
def given(tmp_path):
    """(votes, scores, plan) of an example, quickly analysed."""

    def read(kind: str, **changes: object) -> tuple[pd.DataFrame, pd.DataFrame, Plan]:
        (tmp_path / "plan.yaml").write_text(example(kind, "plan"))
        plan = load_plan(tmp_path / "plan.yaml").model_dump(mode="json") | {"resamples": 100, **changes}
        votes = pd.read_csv(io.StringIO(example(kind, "votes")), dtype=str, keep_default_na=False)
        scores = pd.read_csv(io.StringIO(example(kind, "scores"))).fillna({"setting": "", "reason": ""})
        return votes, scores, Plan.model_validate(plan)

    return read


def test_votes_that_contradict_or_repeat_each_other_are_counted(given):
    votes, _, plan = given("pairwise", contradictions="drop", duplicates="keep_last", estimands=["agreement"])
    sides = {"model_a": "model_b", "model_b": "model_a"}
    again = votes[votes["label"] == "B"].head(3).rename(columns=sides)  # swapped, the same label: a contradiction
    same = votes[votes["label"] == "tie"].head(2).rename(columns=sides)  # swapped, still a tie: a repeat
    twice = votes[votes["label"] == "B"].tail(1)
    read = analyse(pd.concat([votes, again, same, twice], ignore_index=True), None, plan)["exclusions"].attrs["reading"]
    assert "Votes left out: 1 replaced by the same person's later vote (duplicates)" in read
    assert "6 contradicting the same person's vote on the swapped pair (contradictions)" in read
    assert "2 repeating the same person's vote on the swapped pair." in read
    assert "Votes left out" not in analyse(votes, None, plan)["exclusions"].attrs["reading"]


def test_two_scenes_accuse_nobody_and_claim_nothing(given):
    votes, scores, plan = given("pairwise", estimands=["annotators", "ranking", "bridge"])
    tables = analyse(votes[votes["scene"].isin(["kitchen", "beach"])], scores, plan)
    people = tables["annotators"]
    assert (people["flags"] == "").all()
    assert "unlike the others" in people.attrs["reading"]
    assert not tables["bridge"]["claim"].isin(["supported", "contradicted"]).any()


def test_all_ties_and_constant_scores_are_called_what_they_are(given):
    votes, scores, plan = given("pairwise", estimands=["bridge"])
    ties = analyse(votes.assign(label="tie"), scores, plan)["bridge"].attrs["reading"]
    assert ties.startswith("Metric and people cannot be compared pair by pair: undefined: rho is 0/0")
    votes, scores, plan = given("rating", estimands=["agreement", "rating"])
    constant = analyse(votes, scores.assign(value=1.0, reason=""), plan)["rating_metric"].attrs["reading"]
    assert constant.startswith("Metric and ratings cannot be compared: undefined: rho is 0/0")


def test_one_rater_is_no_agreement(given):
    votes, scores, plan = given("rating", estimands=["agreement", "rating"])
    main = analyse(votes[votes["annotator"] == "ann"], scores, plan)["main"]
    read, reasons = main.attrs["reading"], main["reason"].iloc[0].split("; ")
    assert [why.split(":")[0] for why in reasons] == ["ac2", "alpha", "rho of items"]
    assert read.startswith("How far people agree is not known: no item has two votes to compare. No metric or judge")


def test_the_ceiling_of_rho_with_ratings_counts_the_compared_items_and_no_rater_level(given):
    votes, scores, plan = given("rating", estimands=["agreement", "rating"], unmatched="report")
    dropped = scores[["model_id", "clip_id"]].iloc[0].tolist()
    row = analyse(votes, scores.iloc[1:], plan)["rating_metric"].iloc[0]
    own = votes[(votes[["model_a", "clip_a"]] != dropped).any(axis=1)].astype({"label": float})
    table = own.pivot(index=["model_a", "clip_a"], columns="annotator", values="label")
    table = table[table.notna().sum(axis=1) >= 2]
    assert row["n"] == len(table)
    ranks = table.stack().rank().unstack()
    assert row["rho_ceiling"] == pytest.approx(np.sqrt(mean_vote_reliability(ranks).value), abs=1e-9)
    assert row["rho_ceiling_low"] < row["rho_ceiling"] < row["rho_ceiling_high"] < 1


def test_votes_without_signal_have_no_ceiling_and_ties_set_none(given):
    votes, scores, plan = given("rating", estimands=["agreement", "rating"])
    votes = votes.sort_values(["scene", "model_a", "clip_a", "annotator"])
    noise = votes.assign(label=[str(1 + k % 2) for k in range(len(votes))])
    table = analyse(noise, scores, plan)["rating_metric"]
    assert table["rho_ceiling"].isna().all()
    assert "no ceiling (the votes show no signal" in table.attrs["reading"] and "at most" not in table.attrs["reading"]


@pytest.mark.parametrize(("kind", "named"), [("rating", "(min votes 3)"), ("trigger", "(rule plurality, min votes 3, every vote)")])
def test_only_rules_that_touch_the_votes_count_as_robustness(given, kind, named):
    votes, scores, plan = given(kind, estimands=["agreement", kind])
    table = analyse(votes, scores, plan)["sensitivity"]
    assert f"changed at a time {named}" in table.attrs["reading"]
    assert table["as_planned"].notna().all() and table[["ties_drop", "split_tie"]].isna().all(axis=None)


@pytest.mark.parametrize(("planned", "other", "said"), [(np.nan, 0.5, "undefined as planned"), (0.5, np.nan, "Under other rules")])
def test_what_is_undefined_is_named_where_sensitivity_is_unknown(planned, other, said):
    row = dict.fromkeys(GROUP, "x") | {"as_planned": planned, "ties_drop": other}
    assert said in read_sensitivity(pd.DataFrame([row]))


def test_models_with_the_same_ratings_in_another_order_are_tied(given):
    votes, scores, plan = given("rating", estimands=["agreement", "rating"])
    # the same three clips' votes in two orders: the means of means differ by rounding
    rated = {"alpha": ("111", "112", "223"), "beta": ("111", "223", "112"), "gamma": ("555", "555", "555")}
    row = votes.iloc[0].to_dict()
    cast = [
        {**row, "model_a": model, "scene": f"s{k}", "clip_a": f"s{k}", "annotator": f"r{who}", "label": label}
        for model, clips in rated.items()
        for k, labels in enumerate(clips)
        for who, label in enumerate(labels)
    ]
    made = [
        {**scores.iloc[0].to_dict(), "model_id": model, "clip_id": f"s{k}", "value": value, "reason": ""}
        for model, value in zip(rated, (0.1, 0.2, 0.3), strict=True)
        for k in range(3)
    ]
    found = analyse(pd.DataFrame(cast), pd.DataFrame(made), plan)["rating_metric"].iloc[0]
    assert found["between_rho"] == pytest.approx(spearmanr([1, 1, 2], [1, 2, 3]).statistic)
