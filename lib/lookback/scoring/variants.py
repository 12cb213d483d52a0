"""Which variant of a metric a run uses, and which others it scores for comparison."""

from __future__ import annotations

import pandas as pd

from lookback.params import RunParams
from lookback.registry import METRICS, MetricSpec


def chosen_variant(spec: MetricSpec, params: RunParams) -> str:
    """The run's variant where the metric has it, else the metric's own default."""
    wanted = params.scoring.variant
    return wanted if wanted is not None and wanted in spec.variants else spec.default_variant


def scored_variants(spec: MetricSpec, params: RunParams) -> tuple[str, ...]:
    """The chosen variant first; the others too when the run compares variants."""
    chosen = chosen_variant(spec, params)
    others = tuple(variant for variant in spec.variants if variant != chosen) if params.scoring.compare_variants else ()
    return (chosen, *others)


def only_chosen(items: pd.DataFrame, params: RunParams) -> pd.DataFrame:
    """The items of the run's variants, without those scored for comparison."""
    chosen = {name: chosen_variant(METRICS.get(name), params) for name in items["metric"].unique()}
    return items[items["variant"] == items["metric"].map(chosen)]
