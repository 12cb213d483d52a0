"""Majority vote, Dawid-Skene, leave-one-annotator-out and the human ceiling."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lookback.errors import NotScorable, UsageError
from lookback.stats import (
    dawid_skene,
    gwet_ac1,
    leave_one_annotator_out,
    majority_vote,
    model_ceiling,
    rater_vs_majority,
    tie_ceiling,
)

# Dawid & Skene (1979), table 1: 45 patients; the first anaesthetist's three assessments, then one of each of the other four
ANAESTHETISTS = """1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111 2223212
1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111 1111111 1121121
1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111 1111111 1212111 2322222 1211111 2222222"""


def test_three_way_splits_are_excluded_as_in_mbench():
    votes = [["a", "a", "tie"], ["a", "b", "tie"], ["b", "b", "b"], ["a", "b", None], [None, None, None]]
    result = majority_vote(votes, ["a", "tie", "b"], min_votes=2)
    assert result["label"].tolist() == ["a", None, "b", None, None]
    assert result["status"].tolist() == ["majority", "split", "majority", "split", "too_few_votes"]
    assert result["n_votes"].tolist() == [3, 3, 3, 2, 0]


def test_plurality_and_majority_differ_with_five_votes():
    votes = [["a", "a", "tie", "b", None], ["a", "a", "tie", "tie", "b"]]
    assert majority_vote(votes, ["a", "tie", "b"], rule="plurality")["label"].tolist() == ["a", None]
    assert majority_vote(votes, ["a", "tie", "b"], rule="majority")["label"].tolist() == [None, None]


def test_a_split_can_be_declared_a_tie():
    result = majority_vote([["a", "b"]], ["a", "tie", "b"], split="tie")
    assert result.loc[0, ["label", "status"]].tolist() == ["tie", "split_as_label"]
    with pytest.raises(UsageError, match="unknown rule"):
        majority_vote([["a", "b"]], ["a", "b"], rule="first")


def test_majority_keeps_the_items_index():
    table = pd.DataFrame([[1, 1], [0, 0]], index=["x", "y"])
    assert majority_vote(table, [0, 1])["label"].to_dict() == {"x": 1, "y": 0}


@pytest.fixture
def anaesthetists() -> np.ndarray:
    counts = np.zeros((45, 5, 4))
    for patient, votes in enumerate(ANAESTHETISTS.split()):
        for position, vote in enumerate(votes):
            counts[patient, max(0, position - 2), int(vote) - 1] += 1
    return counts


def test_dawid_skene_reproduces_the_paper(anaesthetists):
    # Dawid & Skene (1979), table 2: prevalence and the first anaesthetist's error rates, two digits
    model = dawid_skene(anaesthetists, [1, 2, 3, 4], smoothing=0)
    assert model.converged
    assert model.prevalence.round(2).tolist() == [0.40, 0.42, 0.11, 0.07]
    first = model.confusion[model.confusion["annotator"] == 0].pivot(
        index="true_label", columns="voted_label", values="probability"
    )
    printed = [[0.89, 0.11, 0.00, 0.00], [0.07, 0.88, 0.05, 0.00], [0.00, 0.34, 0.66, 0.00], [0.00, 0.00, 0.56, 0.44]]
    np.testing.assert_allclose(first.to_numpy(), printed, atol=0.006)
    np.testing.assert_allclose(model.posterior.sum(axis=1), 1.0)


def test_dawid_skene_finds_the_careless_annotator():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    votes = np.stack([np.where(rng.random(400) < q, truth, 1 - truth) for q in (0.95, 0.9, 0.9, 0.55)], axis=1)
    model = dawid_skene(pd.DataFrame(votes, columns=list("wxyz")), [0, 1])
    found = model.accuracy.set_index("annotator")["accuracy"]
    np.testing.assert_allclose(found, [0.95, 0.9, 0.9, 0.55], atol=0.06)
    assert (model.posterior.idxmax(axis=1) == truth).mean() > (majority_vote(votes, [0, 1], split=0)["label"] == truth).mean()


def test_dawid_skene_needs_two_annotators():
    with pytest.raises(NotScorable):
        dawid_skene([[1], [0]], [0, 1])


def test_leaving_out_the_careless_annotator_raises_agreement():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300)
    votes = pd.DataFrame(
        {name: np.where(rng.random(300) < q, truth, 1 - truth) for name, q in zip("abc", (0.95, 0.95, 0.5), strict=True)}
    )
    table = leave_one_annotator_out(votes, [0, 1]).set_index("annotator")
    assert table["change"].idxmax() == "c"
    assert table.loc["c", "without"] == pytest.approx(gwet_ac1(votes[["a", "b"]], [0, 1]).value)
    assert table.loc["c", "high"] < table.loc["a", "low"]
    assert (table["reason"] == "").all()


def test_an_annotator_is_compared_with_the_others_alone():
    """Of the first item the others of annotators 0 and 1 are split; annotator 2 stands against both."""
    table = leave_one_annotator_out([[1, 1, 0], [0, 0, 0]], [0, 1])
    assert table["n_compared"].tolist() == [1, 1, 2]
    assert table["agreement"].tolist() == [1.0, 1.0, 0.5]


def test_votes_of_one_scene_do_not_count_as_independent():
    """The annotator is right in whole scenes or not at all: ten scenes are ten cases, not eighty."""
    truth = np.tile([0, 1], 40)
    scenes = np.repeat(np.arange(10), 8)
    votes = np.column_stack([np.where(scenes < 8, truth, 1 - truth), truth, truth])
    alone, clustered = (leave_one_annotator_out(votes, [0, 1], clusters=own).loc[0] for own in (None, scenes))
    assert alone["agreement"] == clustered["agreement"] == 0.8
    assert clustered["high"] - clustered["low"] > 2 * (alone["high"] - alone["low"])
    one = leave_one_annotator_out(votes, [0, 1], clusters=0 * scenes)
    assert one["low"].isna().all() and one["reason"].str.contains("no interval").all()


def test_leaving_one_of_two_out_has_a_reason_and_no_number():
    table = leave_one_annotator_out([[1, 1], [0, 1]], [0, 1])
    assert table["without"].isna().all()
    assert table["reason"].str.contains("too_few_values").all()


def test_scenes_without_a_majority_to_compare_with_do_not_count_for_its_interval():
    found = rater_vs_majority([[1, 1, 1], [0, 0, 1], [1, None, None]], [0, 1], clusters=[0, 0, 1])
    assert (found.value, found.n, found.low) == (0.75, 2, None) and found.note.startswith("one cluster only")


def test_model_ceiling_falls_with_noise():
    rng = np.random.default_rng(3)
    a, b = np.array([(i, j) for i in range(6) for j in range(i)] * 20).T
    clear = np.sign((a - b)[:, None] + rng.normal(0, 0.5, (len(a), 4)))
    noisy = np.sign(0.05 * (a - b)[:, None] + rng.normal(0, 1, (len(a), 4)))
    assert model_ceiling(clear, a, b, splits=50).value == pytest.approx(1.0, abs=0.01)
    assert model_ceiling(noisy, a, b, splits=50).value < 0.95
    with pytest.raises(NotScorable):
        model_ceiling(clear[:, :1], a, b)


def test_tie_ceiling_is_the_rho_of_a_perfect_untied_score():
    from scipy.stats import spearmanr

    labels = np.repeat([-1, 0, 1], [5, 9, 6])
    assert tie_ceiling(labels) == pytest.approx(spearmanr(labels, np.arange(20)).statistic)
