"""Whether more is better, for every metric and every part of one: the one place that says so."""

from __future__ import annotations

from lookback.registry import BENCHMARKS, METRICS

LESS_IS_BETTER = ("mse", "lpips")  # parts of a metric that measure a distance, beside psnr and ssim


def more_is_better(metric: str, phase: str = "") -> bool:
    """By the metric's declaration and, where its parts differ, by the part; a metric that is no longer known counts upwards."""
    return phase not in LESS_IS_BETTER and (metric not in METRICS or METRICS.get(metric).higher_is_better)


def parts_are_measures(benchmark: str) -> bool:
    """Whether the parts of this benchmark's metrics are measures of different units."""
    return benchmark in BENCHMARKS and BENCHMARKS.get(benchmark).parts_are_measures
