"""The small models: known weights are recovered, more evidence never lowers a probability, and weak evidence is not judged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from forensics_evidence import make_clip, make_path, out_and_back, returned, seen_with
from lookback.demo.plan import demo_plan
from lookback.errors import Reason
from lookback.forensics.calibration import Calibration, calibration, figures, from_record, model_from_record, model_record
from lookback.forensics.evidence import Evidence
from lookback.forensics.features import NAMES, features
from lookback.forensics.limits import limits
from lookback.forensics.model import Design, Model, fit
from lookback.forensics.rules import LABELS
from lookback.forensics.verdicts import verdicts
from scipy.special import expit
from sklearn.linear_model import LogisticRegression


@pytest.fixture(scope="module")
def made() -> tuple[pd.DataFrame, np.ndarray]:
    """Two features that speak for a failure (one by being low) and one that says nothing."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(4000, 3)), columns=["up", "down", "noise"])
    return table, rng.random(4000) < expit(1.5 * table["up"] - 1.0 * table["down"] - 1.0)


def test_known_weights_are_recovered_and_noise_gets_none(made):
    table, positive = made
    model = fit(table, positive, Design({"up": 1, "down": -1, "noise": 1}), ridge=1e-6)
    weights = np.array(model.weights) / np.array(model.scales)  # back to the units of the data
    assert weights == pytest.approx([1.5, 1.0, 0.0], abs=0.15)
    assert abs(np.mean([model.probability(row) for row in table[:1000].to_dict("records")]) - positive[:1000].mean()) < 0.03


def test_without_constraints_in_the_way_it_is_the_logistic_regression_of_scikit_learn(made):
    table, positive = made
    model = fit(table[["up", "down"]], positive, Design({"up": 1, "down": -1}), ridge=1.0)
    z = np.array([model.z(row) for row in table.to_dict("records")])
    theirs = LogisticRegression(C=1.0, class_weight="balanced", tol=1e-10, max_iter=1000)
    weight = np.where(positive, 0.5 / positive.mean(), 0.5 / (1 - positive.mean()))
    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(z, positive, sample_weight=weight)
    assert model.weights == pytest.approx(theirs.coef_[0], rel=1e-3)


def test_a_feature_that_speaks_the_other_way_round_has_no_say(made):
    table, positive = made
    model = fit(table, positive, Design({"up": -1, "down": -1}))
    assert model.weights[0] == 0.0


def test_more_evidence_never_lowers_the_probability(made):
    table, positive = made
    model = fit(table, positive, Design({"up": 1, "down": -1}, floors={}))
    steps = [model.probability({"up": value, "down": 0.3}) for value in np.linspace(-5, 5, 41)]
    assert np.all(np.diff(steps) >= 0) and steps[-1] > steps[0]
    assert np.all(np.diff([model.probability({"up": 0.3, "down": value}) for value in np.linspace(-5, 5, 41)]) <= 0)


def test_a_missing_feature_speaks_neither_way_and_a_needed_one_is_named():
    model = Model(("a", "b"), (1, 1), (2.0, 0.0), (1.0, 1.0), (1.0, 3.0), 0.0, needs=("a",))
    assert model.probability({"a": 2.0}) == model.probability({"a": 2.0, "b": 0.0}) == 0.5
    assert model.missing({"b": 1.0}) == "a" and model.missing({"a": 0.0}) is None


def test_a_close_call_is_left_open():
    model = Model(("a",), (1,), (0.0,), (1.0,), (1.0,), 0.0, named_from=0.6, absent_to=0.4)
    assert [model.says({"a": value}) for value in (-2.0, 0.0, 2.0)] == [False, None, True]


def test_a_recorded_model_says_what_the_fitted_one_says(made):
    table, positive = made
    model = fit(table.abs(), positive, Design({"up": 1, "noise": 1}, ("up",), {"up": 0.1}))
    again = model_from_record(model_record(model))
    for row in table.abs()[:20].to_dict("records"):
        assert again.probability(row) == pytest.approx(model.probability(row), abs=1e-3)
    assert again.needs == ("up",) and again.floors == (0.1, 0.0)


