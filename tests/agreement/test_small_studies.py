"""Any small study gives tables with values or typed reasons, and no dimension takes another one down with it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lookback.agreement import Plan, analyse, save_tables
from lookback.errors import ContractError

VALUES = {"agreement": "ac1", "annotators": "agreement", "models": "value", "ranking": "rho"}
ASKED = {
    "visible_state": "pairwise",
    "visible_spatial": "pairwise",
    "reobserved_state": "judgeability",
    "reobserved_spatial": "judgeability",
}


@st.composite
def studies(draw: st.DrawFn) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """(votes, scores, clips) of up to four models, three annotators and three scenes."""
    models, annotators, scenes = (draw(st.integers(low, high)) for low, high in ((2, 4), (1, 3), (1, 3)))
    answers = {"pairwise": draw(st.sampled_from([("0",), ("1",), ("1", "-1"), ("1", "0"), ("1", "0", "-1")]))}
    answers["judgeability"] = draw(st.sampled_from([("yes",), ("yes", "no")]))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    rows = []
    for _ in range(draw(st.integers(1, 25))):
        dimension = str(rng.choice(list(ASKED)))
        task, scene = ASKED[dimension], f"s{rng.integers(scenes)}"
        a, b = (f"m{k}" for k in rng.choice(models, 2, replace=False))
        second = (b, scene) if task == "pairwise" else ("", "")
        row = {"task": task, "dimension": dimension, "scene": scene, "model_a": a, "clip_a": scene}
        row |= {"model_b": second[0], "clip_b": second[1], "annotator": f"ann{rng.integers(annotators)}"}
        rows.append({**row, "label": str(rng.choice(answers[task])), "time": float(len(rows))})
    votes = pd.DataFrame(rows).assign(benchmark="wrbench", setting="natural25", simulated=False)
    levels = dict(zip(("s0", "s1", "s2"), ("none", "spatial", "full"), strict=True))
    clips = pd.DataFrame([(f"m{m}", f"s{s}") for m in range(models) for s in range(scenes)], columns=["model_id", "clip_id"])
    clips = clips.assign(benchmark="wrbench", setting="natural25", scene=clips["clip_id"], event_level=clips["clip_id"].map(levels))
    parts = []
    for name in ("wrbench.visible_state", "wrbench.visible_spatial", "wrbench.support"):
        value = rng.choice([0.0, 0.3, 0.7, 1.0] if draw(st.booleans()) else [0.5], len(clips))
        value[rng.random(len(clips)) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = np.nan
        reason = np.where(np.isnan(value), "no_mask", "")
        parts.append(clips[["benchmark", "setting", "model_id", "clip_id"]].assign(metric=name, value=value, reason=reason))
    return votes, pd.concat(parts, ignore_index=True), clips


def choices(draw: st.DrawFn, plan: Plan) -> Plan:
    metric = draw(st.sampled_from(["scene", "item", "annotator"]))
    update = {
        "resamples": 20,
        "duplicates": "keep_last",
        "contradictions": "drop",
        "aggregate": "votes" if metric == "annotator" else draw(st.sampled_from(["majority", "votes"])),
        "win_ratio_ties": draw(st.sampled_from(["half", "drop"])),
        "orientation": draw(st.sampled_from(["symmetric", "as_given"])),
        "clusters": plan.clusters.model_copy(update={"metric": metric}),
        "majority": plan.majority.model_copy(update={"min_votes": 1, "split": draw(st.sampled_from(["exclude", "tie"]))}),
    }
    return plan.model_copy(update=update)


@pytest.mark.long
@settings(max_examples=12)
@given(studies(), st.data())
def test_a_small_study_gives_values_or_reasons(plan, tmp_path_factory, study, data):
    votes, scores, clips = study
    chosen = choices(data.draw, plan)
    try:
        tables = analyse(votes, scores, chosen, clips)
    except ContractError as error:
        assert "left" in str(error)
        return
    for name, value in VALUES.items():
        if name in tables:
            assert (tables[name].loc[tables[name][value].isna(), "reason"] != "").all(), name
    save_tables(tables, tmp_path_factory.mktemp("tables"))


def pair_votes(dimension: str, results: list[tuple[str, str, str]]) -> pd.DataFrame:
    rows = [
        {"dimension": dimension, "scene": f"s{k}", "model_a": a, "clip_a": f"s{k}", "model_b": b, "clip_b": f"s{k}", "label": label}
        for k, (a, b, label) in enumerate(results)
    ]
    fixed = {
        "task": "pairwise",
        "benchmark": "wrbench",
        "setting": "natural25",
        "annotator": "ann",
        "time": 0.0,
        "simulated": False,
    }
    return pd.DataFrame(rows).assign(**fixed)


def test_a_separated_dimension_keeps_its_reason_and_the_others_their_strengths(plan):
    # the first has a win and a tie of x over y: no finite strengths; the second has strengths
    separated = pair_votes("visible_state", [("x", "y", "1"), ("x", "y", "0")])
    sound = pair_votes("visible_spatial", [("x", "y", "1"), ("x", "y", "0"), ("x", "y", "-1"), ("y", "x", "-1")])
    ranked = plan.model_copy(update={"estimands": ("ranking",)})
    both, alone = (analyse(votes, None, ranked)["models"] for votes in (pd.concat([separated, sound]), sound))
    lost = both[both["dimension"] == "visible_state"]
    why = "separated: no result contradicts the order x above y: strengths and tie parameter are infinite"
    assert lost["reason"].str.contains(why).all() and lost["letters"].eq("a").all()
    kept = both[both["dimension"] == "visible_spatial"].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept[alone.columns], alone, check_dtype=False)
    assert kept["value"].notna().all()


def test_preferences_between_two_clips_of_one_model_are_named_before_anything_is_computed(plan):
    votes = pair_votes("visible_state", [("x", "y", "1"), ("x", "y", "0")])
    votes.loc[1, ["model_b", "clip_b"]] = ["x", "another"]
    with pytest.raises(ContractError, match="vote 2: a model is compared with itself"):
        analyse(votes, None, plan)


def test_votes_that_all_contradict_each_other_leave_nothing_and_say_so(plan):
    votes = pair_votes("visible_state", [("x", "y", "1"), ("y", "x", "1")]).assign(scene="s", clip_a="s", clip_b="s")
    with pytest.raises(ContractError, match="no vote is left"):
        analyse(votes, None, plan.model_copy(update={"contradictions": "drop"}))
