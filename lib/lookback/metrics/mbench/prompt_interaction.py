"""Text interaction: do the frames of each segment show what its prompt says (MBench section 4.4.2, eq. 15)?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason
from lookback.metrics.shared.normalise import clip01
from lookback.metrics.shared.similarity import cosine


def segment_cosines(image_features: Sequence[ArrayLike] | ArrayLike, text_features: ArrayLike) -> NDArray[np.float64]:
    """Mean cos(image_{k,i}, text_k) of each of M segments: images (M,N,D), or M arrays (N_k,D); texts (M,D)."""
    images, texts = list(image_features), np.asarray(text_features, dtype=np.float64)  # type: ignore[arg-type]
    if texts.ndim != 2 or len(images) != len(texts):
        raise NotScorable(Reason.LENGTH_MISMATCH, f"{len(images)} segments of frames against texts of shape {texts.shape}")
    if not images:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no segment")
    return np.array([cosine(frames, text).mean() for frames, text in zip(images, texts, strict=True)])


def text_interaction(image_features: Sequence[ArrayLike] | ArrayLike, text_features: ArrayLike) -> float:
    """1/(M N) sum_k sum_i cos(image_{k,i}, text_k), clipped at 0 (MBench eq. 15; times 100 only for display)."""
    return clip01(float(segment_cosines(image_features, text_features).mean()))