@pytest.mark.parametrize("domain", ["demo", "real"])
def test_every_label_is_recorded_in_every_domain_with_features_that_exist(domain):
    table = calibration(domain)
    assert tuple(table.labels) == LABELS and table.domain == domain
    for label in table.labels.values():
        assert label.model is None or set(label.model.features) <= {*NAMES, "confidence"}
        assert label.model is None or min(label.model.weights) >= 0
        assert label.by != "model" or label.experimental == (not _beats_chance(label.figures))


def _beats_chance(row: dict) -> bool:
    return row["precision"] is not None and row["precision_low"] > row["base_rate"]


def test_the_rules_have_no_number_that_the_recorded_table_lacks():
    assert len(limits()) == 33 and limits()["inactive_share"] == 0.65


def test_figures_of_both_domains_stand_side_by_side_with_intervals():
    table = figures().set_index("label")
    assert table.loc["camera_inactivity", "demo_n"] == len(demo_plan()), "fit the demo's table again when its plan changes"
    assert 20 < table.loc["camera_inactivity", "real_n"] <= 38
    assert "[" in table.loc["camera_inactivity", "real_precision"] and table.loc["state_reset", "real_state"] == "needs a judge"


def still_clip(**curves: float) -> Evidence:
    """A clip whose curves say: a still camera that shows the same picture throughout."""
    quiet = {"step": 0.0, "pan": 0.0, "tilt": 0.0, "zoom": 0.0, "rigid": 1.0, "own_motion": 0.0, "unexplained": 0.001}
    same = {"first_match": 0.9, "detail": 0.1, "saturation": 0.3, "light": 0.5, "palette": 1.0, "block_noise": 2.0}
    values = {name: np.full(24, value) for name, value in (quiet | same | curves).items()}
    return Evidence(make_clip(prompt="The camera pans to the left and back."), make_path(np.zeros(40)), curves=values)


def turning_clip() -> Evidence:
    """A camera that pans two thirds of a picture away and comes back."""
    pan = np.concatenate([np.full(12, 0.06), np.full(12, -0.06)])
    seen = still_clip()
    curves = {**seen.curves, "pan": pan, "step": np.abs(pan), "first_match": 0.9 - np.abs(np.cumsum(pan))}
    return Evidence(seen.clip, make_path(out_and_back()), curves=curves)


def test_on_real_clips_a_still_camera_is_named_and_one_that_turns_and_returns_is_not():
    table = calibration("real")
    still, turning = ({one.rule.label: one for one in verdicts(seen, table)} for seen in (still_clip(), turning_clip()))
    assert still["camera_inactivity"].finding is not None and still["camera_inactivity"].probability > 0.5
    assert turning["camera_inactivity"].finding is None and turning["camera_inactivity"].probability < 0.3
    assert turning["camera_drift"].finding is None and turning["style_shift"].finding is None


def test_a_camera_that_hardly_moves_is_inactive_and_does_not_drift():
    asked = make_clip(prompt="The camera turns around to the left.")
    told = {one.rule.label: one for one in verdicts(replace(still_clip(), clip=asked), calibration("real"))}
    assert told["camera_inactivity"].finding is not None and told["camera_drift"].finding is None
    assert told["camera_drift"].abstained is not None and told["camera_drift"].abstained.reason == Reason.NOT_APPLICABLE


def test_a_camera_that_should_rest_or_of_which_nothing_is_known_is_not_called_inactive():
    for prompt, reason in (
        ("The camera remains fixed in place throughout.", Reason.NOT_APPLICABLE),
        ("A cat sleeps.", Reason.MISSING_INPUT),
    ):
        seen = replace(still_clip(), clip=make_clip(prompt=prompt))
        told = next(one for one in verdicts(seen, calibration("real")) if one.rule.label == "camera_inactivity")
        assert told.finding is None and told.abstained is not None and told.abstained.reason == reason


