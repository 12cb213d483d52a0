"""ImageReward: does the video fit the prompt (MemoBench section 3.4, "Prompt Fidelity")?"""

from __future__ import annotations

from numpy.typing import ArrayLike
from scipy.special import expit

from lookback.metrics.memobench.declare import memobench_metric
from lookback.metrics.shared.checks import require_finite
from lookback.scoring import Item, Scored, ScoringClip, Unit


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
    variants=("paper", "official"),
)
def score(context: ScoringClip) -> Scored:
    """The stored raw rewards of the sampled frames."""
    found = context.artifact("image_reward").arrays
    units = [
        Unit(f"f{int(frame)}", "frame", float(expit(raw)), float(raw), int(frame))
        for frame, raw in zip(found["frame_index"], found["image_reward"], strict=True)
    ]
    return Scored([Item(image_reward(found["image_reward"]), float(found["image_reward"].mean()), n_units=len(units))], units)
