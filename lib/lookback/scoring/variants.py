"""Variants of a metric (paper, official, corrected): which one a run uses, which it compares, and what each difference changes."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from lookback.params import RunParams
from lookback.presets import VARIANTS, Setting
from lookback.profiles import paper_profile
from lookback.registry import BENCHMARKS, METRICS, MetricSpec


def chosen_variant(spec: MetricSpec, params: RunParams) -> str:
    """The run's variant (`profile: paper` has one of its own) where the metric has it, else the metric's own default."""
    wanted = params.scoring.variant
    if wanted is None and params.profile == "paper":
        wanted = paper_profile(spec.benchmark).variant
    return wanted if wanted is not None and wanted in spec.variants else spec.default_variant


def scored_variants(spec: MetricSpec, params: RunParams) -> tuple[str, ...]:
    """The chosen variant first; the others too when the run compares variants."""
    chosen = chosen_variant(spec, params)
    others = tuple(variant for variant in spec.variants if variant != chosen) if params.scoring.compare_variants else ()
    return (chosen, *others)


def only_chosen(items: pd.DataFrame, params: RunParams) -> pd.DataFrame:
    """Only the items of the run's own variants."""
    chosen = {name: chosen_variant(METRICS.get(name), params) for name in items["metric"].unique()}
    return items[items["variant"] == items["metric"].map(chosen)]


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


def preset_differences(metrics: Iterable[str]) -> pd.DataFrame:
    """Every setting that is not the same in all presets of a metric: its value in each, and where it is from."""
    rows = []
    for spec in (METRICS.get(name) for name in sorted(metrics)):
        if spec.presets is None:
            continue
        for setting, values in spec.presets.differing().items():
            shown = {variant: shown_setting(values[variant]) if variant in values else "" for variant in VARIANTS}
            rows.append({"metric": spec.name, "setting": setting, **shown, "source": spec.presets.sources.get(setting, "")})
    return pd.DataFrame(rows, columns=["metric", "setting", *VARIANTS, "source"])


def shown_setting(value: Setting) -> str:
    """The value of a setting as tables show it."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, list):
        return ", ".join(shown_setting(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def not_reproduced() -> list[str]:
    """Defects of released programs that no variant repeats. The report lists them."""
    return [what for benchmark in BENCHMARKS for what in benchmark.not_reproduced]
