"""How good the judges are: against themselves, each other, their own confidence, and people."""

from lookback.judging.quality.accuracy import human_triggers, trigger_accuracy
from lookback.judging.quality.against_truth import decisions_against_truth, truth_agreement
from lookback.judging.quality.agreement import disagreements, judge_agreement
from lookback.judging.quality.bias import polarity_bias, position_bias
from lookback.judging.quality.calibration import calibration, calibration_table
from lookback.judging.quality.confidence import judge_calibration
from lookback.judging.quality.cost import cost_per_clip
from lookback.judging.quality.funnel import gate_funnel
from lookback.judging.quality.report import judging_figures, saved_quality
from lookback.judging.quality.retest import test_retest

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
    "test_retest",
    "trigger_accuracy",
    "truth_agreement",
]
