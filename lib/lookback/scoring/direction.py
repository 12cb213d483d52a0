"""Whether a larger value is better, for every metric and every part of a metric."""

from __future__ import annotations

from lookback.registry import BENCHMARKS, METRICS

LESS_IS_BETTER = ("mse", "lpips")  # parts of a metric that measure a distance, beside psnr and ssim


def more_is_better(metric: str, phase: str = "") -> bool:
    """From the metric's declaration or, where parts differ, from the part. For an unknown metric, more is better."""
    return phase not in LESS_IS_BETTER and (metric not in METRICS or METRICS.get(metric).higher_is_better)


def parts_are_measures(benchmark: str) -> bool:
    """Whether the parts of this benchmark's metrics are measures of different units."""
    return benchmark in BENCHMARKS and BENCHMARKS.get(benchmark).parts_are_measures
