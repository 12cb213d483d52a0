"""ImageReward: does the video fit the prompt (MemoBench section 3.4, "Prompt Fidelity")?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from lookback.artifacts import Rewards
from lookback.benchmarks.memobench.metrics.shared import memobench_metric
from lookback.measures.checks import require_finite
from lookback.scoring import Item, Scored, ScoringClip, Unit

OFFICIAL_FRAMES = 5


def image_reward(raw: ArrayLike) -> float:
    """Mean over sampled frames of sigmoid(raw ImageReward), raw about -2..2; in [0,1]."""
    return float(expit(require_finite(raw, "raw", ndim=1)).mean())


@memobench_metric(
    "image_reward",
    title="ImageReward",
    needs=("video", "prompt"),
    roles=("image_reward",),
    equation="mean sigmoid(ImageReward(frame, prompt))",
    source="MemoBench section 3.4",
    differences={"official": "five sampled frames"},
    variants=("paper", "official"),
)
def score(context: ScoringClip) -> Scored:
    """The stored raw rewards of the sampled frames; official looks at five of them, evenly spaced."""
    found = context.artifact(Rewards)
    count = len(found.frame_index)
    chosen = (
        np.unique(np.linspace(0, count - 1, OFFICIAL_FRAMES).round().astype(int)) if context.variant == "official" else slice(None)
    )
    frames, rewards = found.frame_index[chosen], found.image_reward[chosen]
    units = [
        Unit(f"f{int(frame)}", "frame", float(expit(raw)), float(raw), int(frame))
        for frame, raw in zip(frames, rewards, strict=True)
    ]
    return Scored([Item(image_reward(rewards), float(rewards.mean()), n_units=len(units))], units)
