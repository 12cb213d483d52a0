"""Cosine similarity of feature vectors, and tracks of people built from the features of their faces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite

SHORTEST = 1e-12  # torch's `eps`: shorter tokens are divided by this


def unit_vectors(features: ArrayLike, name: str = "features") -> NDArray[np.float64]:
    """Features (…,D) divided by their length; a zero vector has no direction and is an invalid input."""
    array = require_finite(features, name)
    if array.ndim == 0 or array.size == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"{name}: no feature vector")
    length = np.linalg.norm(array, axis=-1, keepdims=True)
    if not (length > 0).all():
        raise NotScorable(Reason.INVALID_INPUT, f"{name}: a feature vector is zero, so its direction is undefined")
    return array / length


def patch_directions(tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    """Patch tokens (…,D) divided by their length, as the released programs do it (torch's `normalize`).

    A token of length zero, as a network with ReLU gives for a black patch, stays zero, and the clip still gets a score.
    """
    lengths: NDArray[np.float64] = np.linalg.norm(tokens, axis=-1, keepdims=True)
    return tokens / np.maximum(lengths, SHORTEST)


def cosine(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """cos(a, b) along the last axis, with broadcasting."""
    return np.clip((unit_vectors(a) * unit_vectors(b)).sum(axis=-1), -1.0, 1.0)


def centroid_cosines(features: ArrayLike) -> NDArray[np.float64]:
    """cos(f_i, mean of f) for features (N,D): how far each observation is from its track's centroid (MBench eq. 5 and 6)."""
    array = require_finite(features, "features", ndim=2)
    unit = unit_vectors(array)
    centroid = array.mean(axis=0)
    length = np.linalg.norm(centroid)
    if not length > 1e-12 * np.abs(array).max():
        raise NotScorable(Reason.UNDEFINED, "the features cancel out, so their centroid has no direction")
    return np.clip(unit @ (centroid / length), -1.0, 1.0)


MATCH_THRESHOLD = 0.15  # cosine similarity from which a detection may join a track


@dataclass
class IdentityTrack:
    """One person: the frames and detections, and the embeddings (N,D), in order of time."""

    frames: list[int] = field(default_factory=list)
    detections: list[int] = field(default_factory=list)
    vectors: list[NDArray[np.float64]] = field(default_factory=list)

    @property
    def embeddings(self) -> NDArray[np.float64]:
        return np.array(self.vectors)

    def add(self, frame: int, detection: int, vector: NDArray[np.float64]) -> None:
        self.frames.append(frame)
        self.detections.append(detection)
        self.vectors.append(vector)

    def similarity(self, candidates: NDArray[np.float64]) -> NDArray[np.float64]:
        """The better of the cosines to the latest and to the rolling-average embedding, for unit candidates (K,D)."""
        average = np.mean(self.vectors, axis=0)
        length = np.linalg.norm(average)
        to_average = candidates @ (average / length) if length > 0 else np.full(len(candidates), -1.0)
        return np.maximum(candidates @ self.vectors[-1], to_average)


def track_identities(detections: Sequence[ArrayLike], *, threshold: float = MATCH_THRESHOLD) -> list[IdentityTrack]:
    """Tracks from per-frame embeddings: `detections[f]` is (K_f,D), possibly empty.

    In each frame the most similar pair of track and detection is joined first, then the next of those left (greedy bipartite
    matching), down to `threshold`; a detection that joins none starts a new track. Embeddings are compared as unit vectors.
    """
    tracks: list[IdentityTrack] = []
    for frame, embeddings in enumerate(detections):
        array = np.asarray(embeddings, dtype=np.float64)
        if array.size == 0:
            continue
        candidates = unit_vectors(array, f"face embeddings of sampled frame {frame}")
        joined = _greedy_matches(np.array([track.similarity(candidates) for track in tracks]), threshold)
        for index, vector in enumerate(candidates):
            if index not in joined:
                tracks.append(IdentityTrack())
            tracks[joined.get(index, -1)].add(frame, index, vector)
    return tracks


def _greedy_matches(similarity: NDArray[np.float64], threshold: float) -> dict[int, int]:
    """detection -> track, best similarity first, each used once."""
    matches: dict[int, int] = {}
    if similarity.size == 0:
        return matches
    taken: set[int] = set()
    for flat in np.argsort(-similarity, axis=None, kind="stable"):
        track, detection = divmod(int(flat), similarity.shape[1])
        if similarity[track, detection] < threshold:
            break
        if track not in taken and detection not in matches:
            matches[detection] = track
            taken.add(track)
    return matches
