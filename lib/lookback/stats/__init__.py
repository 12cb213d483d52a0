"""Statistics of human agreement.

Every function takes plain arrays or DataFrames and declared categories. It returns a value or raises
`lookback.errors.NotScorable` with a typed reason; no function returns NaN without a reason.
"""

from lookback.stats.agreement import (
    agreement_weights,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    gwet_other_raters,
    krippendorff_alpha,
    percent_agreement,
    shuffled_alphas,
)
from lookback.stats.annotators import leave_one_annotator_out, model_ceiling
from lookback.stats.ceiling import judge_beside_people, noise_ceiling, rater_vs_majority
from lookback.stats.comparisons import ranking_with_ties, rating_comparisons, strength_comparisons, win_ratio_comparisons
from lookback.stats.correlations import correlation_structure, smallest_attainable_p, spearman, tie_ceiling
from lookback.stats.dawid_skene import DawidSkene, dawid_skene
from lookback.stats.decisions import Bridge, bridge, judgeability_agreement, trigger_validation
from lookback.stats.design import PairedTest, factor_contrasts, holm, mixed_model, paired_wilcoxon, stars
from lookback.stats.intervals import Estimate, bootstrap_ci, proportion
from lookback.stats.model_agreement import RankAgreement, rank_agreement, rank_agreement_pairs
from lookback.stats.power import PlannedStudy, Power, StudyRules, study_power
from lookback.stats.rankings import rank_intervals, win_ratio_difference, win_ratios
from lookback.stats.ratings import majority_vote, preference_sign, threshold_decision
from lookback.stats.simulation import VoteModel
from lookback.stats.strengths import Strengths, bradley_terry

__all__ = [
    "Bridge",
    "DawidSkene",
    "Estimate",
    "PairedTest",
    "PlannedStudy",
    "Power",
    "RankAgreement",
    "Strengths",
    "StudyRules",
    "VoteModel",
    "agreement_weights",
    "bootstrap_ci",
    "bradley_terry",
    "bridge",
    "cohen_kappa",
    "correlation_structure",
    "dawid_skene",
    "factor_contrasts",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "gwet_other_raters",
    "holm",
    "judge_beside_people",
    "judgeability_agreement",
    "krippendorff_alpha",
    "leave_one_annotator_out",
    "majority_vote",
    "mixed_model",
    "model_ceiling",
    "noise_ceiling",
    "paired_wilcoxon",
    "percent_agreement",
    "preference_sign",
    "proportion",
    "rank_agreement",
    "rank_agreement_pairs",
    "rank_intervals",
    "ranking_with_ties",
    "rater_vs_majority",
    "rating_comparisons",
    "shuffled_alphas",
    "smallest_attainable_p",
    "spearman",
    "stars",
    "strength_comparisons",
    "study_power",
    "threshold_decision",
    "tie_ceiling",
    "trigger_validation",
    "win_ratio_comparisons",
    "win_ratio_difference",
    "win_ratios",
]
