"""Human identity and appearance: does each tracked person keep face, clothes, hair and build (MBench section 4.2.2, eq. 6)?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lookback.artifacts import FaceTracks, PersonFeatures
from lookback.benchmarks.mbench.metrics.object_texture_consistency import centroid_consistency
from lookback.benchmarks.mbench.metrics.shared import mbench_metric
from lookback.errors import NotScorable, Reason
from lookback.measures.features import centroid_cosines
from lookback.scoring import Scored, ScoringClip, Unit, mean_item


def tracks_consistency(tracks: Sequence[ArrayLike], *, min_length: int = 1) -> float:
    """(1/K) sum_k of each track's centroid consistency, K tracks of embeddings (N_k,D) (MBench eq. 6).

    `min_length` leaves out shorter tracks: a track of one detection scores 1 by definition.
    """
    kept = [track for track in tracks if len(np.asarray(track)) >= min_length]
    if not kept:
        raise NotScorable(Reason.NO_FACE, f"no track of at least {min_length} detections")
    return float(np.mean([centroid_consistency(track) for track in kept]))


MIN_TRACK = 2  # detections; a track of one scores 1 by definition (ours)


@mbench_metric(
    "entity.human_identity_consistency",
    title="Human identity",
    unit="cosine",
    needs=("video",),
    roles=("faces",),
    subsets=("human",),
    equation="1/K sum_k 1/N_k sum_i cos(phi_ki, mean phi_k)",
    source="MBench section 4.2.2, eq. 6",
    constants=("min_track_length",),
)
def score_identity(context: ScoringClip) -> Scored:
    """The embeddings of each face track against their centroid. The cosine of every frame is kept as a unit."""
    faces = context.artifact(FaceTracks)
    return score_tracks(context, faces.frame, faces.embedding, faces.track, Reason.NO_FACE, "face")


def score_tracks(
    context: ScoringClip, frames: np.ndarray, features: np.ndarray, tracks: np.ndarray, nothing: Reason, what: str
) -> Scored:
    """One unit per track, and one per detection for the curves; the item is the mean over tracks."""
    shortest = int(context.constant("min_track_length", MIN_TRACK))
    by_track: list[Unit] = []
    by_frame: list[Unit] = []
    for track in np.unique(tracks):
        rows = np.flatnonzero(tracks == track)
        if len(rows) < shortest:
            continue
        cosines = np.clip(centroid_cosines(features[rows]), 0.0, 1.0)
        value, span = centroid_consistency(features[rows]), (int(frames[rows[0]]), int(frames[rows[-1]]))
        by_track.append(Unit(f"track{track}", "track", value, value, *span, detail=f"{len(rows)} detections"))
        by_frame += [
            Unit(f"track{track}_f{int(frames[row])}", "frame", float(cosine), float(cosine), int(frames[row]))
            for row, cosine in zip(rows, cosines, strict=True)
        ]
    if not by_track:
        raise NotScorable(nothing, f"no {what} was found in at least {shortest} sampled frames of one track")
    return Scored([mean_item(by_track)], by_track + by_frame)


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
def score_appearance(context: ScoringClip) -> Scored:
    """The same with features of the masked bodies."""
    people = context.artifact(PersonFeatures)
    return score_tracks(context, people.frame, people.vector, people.track, Reason.NO_MASK, "person")
