"""Votes and scores never join silently, and nothing is left out without being counted."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.agreement import analyse, load_plan
from lookback.agreement.plan import Plan
from lookback.cli.app import app
from lookback.cli.study import example
from lookback.errors import ContractError
from typer.testing import CliRunner

VERDICTS = ["agreement", "ranking", "bridge"]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[pd.DataFrame, pd.DataFrame, Plan]:
    """The example of preferences: votes, scores and plan."""
    folder = tmp_path_factory.mktemp("example")
    for part, name in (("votes", "votes.csv"), ("scores", "scores.csv"), ("plan", "plan.yaml")):
        (folder / name).write_text(example("pairwise", part))
    votes, scores = (pd.read_csv(folder / name, keep_default_na=False, dtype=str) for name in ("votes.csv", "scores.csv"))
    plan = load_plan(folder / "plan.yaml").model_copy(update={"resamples": 100, "estimands": tuple(VERDICTS)})
    return votes, scores.assign(value=pd.to_numeric(scores["value"])), plan


def test_clips_with_a_file_ending_are_named_on_both_sides(files):
    votes, scores, plan = files
    with pytest.raises(ContractError) as error:
        analyse(votes, scores.assign(clip_id=scores["clip_id"] + ".mp4"), plan)
    said = str(error.value)
    assert "0 of 24 scores that the votes ask for are there (first missing: mystudy / '' / alpha / beach / my_metric)" in said
    assert "0 of 24 scores match a vote (first that does not: mystudy / '' / alpha / beach.mp4 / my_metric)" in said
    assert "24 would be found without the ending of the video file (.mp4)" in said
    assert "unmatched: report" not in said  # nothing joins: there is nothing to report on


def test_a_setting_on_one_side_only_is_named(files):
    votes, scores, plan = files
    with pytest.raises(ContractError, match="24 would be found without regard to the setting"):
        analyse(votes, scores.assign(setting="T"), plan)
    assert len(analyse(votes, scores, plan)["ranking"]) == 1  # both empty: they join


@pytest.mark.parametrize(("change", "hint"), [(str.upper, "upper and lower case"), (lambda c: f"out/{c}.mp4", "folders in front")])
def test_other_spellings_are_hinted_at(files, change, hint):
    votes, scores, plan = files
    with pytest.raises(ContractError, match=hint):
        analyse(votes, scores.assign(clip_id=scores["clip_id"].map(change)), plan)


def test_a_part_that_does_not_join_is_an_error_or_counted(files):
    votes, scores, plan = files
    part = scores.assign(clip_id=scores["clip_id"].where(scores["model_id"] != "beta", scores["clip_id"] + ".mp4"))
    with pytest.raises(ContractError, match="16 of 24 scores that the votes ask for are there") as error:
        analyse(votes, part, plan)
    assert "or set unmatched: report" in str(error.value)
    lenient = plan.model_copy(update={"unmatched": "report"})
    tables = analyse(votes, part, lenient)
    assert "16 of 24 scores" in tables["joins"].attrs["reading"]
    row = tables["exclusions"].iloc[0]
    assert row["no_score"] > 8
    assert "missing_input" in row["why_no_score"]
    assert f"{row['no_score']} without a score" in tables["ranking"].attrs["reading"]


def test_the_command_ends_with_status_1_and_writes_nothing(files, tmp_path):
    votes, scores, _ = files
    votes.to_csv(tmp_path / "votes.csv", index=False)
    scores.assign(clip_id=scores["clip_id"] + ".mp4").to_csv(tmp_path / "scores.csv", index=False)
    (tmp_path / "plan.yaml").write_text(example("pairwise", "plan"))
    done = CliRunner().invoke(app, ["agreement", "--plan", str(tmp_path / "plan.yaml"), "--output", str(tmp_path / "out")])
    assert isinstance(done.exception, ContractError)
    assert done.exception.exit_code == 1
    assert not (tmp_path / "out").exists()


def test_all_ties_are_analysed_and_say_what_is_undefined(files):
    votes, scores, plan = files
    tables = analyse(votes.assign(label="tie"), scores, plan)
    ranking = tables["ranking"].iloc[0]
    assert np.isnan(ranking["rho"])
    assert "undefined" in ranking["reason"]
    assert "no dimension could be tested" in tables["ranking"].attrs["reading"]
    assert tables["agreement"].iloc[0]["ac1"] == 1


def test_one_rater_split_votes_and_min_votes_are_counted_in_the_readings(files):
    votes, scores, plan = files
    first = votes.drop_duplicates(["scene", "model_a", "model_b"]).index
    people, ranking, bridge = (plan.model_copy(update={"estimands": (name,)}) for name in VERDICTS)
    alone = analyse(votes.loc[first], scores, people)
    assert "Left out of 24 items: 24 with fewer than 2 votes (min_votes)." in alone["exclusions"].attrs["reading"]
    assert "enter no agreement among people: 24" in alone["exclusions"].attrs["reading"]
    assert "No dimension has items with two votes" in alone["agreement"].attrs["reading"]
    strict = bridge.model_copy(update={"majority": plan.majority.model_copy(update={"min_votes": 3})})
    expected = int((votes.groupby(["scene", "model_a", "model_b"]).size() < 3).sum())
    assert f"{expected} with fewer than 3 votes (min_votes)" in analyse(votes, scores, strict)["bridge"].attrs["reading"]
    tie = ranking.model_copy(update={"majority": plan.majority.model_copy(update={"split": "tie"})})
    assert "1 split votes count as ties." in analyse(votes, scores, tie)["ranking"].attrs["reading"]


def test_one_scene_has_no_interval_and_no_claim(files):
    votes, scores, plan = files
    tables = analyse(votes[votes["scene"] == votes["scene"].min()], scores, plan)
    people, bridge = tables["agreement"], tables["bridge"]
    assert people[[name for name in people if name.endswith(("_low", "_high"))]].isna().all(axis=None)
    # between models is about other models, whatever the number of scenes
    bounds = [name for name in bridge if name.endswith(("_low", "_high")) and not name.startswith("between")]
    assert bridge[bounds].isna().all(axis=None)
    for name in ("ranking", "bridge"):
        assert tables[name]["claim"].tolist() == ["not tested"]
        assert not re.search("Supported|Contradicted|Open for", tables[name].attrs["reading"])


def test_scores_without_rows_are_refused(tmp_path):
    for part, name in (("votes", "votes.csv"), ("plan", "plan.yaml")):
        (tmp_path / name).write_text(example("pairwise", part))
    Path(tmp_path / "scores.csv").write_text(example("pairwise", "scores").splitlines()[0] + "\n")
    done = CliRunner().invoke(app, ["agreement", "--plan", str(tmp_path / "plan.yaml"), "--output", str(tmp_path / "out")])
    assert "scores.csv holds no scores" in str(done.exception)


def judgeability(answers: dict[tuple[str, str], str]) -> pd.DataFrame:
    rows = []
    base = {"task": "judgeability", "benchmark": "wrbench", "setting": "natural25", "dimension": "reobserved_state", "clip_b": ""}
    for (model, scene), answer in answers.items():
        for who in ("ann", "bob"):
            rows.append(
                {**base, "model_a": model, "clip_a": scene, "model_b": "", "scene": scene, "annotator": who, "label": answer}
            )
    return pd.DataFrame(rows)


def test_pairs_that_people_call_not_judgeable_are_left_out_of_their_dimension(plan):
    rows = []
    for dimension in ("reobserved_state", "visible_state"):
        for k in range(6):
            row = {"task": "pairwise", "benchmark": "wrbench", "setting": "natural25", "dimension": dimension, "scene": f"s{k}"}
            row |= {"model_a": "x", "clip_a": f"s{k}", "model_b": "y", "clip_b": f"s{k}"}
            rows += [{**row, "annotator": who, "label": "1" if k % 2 else "-1"} for who in ("ann", "bob")]
    pairs = pd.DataFrame(rows)
    asked = judgeability({("x", "s0"): "no", ("y", "s1"): "no", ("y", "s0"): "yes", ("x", "s2"): "yes"})
    quick = plan.model_copy(update={"resamples": 100, "estimands": ("agreement",)})
    tables = analyse(pd.concat([pairs, asked], ignore_index=True), None, quick)
    counts = tables["exclusions"].set_index(["family", "dimension"])
    assert counts.loc[("wrbench_preference", "reobserved_state"), ["items", "not_judgeable"]].tolist() == [6, 2]
    assert counts.loc[("wrbench_preference", "visible_state"), "not_judgeable"] == 0
    people = tables["agreement"].set_index(["family", "dimension"])["n_items"]
    assert people["wrbench_preference", "reobserved_state"] == 4
    assert people["wrbench_preference", "visible_state"] == 6
    assert "2 that people called not judgeable" in tables["wrbench_15"].attrs["reading"]
    # a pair that was asked about as a pair is left out as that pair, and its clips stay in others
    pair = asked.head(2).assign(model_b="y", clip_b="s0", label="no")
    other = pairs.assign(model_b="z").query("dimension == 'reobserved_state'")
    found = analyse(pd.concat([pairs, other, pair], ignore_index=True), None, quick)["exclusions"]
    assert found.set_index(["family", "dimension"]).loc[("wrbench_preference", "reobserved_state"), "not_judgeable"] == 1
