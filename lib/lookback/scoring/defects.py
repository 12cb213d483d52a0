"""Where paper, released code and sense differ, and what each difference changes on a run's clips."""

from __future__ import annotations

import pandas as pd

from lookback.params import RunParams
from lookback.registry import BENCHMARKS, METRICS
from lookback.scoring.variants import chosen_variant


def defects_table(items: pd.DataFrame, params: RunParams) -> pd.DataFrame:
    """Per metric and other variant: what differs, the two means on the same clips, the mean change, scores lost and gained."""
    rows = []
    keys = ["benchmark", "setting", "model_id", "clip_id", "metric", "phase"]
    declared = [(spec.name, variant, what) for spec in METRICS for variant, what in spec.differences.items()]
    for metric, variant, what in declared:
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


def not_reproduced() -> list[str]:
    """Defects of released programs rather than of a formula: told, and in no variant."""
    return [what for benchmark in BENCHMARKS for what in benchmark.not_reproduced]
