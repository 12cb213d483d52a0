"""Human appearance: do clothes, hair and build of each tracked person stay the same (MBench section 4.2.2)?"""

from __future__ import annotations

from lookback.artifacts import PersonFeatures
from lookback.benchmarks.mbench.metrics.human_identity_consistency import score_tracks
from lookback.benchmarks.mbench.metrics.shared import mbench_metric
from lookback.errors import Reason
from lookback.scoring import Scored, ScoringClip


@mbench_metric(
    "entity.human_appearance_consistency",
    title="Human appearance",
    unit="cosine",
    needs=("video",),
    roles=("person_features", "people"),
    subsets=("human",),
    equation="1/K sum_k 1/N_k sum_i cos(f_ki, mean f_k) of full-body features",
    source="MBench section 4.2.2",
)
def score(context: ScoringClip) -> Scored:
    """The identity tracks again, with features of the masked bodies."""
    people = context.artifact(PersonFeatures)
    return score_tracks(context, people.frame, people.vector, people.track, Reason.NO_MASK, "person")