def test_what_needs_a_judge_waits_for_one_and_takes_the_answer():
    seen, table = still_clip(), calibration("real")
    silent = next(one for one in verdicts(seen, table) if one.rule.label == "state_reset")
    assert silent.abstained is not None and silent.abstained.reason == Reason.NEEDS_JUDGE and silent.finding is None
    told = Evidence(seen.clip, seen.path, curves=seen.curves, answers={"D4_action": 0.1, "D4_progress": 0.2})
    named = next(one for one in verdicts(told, table) if one.rule.label == "event_never_starts")
    assert named.finding is not None and named.probability == pytest.approx(0.85)


def test_an_event_is_missed_only_where_one_was_asked_for_and_the_camera_rests_long_enough_to_see_it():
    idle, busy = still_clip(), still_clip(own_motion=0.2, rigid=0.6)
    table = calibration("real")
    told = {
        name: next(one for one in verdicts(seen, table) if one.rule.label == "event_never_starts")
        for name, seen in {
            "nothing asked": idle,
            "idle": replace(idle, clip=idle.clip.model_copy(update={"event_level": "full"})),
            "busy": replace(busy, clip=busy.clip.model_copy(update={"event_level": "full"})),
            "never rests": replace(turning_clip(), clip=idle.clip.model_copy(update={"event_level": "full"})),
        }.items()
    }
    assert told["nothing asked"].abstained is not None and told["nothing asked"].abstained.reason == Reason.NOT_APPLICABLE
    assert told["never rests"].abstained is not None and told["never rests"].abstained.reason == Reason.TOO_FEW_VALUES
    assert told["idle"].finding is not None and told["busy"].finding is None and told["busy"].abstained is None


def test_an_experimental_label_is_off_unless_it_is_asked_for():
    record = {
        "domain": "real",
        "date": "",
        "source": "",
        "labels": {name: {"by": "nothing", "experimental": True, "why": "few"} for name in LABELS},
    }
    model = {
        "features": {"reach": {"sign": -1, "centre": 0, "scale": 1, "weight": 1}},
        "bias": 3,
        "named_from": 0.5,
        "absent_to": 0.5,
    }
    record["labels"]["camera_inactivity"] = {"by": "model", "experimental": True, "why": "unproven", "model": model}
    table: Calibration = from_record(record)
    off, on = ({one.rule.label: one for one in verdicts(still_clip(), table, asked)} for asked in (False, True))
    assert off["camera_inactivity"].abstained.reason == Reason.UNPROVEN and on["camera_inactivity"].finding is not None
    assert on["teleport"].abstained.reason == Reason.UNPROVEN


def test_a_clip_that_cannot_be_looked_at_has_reasons_instead_of_features():
    found = features(Evidence(make_clip()))
    assert not found.values and set(found.missing) == set(NAMES)
    assert found.missing["reach"].reason == Reason.TOO_SHORT and found.missing["truth_match"].reason == Reason.MISSING_INPUT
    assert found.missing["subject_out_late"].reason == Reason.NO_MASK and found.missing["turn"].reason == Reason.NO_POSES
    assert all(one.finding is None and one.abstained is not None for one in verdicts(Evidence(make_clip()), calibration("real")))


def test_frames_in_which_the_subject_is_not_known_do_not_count_as_absence():
    out, unknown = np.array([1] * 6 + [0, 0, -1]), np.array([1] * 6 + [0, -1, -1])
    assert features(Evidence(make_clip(), state=out)).values["subject_out_late"] == 1.0
    assert features(Evidence(make_clip(), state=unknown)).missing["subject_out_late"].reason == Reason.NO_MASK


def test_in_the_demo_the_rules_decide_and_say_why_they_cannot():
    seen = seen_with(returned(), yaws=np.zeros(40))
    told = {one.rule.label: one for one in verdicts(seen, calibration("demo"))}
    assert told["camera_inactivity"].finding is not None and 0.5 < told["camera_inactivity"].probability <= 1
    assert told["identity_drift"].abstained.reason == Reason.NO_MASK and told["lighting_shift"].abstained is None
