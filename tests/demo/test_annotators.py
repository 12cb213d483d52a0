"""Simulated annotators: noise, bias, ties and lapses do what they are declared to do."""

import numpy as np
import pandas as pd
import pytest
from lookback.benchmarks.mbench.benchmark import PREFERENCE as MBENCH_PREFERENCE
from lookback.benchmarks.wrbench.benchmark import PREFERENCE as WRBENCH_PREFERENCE
from lookback.demo.annotators import Annotator, simulate_votes
from lookback.demo.effects import LOSSES, quality
from lookback.demo.failures import FAILURES, model_name

PERFECT = Annotator("perfect", noise=0.0, tie_band=1e-9, lapse=0.0)


def truth_table(models, clips=1):
    """WRBench clips of every model; all of them return."""
    rows = []
    for index in range(clips):
        for failure, severity in models:
            rows.append(
                {
                    "benchmark": "wrbench", "setting": "demo", "model_id": model_name(failure, severity), "clip_id": f"clip{index}",
                    "scene": f"scene{index}", "subset": "causal", "event": "full", "event_action": "tip", "failure": failure,
                    "severity": severity, "expected_state": "", "shown_state": "", "d_start": 5, "r_start": 9,
                    "returns": failure != "object_vanishes", "record": "",
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


MODELS = [("none", 0.0), ("state_reset", 0.5), ("state_reset", 1.0), ("teleport", 1.0)]


def test_losses_cover_every_question_and_only_known_failures():
    assert set(LOSSES) == {*MBENCH_PREFERENCE, *WRBENCH_PREFERENCE}
    assert {name for losses in LOSSES.values() for name in losses} <= set(FAILURES)
    assert all(0 < loss <= 1 for losses in LOSSES.values() for loss in losses.values())


def test_an_annotator_without_noise_votes_the_order_of_the_truth():
    votes = simulate_votes(truth_table(MODELS), seed=1, annotators=[PERFECT], votes_per_item=1)
    pairs = votes[votes["task"] == "pairwise"]
    severity = {model_name(*model): model for model in MODELS}
    for row in pairs.to_dict("records"):
        delta = quality(row["dimension"], *severity[row["model_a"]]) - quality(row["dimension"], *severity[row["model_b"]])
        assert int(row["label"]) == np.sign(round(delta, 12))


def test_tie_band_makes_ties_and_side_bias_favours_the_left():
    truth = truth_table([("none", 0.0), ("texture_drift", 0.3)], clips=60)
    wide = simulate_votes(truth, 2, [Annotator("wide", noise=0.0, tie_band=0.2)], 1)
    assert (wide.loc[wide["task"] == "pairwise", "label"] == "0").all()
    same = truth_table([("none", 0.0), ("lighting_shift", 0.0)], clips=80)
    left = simulate_votes(same, 2, [Annotator("left", noise=0.1, side_bias=0.3, tie_band=0.0)], 1)
    assert (left.loc[left["task"] == "pairwise", "label"] == "1").mean() > 0.95


def test_noise_flips_votes_as_often_as_the_normal_law_says():
    truth = truth_table([("none", 0.0), ("state_reset", 0.2)], clips=400)
    votes = simulate_votes(truth, 4, [Annotator("noisy", noise=0.2, tie_band=0.0)], 1)
    asked = votes[(votes["task"] == "pairwise") & (votes["dimension"] == "reobserved_state")]
    assert (asked["label"] == "1").mean() == pytest.approx(0.8413, abs=0.05)  # Phi(0.2 / 0.2)


def test_lapses_turn_yes_into_no_at_their_rate():
    votes = simulate_votes(truth_table(MODELS, clips=60), 5, [Annotator("sloppy", lapse=0.2)], 1)
    judged = votes[votes["task"] == "judgeability"]
    assert (judged["label"] == "no").mean() == pytest.approx(0.2, abs=0.04)


def test_what_never_returns_is_not_judged():
    votes = simulate_votes(truth_table([("none", 0.0), ("object_vanishes", 1.0)]), 6, [PERFECT], 1)
    assert (votes.loc[votes["task"] == "judgeability", "label"] == "no").all()
    assert not ((votes["task"] == "pairwise") & votes["dimension"].str.startswith("reobserved")).any()


def test_votes_are_reproducible_and_do_not_depend_on_other_clips():
    small, large = truth_table(MODELS, clips=1), truth_table(MODELS, clips=3)
    pd.testing.assert_frame_equal(simulate_votes(large, 7), simulate_votes(large, 7))
    keys = ["task", "dimension", "clip_a", "model_a", "model_b", "annotator"]
    first = simulate_votes(small, 7).set_index(keys)["label"]
    among = simulate_votes(large, 7).set_index(keys)["label"]
    assert (among.loc[first.index] == first).all()
    assert not simulate_votes(large, 8)["label"].equals(simulate_votes(large, 7)["label"])


def test_three_of_five_annotators_vote_on_each_question():
    votes = simulate_votes(truth_table(MODELS), seed=9)
    per_item = votes.groupby(["task", "dimension", "clip_a", "model_a", "model_b"]).size()
    assert (per_item == 3).all()
    assert votes["annotator"].nunique() == 5
    assert (votes.groupby("annotator")["time"].diff().dropna() == 9.0).all()
