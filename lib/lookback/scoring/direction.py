"""Whether a larger value is better, for every metric and every part of a metric."""

from __future__ import annotations

from lookback.registry import BENCHMARKS, METRICS

LESS_IS_BETTER = ("mse", "lpips")  # parts of a metric that measure a distance, beside psnr and ssim


def more_is_better(metric: str, phase: str = "") -> bool | None:
    """From the metric's declaration or, where parts differ, from the part; None where no value is better than another.

    For an unknown metric, more is better.
    """
    if phase in LESS_IS_BETTER:
        return False
    return METRICS.get(metric).higher_is_better if metric in METRICS else True


def better_sign(metric: str, phase: str = "") -> float:
    """1 where more is better, -1 where less is, 0 where no value is better than another."""
    return {True: 1.0, False: -1.0, None: 0.0}[more_is_better(metric, phase)]


def parts_are_measures(benchmark: str) -> bool:
    """Whether the parts of this benchmark's metrics are measures of different units."""
    return benchmark in BENCHMARKS and BENCHMARKS.get(benchmark).parts_are_measures
