"""Intervals for the rank agreement of true win ratios, given noisy ones.

The plain cluster bootstrap adds vote noise to win ratios that already carry it, so its rank correlations are too low: with few
votes a nominal 95 % percentile interval covers the true rho in 54-84 % of studies (benchmarks/stats_coverage.py). Here the
bootstrap only supplies the noise covariance V of the 2m win ratios; the true ones follow
    observed ~ N(true, V),   (human_i, metric_i) ~ N2(mean, [[t_h^2, r t_h t_m], [., t_m^2]]),
with flat priors on mean, spreads t and correlation r (a grid), and the interval is the central part of rho over posterior draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SPREADS = 12
CORRELATIONS = np.linspace(-0.98, 0.98, 25)
JITTER = 1e-10
# prior standard deviation of the two means on the win-ratio scale: flat in effect
MEAN_SD = 1.0


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
