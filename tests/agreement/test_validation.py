"""Votes that are not fit to be analysed are named, with rows and a remedy."""

from __future__ import annotations

import pandas as pd
import pytest
from lookback.agreement import check_ratings
from lookback.errors import ContractError

BASE = {"task": "pairwise", "benchmark": "wrbench", "setting": "natural25", "dimension": "visible_state", "scene": "s1"}
BASE |= {
    "clip_a": "c1",
    "model_a": "x",
    "clip_b": "c1",
    "model_b": "y",
    "annotator": "ann",
    "label": "1",
    "time": 1.0,
    "simulated": False,
}


def votes(*changes: dict) -> pd.DataFrame:
    return pd.DataFrame([{**BASE, **change} for change in changes])


def test_swapped_sides_become_one_item_with_turned_labels(plan):
    swapped = {"model_a": "y", "model_b": "x", "annotator": "bob", "label": "-1"}
    checked = check_ratings(votes({}, swapped), plan)
    assert checked["item"].nunique() == 1
    assert checked["label"].tolist() == [1, 1]
    assert checked["model_a"].tolist() == ["x", "x"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "2"}, "label '2' is outside the scale of wrbench_preference"),
        ({"dimension": "beauty"}, "declares no family for wrbench / pairwise / beauty"),
        ({"clip_b": "", "model_b": ""}, "a preference needs clip_b"),
        ({"model_b": ""}, "clip_b has no model_b"),
        ({"model_b": "x"}, "compared with itself"),
        ({"scene": ""}, "the plan clusters by scene"),
    ],
)
def test_each_problem_is_named_with_its_vote(plan, change, message):
    with pytest.raises(ContractError, match="vote 2.*" + message):
        check_ratings(votes({}, {"annotator": "bob", **change}), plan)


def test_all_problems_are_told_at_once(plan):
    with pytest.raises(ContractError) as error:
        check_ratings(
            votes({"label": "left"}, {"annotator": "bob", "dimension": "beauty"}, {"annotator": "cyd", "scene": ""}), plan
        )
    assert len(str(error.value).splitlines()) == 3


def test_a_single_clip_task_has_no_second_clip(plan):
    trigger = {"task": "trigger", "benchmark": "mbench", "setting": "T", "dimension": "trigger_human", "label": "yes"}
    with pytest.raises(ContractError, match="judges one clip"):
        check_ratings(votes(trigger), plan)
    assert len(check_ratings(votes({**trigger, "clip_b": "", "model_b": ""}), plan)) == 1


def test_unknown_clips_are_named(plan):
    clips = pd.DataFrame([{"benchmark": "wrbench", "setting": "natural25", "model_id": "x", "clip_id": "c1"}])
    with pytest.raises(ContractError, match=r"clip_b is not among the clips .*model 'y', clip 'c1'"):
        check_ratings(votes({}), plan, clips)
    both = pd.concat([clips, clips.assign(model_id="y")])
    assert len(check_ratings(votes({}), plan, both)) == 1


def test_duplicates_are_an_error_or_the_last_one_counts(plan):
    table = votes({"time": 2.0, "label": "-1"}, {"time": 1.0})
    with pytest.raises(ContractError, match=r"duplicate votes .ann voted more than once"):
        check_ratings(table, plan)
    kept = check_ratings(table, plan.model_copy(update={"duplicates": "keep_last"}))
    assert kept["label"].tolist() == [-1]


def test_contradicting_annotators_are_named_or_dropped(plan):
    swapped = {"model_a": "y", "model_b": "x"}
    with pytest.raises(ContractError, match=r"contradict themselves .*ann \(1 pairs\)"):
        check_ratings(votes({}, swapped), plan)
    lenient = plan.model_copy(update={"contradictions": "drop"})
    other = {"annotator": "bob"}
    assert check_ratings(votes({}, swapped, other), lenient)["annotator"].tolist() == ["bob"]


def test_a_consistent_repeat_counts_once(plan):
    assert len(check_ratings(votes({}, {"model_a": "y", "model_b": "x", "label": "-1"}), plan)) == 1


def test_simulated_votes_can_be_refused(plan):
    strict = plan.model_copy(update={"simulated": "refuse"})
    with pytest.raises(ContractError, match="refuses simulated"):
        check_ratings(votes({"simulated": True}), strict)


@pytest.mark.parametrize("sides", [{}, {"model_a": "y", "model_b": "x"}])
def test_an_item_has_one_scene(plan, sides):
    table = votes({"dimension": "camera"}, {}, {"annotator": "bob", "scene": "S1", **sides})
    with pytest.raises(
        ContractError, match=r"^votes 2, 3: one item has two scenes \('s1' and 'S1'\); write one name for its scene$"
    ):
        check_ratings(table, plan)


@pytest.mark.parametrize("orientation", ["symmetric", "as_given"])
def test_the_order_of_the_rows_says_nothing_about_the_sides(plan, orientation):
    chosen = plan.model_copy(update={"orientation": orientation})
    turned = {"model_a": "y", "model_b": "x", "label": "-1"}
    table = votes(turned, {"annotator": "bob"}, {**turned, "annotator": "cyd"}, {**turned, "annotator": "ann", "clip_a": "c2"})
    first, last = (check_ratings(rows.reset_index(drop=True), chosen) for rows in (table, table[::-1]))
    pd.testing.assert_frame_equal(first, last)
    # two of three votes on the first pair call y the A, and the one vote on the second pair does
    expected = ("x", 1) if orientation == "symmetric" else ("y", -1)
    assert set(first[["model_a", "label"]].itertuples(index=False, name=None)) == {expected}
    tied = check_ratings(table.iloc[:2], chosen)
    assert tied[["model_a", "label"]].to_numpy().tolist() == [["x", 1], ["x", 1]]


def test_questions_of_one_dimension_stay_apart(plan):
    vqa = {"task": "vqa", "benchmark": "memobench", "setting": "real", "clip_b": "", "model_b": "", "label": "yes"}
    table = votes({**vqa, "dimension": "physics_adherence#1"}, {**vqa, "dimension": "physics_adherence#2"})
    checked = check_ratings(table, plan)
    assert checked["item"].nunique() == 2
    assert checked["question"].tolist() == ["1", "2"]


def test_a_table_that_is_not_tidy_is_made_tidy_or_refused(plan):
    loose = votes({"label": 1}, {"label": -1, "annotator": "bob"}).drop(columns=["time", "simulated"])
    assert check_ratings(loose, plan)["label"].tolist() == [1, -1]
    with pytest.raises(ContractError, match="lacks annotator"):
        check_ratings(votes({}).drop(columns="annotator"), plan)
