"""Human identity: are the faces of each person the same throughout (MBench section 4.2.2, eq. 6)?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lookback.errors import NotScorable, Reason
from lookback.metrics.mbench.object_texture_consistency import centroid_consistency


def tracks_consistency(tracks: Sequence[ArrayLike], *, min_length: int = 1) -> float:
    """(1/K) sum_k of each track's centroid consistency, K tracks of embeddings (N_k,D) (MBench eq. 6).

    `min_length` leaves out shorter tracks: one of a single detection scores 1 by definition, and tells nothing.
    """
    kept = [track for track in tracks if len(np.asarray(track)) >= min_length]
    if not kept:
        raise NotScorable(Reason.NO_FACE, f"no track of at least {min_length} detections")
    return float(np.mean([centroid_consistency(track) for track in kept]))
