"""Agreement among people: what AC1 and AC2 say, what alpha says, and for whom."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from lookback.agreement import Plan, load_plan
from lookback.agreement.reading import read_agreement
from lookback.agreement.tables.human import GROUP, agreement_table

TEMPLATES = files("lookback.agreement") / "templates"


def plan_of(kind: str) -> Plan:
    return load_plan(TEMPLATES / kind / "plan.yaml").model_copy(update={"resamples": 300})


def votes_of(labels: np.ndarray, plan: Plan) -> pd.DataFrame:
    """One row per vote from (items x annotators), six items a scene, in the first family of the plan."""
    family = next(iter(plan.families))
    item, annotator = np.indices(labels.shape).reshape(2, -1)
    table = pd.DataFrame({"item": item, "annotator": annotator, "scene": item // 6, "label": labels.ravel()})
    return table.assign(simulated=True, swapped=False).assign(**dict(zip(GROUP, (family, "main", "own", "", "asked"), strict=True)))


def unrelated(kind: str, seed: int, raters: int = 3) -> np.ndarray:
    """Votes drawn independently of items and of each other: yes in 95 of 100, or mostly the middle of five levels."""
    rng = np.random.default_rng(seed)
    if kind == "trigger":
        return np.where(rng.random((72, raters)) < 0.95, "yes", "no")
    return rng.choice(np.arange(1, 6), (72, raters), p=[0.05, 0.2, 0.5, 0.2, 0.05])


@pytest.mark.parametrize(("kind", "name", "least"), [("trigger", "ac1", 0.6), ("rating", "ac2", 0.4)])
def test_unrelated_votes_have_a_high_coefficient_of_gwets_and_no_claim(kind, name, least):
    plan, claims, high = plan_of(kind), [], 0
    for seed in range(20):
        row = agreement_table(votes_of(unrelated(kind, seed), plan), plan).iloc[0]
        high += row[f"{name}_low"] > least
        claims.append(row["claim"])
    assert high >= 19
    # at most 0.05, two Monte Carlo errors above it
    assert len(claims) - claims.count("open") <= 20 * 0.05 + 2 * np.sqrt(20 * 0.05 * 0.95)


def test_the_reading_says_why_the_two_part_and_for_whom():
    plan = plan_of("trigger")
    table = agreement_table(votes_of(unrelated("trigger", 1), plan), plan)
    text = read_agreement(table, plan)
    assert table["claim"].tolist() == ["open"] and table["alpha_low"].iloc[0] <= 0 <= table["alpha_high"].iloc[0]
    assert table["prevalence"].iloc[0] == pytest.approx(np.mean(unrelated("trigger", 1) == "yes"))
    assert text.startswith(
        "Agreement of these annotators: AC1 0.86 (asked, 0.76 to 0.93). The most frequent answer has 94% of the votes."
    )
    assert "open for" in text and "AC1 is above 0 and alpha is not" in text
    assert "beyond chance" not in text and "lowers kappa" not in text
    assert text.endswith("Where fewer than five annotators voted, nothing is said about others.")


def test_votes_about_the_items_support_agreement_and_those_against_each_other_contradict_it():
    plan = plan_of("trigger")
    truth = np.random.default_rng(2).random((72, 1)) < 0.5
    wrong = np.random.default_rng(3).random((72, 3)) < 0.1
    agreeing = np.where(truth ^ wrong, "yes", "no")
    opposed = np.where(np.column_stack([truth, ~truth]) ^ wrong[:, :2], "yes", "no")
    alike = np.where(truth, "yes", "no").repeat(3, 1)
    for labels, claim in ((agreeing, "supported"), (opposed, "contradicted"), (alike, "supported")):
        assert agreement_table(votes_of(labels, plan), plan)["claim"].tolist() == [claim]


def test_annotators_who_press_one_side_do_not_agree_on_the_clips():
    plan, rng, claims = plan_of("pairwise"), np.random.default_rng(7), []
    for _ in range(12):
        swapped = np.repeat(rng.random((72, 1)) < 0.5, 3, axis=1)  # all see a pair the same way round
        shown = np.where(rng.random((72, 3)) < 0.8, 1, -1)
        votes = votes_of(np.where(swapped, -shown, shown), plan).assign(swapped=swapped.ravel())
        table = agreement_table(votes, plan)
        claims.append(table["claim"].iloc[0])
    assert claims.count("supported") <= 1
    text = read_agreement(table, plan)
    assert table["alpha"].iloc[0] > 0.2 and table["alpha_low"].iloc[0] == 0
    assert "each side as it was shown, give such an alpha, too" in text and "alpha is not for" not in text
    # the clips decide, whatever the side
    better = np.where(rng.random((72, 1)) < 0.5, 1, -1)
    labels = np.where(rng.random((72, 3)) < 0.8, better, -better)
    assert agreement_table(votes_of(labels, plan).assign(swapped=swapped.ravel()), plan)["claim"].tolist() == ["supported"]


def test_five_annotators_have_an_interval_for_others_like_them():
    plan, rng = plan_of("trigger"), np.random.default_rng(4)
    truth = rng.random((72, 1)) < 0.5
    labels = np.where(truth ^ (rng.random((72, 5)) > [0.95, 0.9, 0.85, 0.7, 0.6]), "yes", "no")
    row = agreement_table(votes_of(labels, plan), plan).iloc[0]
    assert row["ac1_others_low"] < row["ac1_low"] < row["ac1_high"] < row["ac1_others_high"]
    text = read_agreement(agreement_table(votes_of(labels, plan), plan), plan)
    assert "For other annotators like these: AC1" in text and "fewer than five" not in text
