"""Statistics of human agreement: from votes to a sentence one may print.

Every function takes plain arrays or DataFrames, declares its categories, and gives a right value or raises
`lookback.errors.NotScorable` with a typed reason; none returns a silent NaN.
"""

from lookback.stats.alpha import krippendorff_alpha
from lookback.stats.bootstrap import bootstrap_ci
from lookback.stats.bradley_terry import Strengths, bradley_terry
from lookback.stats.bridge import Bridge, bridge
from lookback.stats.ceiling import human_ceiling, model_ceiling
from lookback.stats.confusion import proportion
from lookback.stats.correlation import correlation_structure
from lookback.stats.dawid_skene import DawidSkene, dawid_skene
from lookback.stats.estimate import Estimate
from lookback.stats.factors import factor_contrasts, stars
from lookback.stats.gwet import gwet_ac1, gwet_ac2
from lookback.stats.holm import holm
from lookback.stats.judgeability import judgeability_agreement
from lookback.stats.kappa import cohen_kappa, fleiss_kappa
from lookback.stats.leave_out import leave_one_annotator_out
from lookback.stats.majority import majority_vote
from lookback.stats.mixed import mixed_model
from lookback.stats.percent import percent_agreement
from lookback.stats.power import power_table, votes_needed
from lookback.stats.preference import preference_sign, threshold_decision
from lookback.stats.rank_agreement import RankAgreement, rank_agreement, rank_agreement_pairs
from lookback.stats.ranks import smallest_attainable_p
from lookback.stats.spearman import spearman, tie_ceiling
from lookback.stats.trigger import trigger_validation
from lookback.stats.weights import agreement_weights
from lookback.stats.wilcoxon import PairedTest, paired_wilcoxon
from lookback.stats.win_ratios import win_ratio_difference, win_ratios

__all__ = [
    "Bridge",
    "DawidSkene",
    "Estimate",
    "PairedTest",
    "RankAgreement",
    "Strengths",
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
    "holm",
    "human_ceiling",
    "judgeability_agreement",
    "krippendorff_alpha",
    "leave_one_annotator_out",
    "majority_vote",
    "mixed_model",
    "model_ceiling",
    "paired_wilcoxon",
    "percent_agreement",
    "power_table",
    "preference_sign",
    "proportion",
    "rank_agreement",
    "rank_agreement_pairs",
    "smallest_attainable_p",
    "spearman",
    "stars",
    "threshold_decision",
    "tie_ceiling",
    "trigger_validation",
    "votes_needed",
    "win_ratio_difference",
    "win_ratios",
]
