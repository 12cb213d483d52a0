"""Where paper, released code and sense differ, and what each difference changes on a run's clips."""

from __future__ import annotations

import pandas as pd

from lookback.params import RunParams
from lookback.registry import METRICS
from lookback.scoring.variants import chosen_variant

_MBENCH = {
    ("environment.spatial_epipolar", "official"): "the README's example fits exp(-E/5), the paper says exp(-E)",
    (
        "environment.spatial_epipolar",
        "corrected",
    ): "pairs from one place have no epipolar line: distance to the point itself",
    ("causal.state_progress", "official"): "the README's examples fit raw/5, the paper says (raw - 1)/4",
    ("causal.progress_correctness", "official"): "both factors as raw/5 instead of (raw - 1)/4",
}
_VQA = ("continuity_of_memory", "instruction_following", "object_background", "physics_adherence")
DIFFERENCES = {
    **{(f"{setting}.{name}", variant): what for (name, variant), what in _MBENCH.items() for setting in ("mbencha", "mbencht")},
    ("memobench.visual_quality", "official"): "aesthetics scaled from 0 instead of 1",
    ("memobench.motion_smoothness", "official"): "the released code warps the wrong way: exact flow is charged twice the motion",
    ("memobench.object_identity", "official"): "a centre crop drops half of a 16:9 frame",
    ("memobench.geo3d", "official"): "three depth maps per phase",
    ("memobench.psnr", "official"): "frames limited to 640 px; phase ends count twice",
    ("memobench.ssim", "official"): "frames limited to 640 px, borders reflected; phase ends count twice",
    ("memobench.lpips", "official"): "AlexNet instead of VGG",
    ("memobench.image_reward", "official"): "five sampled frames",
    **{(f"memobench.vqa_{name}", "official"): "divides by the questions that came back, not by those asked" for name in _VQA},
    ("wrbench.cam_prec", "corrected"): "a pure-yaw target leaves translation drift unpunished; here the drift counts",
    ("mind.lcm", "official"): "the loop drops its last batch of 100 frames: 81 frames give no score at all",
    ("mind.gsc", "official"): "the loop drops its last batch of 100 frames",
    ("mind.dino", "official"): "the loop drops its last batch of 100 frames",
    ("mind.action", "official"): "look_* actions land in `other`, never in `rotation`",
    ("mind.visual", "official"): "as corrected; listed for completeness",
}
# Defects of released programs rather than of a formula: told, and in no variant.
NOT_REPRODUCED = (
    "MIND: a task whose action.json does not load repeats the row before it (here: a reason)",
    "MIND: PSNR of identical frames is Infinity in the JSON (here: null and a note)",
    "MIND: the pose cache is keyed on the path, so that a replaced video keeps its old poses (here: on the content)",
)


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
