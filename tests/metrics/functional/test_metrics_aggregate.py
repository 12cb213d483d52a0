"""Aggregation against pandas, numpy loops and the M-Score twin."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from lookback.errors import ContractError
from lookback.metrics.functional import trigger_scores
from lookback.scoring.aggregate import aggregate, aggregate_triggered, with_clip_facts
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

BY = ["metric", "model_id"]
PASSED = "memobench.vqa_physics_adherence"


@pytest.fixture
def items(rng: np.random.Generator) -> pd.DataFrame:
    """Two models, 12 scenes of 5 clips with a scene effect; some clips are missing for different reasons."""
    rows = []
    for model, level in (("a", 0.7), ("b", 0.5)):
        for scene in range(12):
            effect = rng.normal(0, 0.1)
            for clip in range(5):
                reason = {0: "too_few_matches", 7: "no_poses"}.get((5 * scene + clip) % 11, "")
                value = np.nan if reason else level + effect + rng.normal(0, 0.02)
                rows.append({"metric": "m", "model_id": model, "scene": f"s{scene}", "value": value, "reason": reason})
    return pd.DataFrame(rows)


def test_mean_n_coverage_and_reasons(items: pd.DataFrame) -> None:
    summary = aggregate(items, by=BY).set_index("model_id")
    values = items[items["model_id"] == "a"]["value"].dropna()
    row = summary.loc["a"]
    assert row["mean"] == pytest.approx(values.mean())
    assert row["sd"] == pytest.approx(values.std())
    assert (row["n"], row["n_items"], row["n_clusters"]) == (len(values), 60, 12)
    assert row["coverage"] == pytest.approx(len(values) / 60)
    assert json.loads(row["reasons"]) == {"no_poses": 5, "too_few_matches": 6}


def test_the_interval_is_that_of_a_plain_bootstrap_over_scenes(items: pd.DataFrame) -> None:
    """Second implementation: draw scenes one by one, concatenate their clips; levels expanded for 12 scenes (Hesterberg 2015)."""
    group = items[items["model_id"] == "a"].dropna(subset="value")
    by_scene = [part["value"].to_numpy() for _, part in group.groupby("scene")]
    rng = np.random.default_rng(5)
    means = [np.concatenate([by_scene[i] for i in rng.integers(0, 12, 12)]).mean() for _ in range(4000)]
    row = aggregate(items, by=BY, resamples=4000).set_index("model_id").loc["a"]
    tail = stats.norm.cdf(np.sqrt(12 / 11) * stats.t.ppf(0.025, 11))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(np.quantile(means, [tail, 1 - tail])), abs=0.005)
    naive = 1.96 * group["value"].std() / np.sqrt(len(group))
    assert row["ci_high"] - row["ci_low"] > 2.5 * naive  # clips of one scene are no independent evidence


def test_same_seed_same_interval_and_other_models_do_not_matter(items: pd.DataFrame) -> None:
    both, alone = aggregate(items, by=BY, seed=3), aggregate(items[items["model_id"] == "b"], by=BY, seed=3)
    pd.testing.assert_frame_equal(both[both["model_id"] == "b"].reset_index(drop=True), alone)
    assert aggregate(items, by=BY, seed=4)["ci_low"].iloc[0] != both["ci_low"].iloc[0]


def test_not_applicable_is_no_lack_of_coverage() -> None:
    frame = pd.DataFrame({"metric": "m", "model_id": "a", "scene": ["s", "t", "u"], "value": [1.0, np.nan, np.nan]})
    row = aggregate(frame.assign(reason=["", "not_applicable", "no_mask"]), by=BY).iloc[0]
    assert (row["n"], row["n_items"], row["coverage"]) == (1, 2, 0.5)
    assert json.loads(row["reasons"]) == {"no_mask": 1, "not_applicable": 1}


def test_a_group_without_values_or_with_one_scene_has_no_interval_and_says_why() -> None:
    frame = pd.DataFrame(
        {"metric": ["m", "m", "k"], "model_id": "a", "scene": "s", "value": [0.5, 0.7, np.nan], "reason": ["", "", "no_face"]}
    )
    summary = aggregate(frame, by=BY).set_index("metric")
    assert summary.loc["m", "mean"] == pytest.approx(0.6)
    assert np.isnan(summary.loc["m", "ci_low"])
    assert "one cluster" in summary.loc["m", "ci_note"]
    assert np.isnan(summary.loc["k", "mean"])
    assert (summary.loc["k", "n"], summary.loc["k", "coverage"]) == (0, 0.0)


@pytest.mark.parametrize(("metric", "value"), [("memobench.psnr", 34.5), ("memobench.psnr", 0.0), ("mind.action", 12345.678)])
def test_values_that_are_all_alike_have_no_interval_and_say_why(metric: str, value: float) -> None:
    frame = pd.DataFrame({"metric": metric, "model_id": "a", "scene": np.repeat(range(10), 2), "value": value, "reason": ""})
    row = aggregate(frame, by=BY).iloc[0]
    assert np.isnan(row["ci_low"]) and np.isnan(row["ci_high"])
    assert row["ci_note"] == "every resample gives the same value: its spread is unknown, no interval"


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_clips_that_all_pass_or_all_fail_have_wilsons_interval_over_the_scenes(value: float) -> None:
    frame = pd.DataFrame({"metric": PASSED, "model_id": "a", "scene": np.repeat(range(10), 2), "value": value, "reason": ""})
    row = aggregate(frame, by=BY).iloc[0]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(proportion_confint(10 * value, 10, method="wilson"))
    assert "Wilson" in row["ci_note"]
    one = aggregate(frame[frame["scene"] < 1], by=BY).iloc[0]
    assert np.isnan(one["ci_low"]) and one["ci_note"] == "one cluster only: nothing to resample, no interval"


def test_the_interval_of_a_share_of_passes_holds_the_truth(rng: np.random.Generator) -> None:
    """12 scenes, nine of ten clips pass: in a quarter of the studies all do."""
    hits = []
    for study in range(300):
        frame = pd.DataFrame({"metric": PASSED, "model_id": "a", "scene": range(12), "value": rng.random(12) < 0.9})
        row = aggregate(frame.astype({"value": float}).assign(reason=""), by=BY, resamples=200, seed=study).iloc[0]
        hits.append(row["ci_low"] <= 0.9 <= row["ci_high"])
    assert np.mean(hits) > 0.93


def test_infinity_is_refused() -> None:
    frame = pd.DataFrame({"metric": ["m"], "model_id": ["a"], "scene": ["s"], "value": [np.inf], "reason": [""]})
    with pytest.raises(ContractError, match="infinite"):
        aggregate(frame, by=BY)


class TestTriggered:
    def test_equals_the_m_score_twin(self, items: pd.DataFrame, rng: np.random.Generator) -> None:
        fired = rng.random(len(items)) < 0.6
        gated = items.assign(
            reason=np.where(fired, items["reason"], "not_triggered"), value=np.where(fired, items["value"], np.nan)
        )
        summary = aggregate_triggered(gated, by=BY).set_index("model_id")
        for model in "ab":
            chosen = (items["model_id"] == model).to_numpy()
            expected = trigger_scores(items["value"][chosen].to_numpy(), fired[chosen])
            assert {name: summary.loc[model, name] for name in expected} == pytest.approx(expected)
            assert summary.loc[model, "ci_low"] < expected["m_score"] < summary.loc[model, "ci_high"]

    def test_the_interval_draws_scenes(self, items: pd.DataFrame) -> None:
        assert aggregate_triggered(items, by=BY)["n_clusters"].tolist() == [12, 12]

    def test_nothing_triggered_scores_zero_and_nothing_measured_has_no_score(self) -> None:
        frame = pd.DataFrame({"metric": ["never"] * 2 + ["blind"] * 2, "model_id": "a", "scene": ["s", "t"] * 2, "value": np.nan})
        frame["reason"] = ["not_triggered", "not_triggered", "backend_unavailable", "not_triggered"]
        summary = aggregate_triggered(frame, by=BY).set_index("metric")
        assert summary.loc["never", "m_score"] == 0.0
        assert np.isnan(summary.loc["blind", "m_score"])
        assert summary.loc["blind", "c_trig"] == 0.5

    def test_an_unread_trigger_is_neither_yes_nor_no(self) -> None:
        """One yes, one no, two unread: C = 1/2; the judge's own unread rating behind a Yes is triggered and unmeasured."""
        frame = pd.DataFrame({"metric": "m", "model_id": "a", "scene": list("stuvw"), "value": [0.5, *[np.nan] * 4]})
        frame["reason"] = ["", "not_triggered", "judge_unparsed", "budget_spent", "judge_unparsed"]
        frame["detail"] = ["", "trigger judge j: No.", "trigger judge j: Hm.", "trigger judge j: ", "'score': Hm."]
        row = aggregate_triggered(frame, by=BY).iloc[0]
        assert (row["s_rel"], row["n_triggered"], row["n_items"]) == (0.5, 2, 3)
        assert row["c_trig"] == pytest.approx(2 / 3)


