"""Text interaction: do the frames of each segment show what its prompt says (MBench section 4.4.2, eq. 15)?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.artifacts import TextImageFeatures
from lookback.benchmarks.mbench.metrics.shared import mbench_metric
from lookback.errors import NotScorable, Reason
from lookback.measures.features import cosine
from lookback.measures.scores import clip01
from lookback.scoring import Item, Scored, ScoringClip, Unit


def segment_cosines(image_features: Sequence[ArrayLike] | ArrayLike, text_features: ArrayLike) -> NDArray[np.float64]:
    """Mean cos(image_{k,i}, text_k) of each of M segments: images (M,N,D), or M arrays (N_k,D); texts (M,D)."""
    images, texts = list(image_features), np.asarray(text_features, dtype=np.float64)  # type: ignore[arg-type]
    if texts.ndim != 2 or len(images) != len(texts):
        raise NotScorable(Reason.LENGTH_MISMATCH, f"{len(images)} segments of frames against texts of shape {texts.shape}")
    if not images:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no segment")
    for frames in images:
        if (shape := np.shape(frames))[-1:] != texts.shape[1:]:
            raise NotScorable(Reason.SIZE_MISMATCH, f"image features of shape {shape} against texts of shape {texts.shape}")
    return np.array([cosine(frames, text).mean() for frames, text in zip(images, texts, strict=True)])


def text_interaction(image_features: Sequence[ArrayLike] | ArrayLike, text_features: ArrayLike) -> float:
    """1/(M N) sum_k sum_i cos(image_{k,i}, text_k), clipped at 0 (MBench eq. 15; times 100 only for display)."""
    return clip01(float(segment_cosines(image_features, text_features).mean()))


@mbench_metric(
    "causal.prompt_interaction",
    title="Text interaction",
    unit="cosine",
    needs=("video", "caption_segments|prompt"),
    roles=("clip",),
    subsets=("causal",),
    equation="1/MN sum_k sum_i cos(image_ki, text_k)",
    source="MBench section 4.4.2, eq. 15",
)
def score(context: ScoringClip) -> Scored:
    """Each caption segment's frames against its text."""
    found = context.artifact(TextImageFeatures)
    texts, frames, segment = found.text, found.frame_index, found.segment
    groups = [found.image[segment == number] for number in range(len(texts))]
    cosines = segment_cosines(groups, texts)
    units = [
        Unit(f"segment{number}", "segment", clip01(float(cosine)), float(cosine), int(frames[segment == number].min()))
        for number, cosine in enumerate(cosines)
    ]
    return Scored([Item(text_interaction(groups, texts), float(np.mean(cosines)), n_units=len(units))], units)
