"""Intervals for the rank agreement of true win ratios, given noisy ones.

The plain cluster bootstrap adds vote noise to win ratios that already carry it, so its rank correlations are too low: with few
votes a nominal 95 % percentile interval covers the true rho in 54-84 % of studies (bench/stats_coverage.py). Here only the
noise covariance V of the 2m win ratios is taken from the clusters; the true ones follow
    observed ~ N(true, V),   (human_i, metric_i) ~ N2(mean, [[t_h^2, r t_h t_m], [., t_m^2]]),
with flat priors on mean, spreads t and correlation r (a grid), and the interval is the central part of rho over posterior draws.

V as the G clusters give it has rank G - 1, below 2m with few scenes: it would call most directions free of noise. So its
correlations are shrunk towards zero and its variances towards their mean, and the levels are widened as for other intervals of
few clusters (`bootstrap.expanded_levels`). All three corrections vanish as scenes grow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookback.stats.bootstrap import cluster_totals

SPREADS = 12
CORRELATIONS = np.linspace(-0.98, 0.98, 25)
JITTER = 1e-10
# prior standard deviation of the two means on the win-ratio scale: flat in effect
MEAN_SD = 1.0
# degrees of freedom that the pooled variance counts for beside a model's own G - 1
POOLED_DF = 4


def noise_covariance(
    points: NDArray[np.float64], played: NDArray[np.float64], clusters: NDArray[np.int64], sides: int
) -> NDArray[np.float64]:
    """Covariance of the ratios sum(points)/sum(played) (units x k each) between clusters, stabilised for few of them.

    The k ratios are `sides` equal blocks (people's and the metric's); variances are pooled within a block, per comparison.
    """
    total = played.sum(axis=0)
    sums = cluster_totals((points - points.sum(axis=0) / total * played) / total, clusters)
    groups, k = sums.shape
    plain = sums.T @ sums * groups / (groups - 1)
    variance = np.diag(plain)
    single = (variance * total).reshape(sides, -1)
    pooled = ((groups - 1) * single + POOLED_DF * single.mean(axis=1, keepdims=True)) / (groups - 1 + POOLED_DF)
    scale = np.sqrt(pooled.ravel() / total)
    spread = np.sqrt(np.where(variance > 0, variance, 1.0))
    correlation = plain / np.outer(spread, spread) * (groups - 1) / (groups - 1 + k)
    np.fill_diagonal(correlation, 1.0)
    return correlation * np.outer(scale, scale)


def true_value_draws(
    observed: NDArray[np.float64], noise: NDArray[np.float64], draws: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Posterior draws (draws x m) of the true human and metric values from `observed` (human, then metric) and its covariance."""
    rng = np.random.default_rng(seed)
    m = len(observed) // 2
    noise = noise + JITTER * np.eye(2 * m)
    prior = _prior_covariances(observed, noise, m)
    total = prior + noise
    factor = np.linalg.cholesky(total)
    centre = observed - 0.5
    whitened = np.linalg.solve(factor, np.broadcast_to(centre[:, None], (len(prior), 2 * m, 1)))[..., 0]
    log_weight = -0.5 * (whitened**2).sum(axis=1) - np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    chosen = rng.multinomial(draws, weight / weight.sum())
    used = np.flatnonzero(chosen)
    which = np.repeat(np.arange(len(used)), chosen[used])
    # conditional draw: simulate prior and data together, then shift by the regression on what was seen
    simulated = _correlated(np.linalg.cholesky(prior[used] + JITTER * np.eye(2 * m))[which], rng)
    seen = simulated + rng.standard_normal((draws, 2 * m)) @ np.linalg.cholesky(noise).T
    gain = np.matmul(prior[used], np.linalg.inv(total[used]))[which]
    true = simulated + np.einsum("dij,dj->di", gain, centre - seen)
    return true[:, :m], true[:, m:]


def _correlated(factors: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
    return np.einsum("dij,dj->di", factors, rng.standard_normal(factors.shape[:2]))


def _prior_covariances(observed: NDArray[np.float64], noise: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    spread = np.sqrt(np.diag(noise))
    grids = []
    for values, error in ((observed[:m], spread[:m]), (observed[m:], spread[m:])):
        top = 3 * max(float(np.std(values, ddof=1)), float(np.sqrt(np.mean(error**2))))
        grids.append(np.linspace(top / (2 * SPREADS), top, SPREADS))
    human, metric, r = (g.ravel() for g in np.meshgrid(*grids, CORRELATIONS, indexing="ij"))
    same, ones = np.eye(m), np.full((m, m), MEAN_SD**2)
    prior = np.zeros((len(human), 2 * m, 2 * m))
    prior[:, :m, :m] = human[:, None, None] ** 2 * same + ones
    prior[:, m:, m:] = metric[:, None, None] ** 2 * same + ones
    prior[:, :m, m:] = prior[:, m:, :m] = (r * human * metric)[:, None, None] * same
    return prior