def test_items_get_the_facts_of_their_clip_and_strangers_are_refused() -> None:
    keys = {"benchmark": "mbench", "setting": "A", "model_id": "a"}
    clips = pd.DataFrame([{**keys, "clip_id": "c", "scene": "kitchen"}])
    items = pd.DataFrame([{**keys, "clip_id": "c", "metric": "m", "value": 1.0, "reason": ""}])
    assert with_clip_facts(items, clips, ["scene"])["scene"].tolist() == ["kitchen"]
    with pytest.raises(ContractError, match="belong to no clip"):
        with_clip_facts(items.assign(clip_id="d"), clips, ["scene"])


IDENTITY = "mbencha.entity.human_identity_consistency"


def destroyed(variant: str) -> pd.DataFrame:
    """Two models, four clips each: `keeps` scores 0.8 throughout, `destroys` 0.9 once and has no face in the other three."""
    kept = [("keeps", 0.8, "")] * 4
    lost = [("destroys", 0.9, ""), *[("destroys", np.nan, "no_face")] * 2, ("destroys", np.nan, "backend_unavailable")]
    rows = [{"model_id": m, "value": v, "reason": r, "scene": f"s{n}", "detail": ""} for n, (m, v, r) in enumerate(kept + lost)]
    return pd.DataFrame(rows).assign(metric=IDENTITY, variant=variant)


