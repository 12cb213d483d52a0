"""ImageReward: does the video fit the prompt (MemoBench section 3.4, "Prompt Fidelity")?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from lookback.benchmarks.memobench.metrics.shared import limited, memobench_metric, percent, spread
from lookback.measures.checks import require_finite
from lookback.scoring import Frames, Item, PixelScoring, Scored, ScoringClip, Unit


def image_reward(raw: ArrayLike) -> float:
    """Mean over sampled frames of sigmoid(raw ImageReward), raw about -2..2; in [0,1]."""
    return float(expit(require_finite(raw, "raw", ndim=1)).mean())


@memobench_metric(
    "image_reward",
    title="ImageReward",
    needs=("video", "prompt"),
    roles=(),
    tools=("image_reward",),
    equation="mean sigmoid(ImageReward(frame, prompt)) over five frames",
    source="MemoBench section 3.4",
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """The reward of five frames, evenly spread from the first to the last."""
    prompt, network = context.need("prompt"), context.backend("image_reward")
    chosen = spread(0, context.need("n_frames") - 1, int(context.number("reward_samples")))
    images = yield Frames(np.unique(chosen))
    rewards = network.rewards(prompt, np.stack([limited(context, images[int(frame)]) for frame in chosen]))
    units = [
        Unit(f"s{number}_f{int(frame)}", "frame", float(expit(raw)), float(raw), int(frame))
        for number, (frame, raw) in enumerate(zip(chosen, rewards, strict=True))
    ]
    return Scored([Item(percent(context, image_reward(rewards)) / 100.0, float(np.mean(rewards)), n_units=len(units))], units)
