"""Visual quality per frame (MIND, `visual`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.artifacts import Quality
from lookback.benchmarks.mind.metrics.shared import mind_metric, video_max_time
from lookback.measures.checks import require_finite
from lookback.scoring import Item, Scored, ScoringClip, Unit

IMAGING_SCALE = 100.0
AESTHETIC_SCALE = 10.0


def visual(musiq: ArrayLike, aesthetic: ArrayLike) -> dict[str, NDArray[np.float64] | float]:
    """imaging = MUSIQ-SPAQ / 100 and aesthetic = LAION score / 10, per frame, with their means."""
    imaging = require_finite(musiq, "musiq", ndim=1) / IMAGING_SCALE
    looks = require_finite(aesthetic, "aesthetic", ndim=1) / AESTHETIC_SCALE
    return {"imaging": imaging, "avg_imaging": float(imaging.mean()), "aesthetic": looks, "avg_aesthetic": float(looks.mean())}


@mind_metric(
    "visual",
    title="Visual quality (imaging, aesthetic)",
    unit="score",
    range=(0.0, 1.0),
    higher_is_better=True,
    needs=("video",),
    roles=("quality",),
    subsets=("mem_test", "action_space_test"),
    equation="MUSIQ-SPAQ / 100; LAION aesthetic / 10",
    source="MIND, visual",
    constants=("video_max_time",),
    differences={"official": "as corrected; listed for completeness"},
)
def score(context: ScoringClip) -> Scored:
    """The stored MUSIQ and aesthetic scores of the sampled frames; a sharpness stand-in cannot replace them."""
    found = context.artifact(Quality)
    musiq, aesthetic = found.measures("musiq", "aesthetic")
    limit = video_max_time(context)
    seen = found.frame_index < limit if limit else np.ones(len(found.frame_index), dtype=bool)
    values, frames = visual(musiq[seen], aesthetic[seen]), found.frame_index[seen]
    detail = f"{len(frames)} of {context.need('n_frames')} frames"
    items, units = [], []
    for name in ("imaging", "aesthetic"):
        per_frame = np.asarray(values[name])
        mean = float(per_frame.mean())
        items.append(Item(mean, mean, name, detail=detail, n_units=len(per_frame)))
        units += [
            Unit(f"{name}_f{int(frame)}", "frame", float(value), float(value), int(frame), phase=name)
            for frame, value in zip(frames, per_frame, strict=True)
        ]
    return Scored(items, units)
