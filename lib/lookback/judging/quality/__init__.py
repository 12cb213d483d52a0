"""How good the judges are: `consistency` with themselves and each other, `accuracy` against people and truth, `report`."""

from lookback.judging.quality.accuracy import (
    calibration,
    calibration_table,
    decisions_against_truth,
    human_triggers,
    judge_calibration,
    trigger_accuracy,
    truth_agreement,
)
from lookback.judging.quality.consistency import disagreements, judge_agreement, polarity_bias, position_bias, test_retest
from lookback.judging.quality.report import cost_per_clip, gate_funnel, judging_figures, saved_quality, served_models

__all__ = [
    "calibration",
    "calibration_table",
    "cost_per_clip",
    "decisions_against_truth",
    "disagreements",
    "gate_funnel",
    "human_triggers",
    "judge_agreement",
    "judge_calibration",
    "judging_figures",
    "polarity_bias",
    "position_bias",
    "saved_quality",
    "served_models",
    "test_retest",
    "trigger_accuracy",
    "truth_agreement",
]
