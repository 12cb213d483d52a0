"""Figures of the agreement analysis; each function returns the figure and the caption that says what to see."""

from lookback.agreement.figures.comparison import judge_and_people, model_ranking, recovered_truth
from lookback.agreement.figures.factors import event_factor_boxes
from lookback.agreement.figures.forest import agreement_forest, association_forest, forest, ranking_forest
from lookback.agreement.figures.matrices import agreement_heatmap, correlation_matrix
from lookback.agreement.figures.scatter import win_ratio_scatter

__all__ = [
    "agreement_forest",
    "agreement_heatmap",
    "association_forest",
    "correlation_matrix",
    "event_factor_boxes",
    "forest",
    "judge_and_people",
    "model_ranking",
    "ranking_forest",
    "recovered_truth",
    "win_ratio_scatter",
]
