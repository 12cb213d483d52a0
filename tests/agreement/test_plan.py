"""The declared plan: complete, strict, hashed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from lookback.agreement import load_plan
from lookback.errors import ParameterError
from lookback.paths import project_root
from lookback.registry import METRICS

MINIMAL = {
    "scales": {"preference": {"categories": [-1, 0, 1], "level": "ordinal"}},
    "families": {
        "main": {
            "benchmark": "wrbench",
            "task": "pairwise",
            "kind": "preference",
            "scale": "preference",
            "dimensions": {"state": {"metric": "m"}},
        }
    },
}


def written(tmp_path, values) -> str:
    path = tmp_path / "plan.yaml"
    path.write_text(yaml.safe_dump(values) if not isinstance(values, str) else values)
    return str(path)


def test_the_shipped_plan_covers_the_papers(plan):
    kinds = {(f.benchmark, f.kind) for f in plan.families.values()}
    assert kinds == {
        ("mbench", "preference"),
        ("mbench", "trigger"),
        ("wrbench", "preference"),
        ("wrbench", "judgeability"),
        ("memobench", "vqa"),
    }
    assert len(plan.families["mbench_preference"].dimensions) == 12
    assert plan.families["mbench_preference"].dimensions["action_interaction"].metric_of("T") is None


def test_the_shipped_plan_names_registered_metrics_and_their_direction(plan):
    for family in plan.families.values():
        named = {axis.metric_of(s): axis.higher_is_better for axis in family.dimensions.values() for s in ("T", "A", "natural25")}
        if family.judge and not family.judge.startswith("judge."):
            named[family.judge] = True
        for metric, higher in named.items():
            if metric is not None:
                assert METRICS.get(metric).higher_is_better == higher, metric


@pytest.mark.parametrize(("metric", "words"), [("memobench.lpips", "less of memobench.lpips"), ("folder.view_left", "no value of")])
def test_a_metric_of_which_more_is_not_better_needs_its_direction_in_the_plan(tmp_path, metric, words):
    """Left out, the direction would be that more is better, and the agreement would have the wrong sign."""
    (family,) = MINIMAL["families"].values()
    plans = [
        {**MINIMAL, "families": {"main": {**family, "dimensions": {"state": {"metric": metric, **said}}}}}
        for said in ({}, {"higher_is_better": False})
    ]
    with pytest.raises(ParameterError, match=f"families.main.dimensions.state: {words}.*write higher_is_better: false"):
        load_plan(written(tmp_path, plans[0]))
    assert not load_plan(written(tmp_path, plans[1])).families["main"].dimensions["state"].higher_is_better


def test_the_hash_follows_every_choice_and_nothing_else(tmp_path):
    base = load_plan(written(tmp_path, MINIMAL))
    again = load_plan(written(tmp_path, "# a comment\n" + yaml.safe_dump(MINIMAL, sort_keys=True)))
    assert again.hash == base.hash
    assert load_plan(written(tmp_path, {**MINIMAL, "seed": 8})).hash != base.hash
    wider = {**MINIMAL, "scales": {"preference": {"categories": [-2, -1, 0, 1, 2]}}}
    with pytest.raises(ParameterError, match="preference labels"):
        load_plan(written(tmp_path, wider))
    assert base.hash[:16] in base.footnote


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resample": 5}, r"unknown key 'resample' \(value 5\); did you mean 'resamples'\?"),
        ({"clusters": {"metrics": "item"}}, r"unknown key 'clusters.metrics' \(value 'item'\); did you mean 'metric'\?"),
        ({"scales": {"preference": {"categorys": [1, 2]}}}, "'scales.preference.categorys'.*did you mean 'categories'"),
        ({"resamples": 5}, "greater than or equal to 100"),
        ({"clusters": {"metric": "annotator"}}, "needs aggregate: votes"),
        ({"scales": {"preference": {"categories": [1]}}}, "at least 2"),
        ({"scales": {"other": {"categories": [1, 2]}}}, "no scale 'preference'"),
        ({"scales": {"preference": {"categories": [True, False]}}}, "in quotes"),
    ],
)
def test_mistakes_name_file_key_and_problem(tmp_path, change, message):
    with pytest.raises(ParameterError, match=message) as error:
        load_plan(written(tmp_path, {**MINIMAL, **change}))
    assert str(error.value).startswith("plan.yaml")


def test_two_families_cannot_claim_the_same_votes(tmp_path):
    double = {**MINIMAL, "families": {**MINIMAL["families"], "again": MINIMAL["families"]["main"]}}
    with pytest.raises(ParameterError, match="both claim wrbench / pairwise / state"):
        load_plan(written(tmp_path, double))


@pytest.mark.parametrize("other", [{"dimensions": {"returns": {}}}, {"benchmark": "mbench"}])
def test_judgeable_names_a_family_that_asks_about_the_dimension(tmp_path, other):
    asked = {"benchmark": "wrbench", "task": "judgeability", "kind": "judgeability", "scale": "answer", "dimensions": {"state": {}}}
    main = {**MINIMAL["families"]["main"], "dimensions": {"state": {"judgeable": "asked"}}}
    scales = {**MINIMAL["scales"], "answer": {"categories": ["no", "yes"]}}
    assert load_plan(written(tmp_path, {"scales": scales, "families": {"main": main, "asked": asked}}))
    with pytest.raises(ParameterError, match="family main, state: asked does not ask about state of wrbench; declare it there"):
        load_plan(written(tmp_path, {"scales": scales, "families": {"main": main, "asked": asked | other}}))


def test_a_plan_below_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_plan(f"~/{Path(written(tmp_path, MINIMAL)).name}") == load_plan(written(tmp_path, MINIMAL))


def test_unreadable_plans(tmp_path):
    with pytest.raises(ParameterError, match="no plan"):
        load_plan(tmp_path / "none.yaml")
    with pytest.raises(ParameterError, match="not valid YAML"):
        load_plan(written(tmp_path, "a: [1"))
    with pytest.raises(ParameterError, match="expected a mapping"):
        load_plan(written(tmp_path, "- 1"))


def test_the_holdout_is_a_fixed_share_of_scenes(plan):
    held = sum(plan.holdout.holds(f"scene {k}") for k in range(2000)) / 2000
    assert held == pytest.approx(0.3, abs=0.04)


def test_the_shipped_plan_is_commented():
    text = (project_root() / "params" / "agreement.yaml").read_text()
    assert all(word in text for word in ("# What is computed", "tie band", "# Declare all categories of a scale"))


def test_a_plan_that_is_not_there_names_the_command_that_prints_one(tmp_path):
    with pytest.raises(ParameterError, match="lookback agreement --template KIND --part plan"):
        load_plan(tmp_path / "plan.yaml")