@pytest.mark.parametrize(
    ("variant", "best", "mean"), [("paper", "destroys", 0.9), ("official", "keeps", 0.3), ("corrected", "keeps", 0.3)]
)
def test_a_model_that_destroys_the_person_wins_only_where_failed_clips_are_left_out(variant, best, mean):
    """By hand: 0.9 alone, or (0.9 + 0 + 0) / 3. That a backend is not there is nobody's failure and never counts."""
    summary = aggregate(destroyed(variant), by=["metric", "variant", "model_id"]).set_index("model_id")
    assert summary["mean"].idxmax() == best
    row = summary.loc["destroys"]
    assert row["mean"] == pytest.approx(mean)
    assert (row["mean_left_out"], row["mean_zero"]) == (pytest.approx(0.9), pytest.approx(0.3))
    assert (row["n"], row["n_items"], row["n_zero"], row["coverage"]) == (1, 4, 2, 0.25)


def test_failed_clips_count_as_zero_in_the_m_score_too():
    """By hand, official: S = (0.9 + 0 + 0) / 3, C = 1 (the clip without a backend triggered, too); paper: S = 0.9."""
    by = ["metric", "variant", "model_id"]
    for variant, reliability in (("official", 0.3), ("paper", 0.9)):
        row = aggregate_triggered(destroyed(variant), by=by).set_index("model_id").loc["destroys"]
        assert row["s_rel"] == pytest.approx(reliability)
        assert row["m_score"] == pytest.approx(2 * reliability / (reliability + 1))
        assert (row["m_score_zero"], row["m_score_left_out"]) == (pytest.approx(0.6 / 1.3), pytest.approx(1.8 / 1.9))


def test_a_model_without_a_single_measured_clip_has_the_score_zero_or_none():
    lost = destroyed("official").query("reason == 'no_face'")
    by = ["metric", "variant", "model_id"]
    assert aggregate(lost, by=by).iloc[0]["mean"] == 0.0
    assert aggregate_triggered(lost, by=by).iloc[0]["m_score"] == 0.0
    assert np.isnan(aggregate(lost.assign(variant="paper"), by=by).iloc[0]["mean"])
