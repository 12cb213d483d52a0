"""Human identity and appearance: does each tracked person keep face, clothes, hair and build (MBench section 4.2.2, eq. 6)?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.artifacts import FaceTracks, PersonFeatures
from lookback.benchmarks.mbench.metrics.object_texture_consistency import centroid_consistency
from lookback.benchmarks.mbench.metrics.shared import mbench_metric
from lookback.errors import NotScorable, Reason
from lookback.measures.features import centroid_cosines, cosine
from lookback.scoring import Item, Scored, ScoringClip, Unit, mean_item


def tracks_consistency(tracks: Sequence[ArrayLike], *, min_length: int = 1) -> float:
    """(1/K) sum_k of each track's centroid consistency, K tracks of embeddings (N_k,D) (MBench eq. 6).

    `min_length` leaves out shorter tracks: a track of one detection scores 1 by definition.
    """
    kept = [track for track in tracks if len(np.asarray(track)) >= min_length]
    if not kept:
        raise NotScorable(Reason.NO_FACE, f"no track of at least {min_length} detections")
    return float(np.mean([centroid_consistency(track) for track in kept]))


def returning_cosines(
    frames: NDArray[np.int64],
    features: NDArray[np.float32],
    tracks: NDArray[np.int64],
    first_until: int,
    last_from: int,
    *,
    min_length: int = 1,
) -> dict[int, dict[int, float]]:
    """Is each person of the beginning there again at the end? Track -> frame of the end -> cosine, clipped at 0.

    Per frame from `last_from` on, the best cosine of its detections to the centroid of the person's detections up to
    `first_until` (at least `min_length` of them). It does not ask to which track a detection belongs, so a person who comes back as
    another scores low. Where no frame of the end has a detection, there are no cosines.
    """
    early, late = frames <= first_until, np.unique(frames[frames >= last_from])
    found: dict[int, dict[int, float]] = {}
    for track, count in zip(*np.unique(tracks[early], return_counts=True), strict=True):
        if count < min_length:
            continue
        centroid = features[early & (tracks == track)].mean(axis=0)
        best = {int(frame): float(cosine(features[frames == frame], centroid).max()) for frame in late}
        found[int(track)] = {frame: max(0.0, value) for frame, value in best.items()}
    return found


@mbench_metric(
    "entity.human_identity_consistency",
    title="Human identity",
    unit="cosine",
    needs=("video",),
    roles=("faces",),
    subsets=("human",),
    equation="1/K sum_k 1/N_k sum_i cos(phi_ki, mean phi_k)",
    source="MBench section 4.2.2, eq. 6",
)
def score_identity(context: ScoringClip) -> Scored:
    """The embeddings of each face track against their centroid. The cosine of every frame is kept as a unit."""
    faces = context.artifact(FaceTracks)
    found = Detections(faces.frame, faces.embedding, faces.track, Reason.NO_FACE, "face")
    return score_people(context, found)


@dataclass(frozen=True)
class Detections:
    """What is known of the people of a clip: one row per detection."""

    frames: NDArray[np.int64]
    features: NDArray[np.float32]
    tracks: NDArray[np.int64]
    nothing: Reason
    what: str


def score_people(context: ScoringClip, found: Detections) -> Scored:
    """Each track by itself (eq. 6), or the people of the beginning at the end, as the preset says."""
    return score_returns(context, found) if context.setting("follow") == "returning_person" else score_tracks(context, found)


def score_returns(context: ScoringClip, found: Detections) -> Scored:
    """One unit per person of the beginning, and one per frame of the end; a person who is not there any more scores 0."""
    n_frames = context.clip.n_frames or int(found.frames.max()) + 1
    share = context.number("return_share")
    until, since = int(share * (n_frames - 1)), int(np.ceil((1 - share) * (n_frames - 1)))
    shortest = int(context.number("min_track_length"))
    people = returning_cosines(found.frames, found.features, found.tracks, until, since, min_length=shortest)
    if not people:
        raise NotScorable(found.nothing, f"no {found.what} is in {shortest} sampled frames of the first {share:.0%} of the video")
    units = []
    for track, cosines in people.items():
        value = float(np.mean(list(cosines.values()))) if cosines else 0.0
        note = f"{len(cosines)} frames of the end" if cosines else f"no {found.what} in the last {share:.0%} of the video"
        units.append(Unit(f"track{track}", "track", value, value, int(found.frames[found.tracks == track][0]), detail=note))
        units += [Unit(f"track{track}_f{frame}", "frame", near, near, frame) for frame, near in cosines.items()]
    mean = float(np.mean([unit.value for unit in units if unit.kind == "track"]))
    return Scored([Item(mean, mean, n_units=len(people))], units)


def score_tracks(context: ScoringClip, found: Detections) -> Scored:
    """One unit per track, and one per detection for the curves; the item is the mean over tracks."""
    shortest = int(context.number("min_track_length"))
    frames = found.frames
    by_track: list[Unit] = []
    by_frame: list[Unit] = []
    for track in np.unique(found.tracks):
        rows = np.flatnonzero(found.tracks == track)
        if len(rows) < shortest:
            continue
        cosines = np.clip(centroid_cosines(found.features[rows]), 0.0, 1.0)
        value, span = centroid_consistency(found.features[rows]), (int(frames[rows[0]]), int(frames[rows[-1]]))
        by_track.append(Unit(f"track{track}", "track", value, value, *span, detail=f"{len(rows)} detections"))
        by_frame += [
            Unit(f"track{track}_f{int(frames[row])}", "frame", float(near), float(near), int(frames[row]))
            for row, near in zip(rows, cosines, strict=True)
        ]
    if not by_track:
        raise NotScorable(found.nothing, f"no {found.what} was found in at least {shortest} sampled frames of one track")
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
    return score_people(context, Detections(people.frame, people.vector, people.track, Reason.NO_MASK, "person"))
