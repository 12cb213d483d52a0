"""Where paper, released code and sense differ, and what each difference changes on a run's clips."""

from __future__ import annotations

import pandas as pd

from lookback.params import RunParams
from lookback.registry import METRICS
from lookback.scoring.variants import chosen_variant

DIFFERENCES = {
    ("mbencha.environment.spatial_epipolar", "official"): "the README's example fits exp(-E/5), the paper says exp(-E)",
    ("mbencht.environment.spatial_epipolar", "official"): "the README's example fits exp(-E/5), the paper says exp(-E)",
    (
        "mbencha.environment.spatial_epipolar",
        "corrected",
    ): "pairs from one place have no epipolar line: distance to the point itself",
    (
        "mbencht.environment.spatial_epipolar",
        "corrected",
    ): "pairs from one place have no epipolar line: distance to the point itself",
    ("memobench.visual_quality", "official"): "aesthetics scaled from 0 instead of 1",
    ("memobench.motion_smoothness", "official"): "the released code warps the wrong way: exact flow is charged twice the motion",
    ("memobench.object_identity", "official"): "a centre crop drops half of a 16:9 frame",
    ("memobench.geo3d", "official"): "three depth maps per phase",
    ("memobench.psnr", "official"): "frames limited to 640 px; phase ends count twice",
    ("memobench.ssim", "official"): "frames limited to 640 px, borders reflected; phase ends count twice",
    ("memobench.lpips", "official"): "AlexNet instead of VGG",
    ("memobench.image_reward", "official"): "five sampled frames",
    ("wrbench.cam_prec", "corrected"): "a pure-yaw target leaves translation drift unpunished; here the drift counts",
    ("mind.lcm", "official"): "the loop drops its last batch of 100 frames: 81 frames give no score at all",
    ("mind.gsc", "official"): "the loop drops its last batch of 100 frames",
    ("mind.dino", "official"): "the loop drops its last batch of 100 frames",
    ("mind.action", "official"): "look_* actions land in `other`, never in `rotation`",
    ("mind.visual", "official"): "as corrected; listed for completeness",
}


def defects_table(items: pd.DataFrame, params: RunParams) -> pd.DataFrame:
    """Per metric and other variant: what differs, the two means on the same clips, the mean change, scores lost and gained."""
    rows = []
    keys = ["benchmark", "setting", "model_id", "clip_id", "metric", "phase"]
    for (metric, variant), what in DIFFERENCES.items():
        chosen = chosen_variant(METRICS.get(metric), params)
        own = items[(items["metric"] == metric) & (items["variant"] == chosen)]
        other = items[(items["metric"] == metric) & (items["variant"] == variant)]
        if own.empty or other.empty or variant == chosen:
            continue
        both = own.merge(other, on=keys, suffixes=("", "_other"), how="outer")
        paired = both.dropna(subset=["value", "value_other"])
        rows.append(
            {
                "metric": metric,
                "default": chosen,
                "variant": variant,
                "what differs": what,
                "scores compared": len(paired),
                "mean (default)": paired["value"].mean(),
                "mean (variant)": paired["value_other"].mean(),
                "mean change": (paired["value_other"] - paired["value"]).mean(),
                "scores lost": int((both["value"].notna() & both["value_other"].isna()).sum()),
                "scores gained": int((both["value"].isna() & both["value_other"].notna()).sum()),
            }
        )
    return pd.DataFrame(rows)
