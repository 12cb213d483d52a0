"""Does a metric rank the models as people do? Model-level Spearman and Kendall tau-b (MBench table 3).

Win ratios carry vote noise and a plain bootstrap adds it once more, so its rank correlations are too low. The interval of the
true rho and tau is therefore that of the bivariate random-effects model
    observed ~ N(true, V),   (human_i, metric_i) ~ N2(mean, [[t_h^2, r t_h t_m], [., t_m^2]])
(van Houwelingen, Arends & Stijnen 2002, Stat. Med. 21:589-624) with flat priors on the means, on the spreads t and on r (Burke,
Bujkiewicz & Riley 2018, Stat. Methods Med. Res. 27:428-450), integrated on a grid. rho and tau are computed from every posterior
draw of the true values, as Laird & Louis (1989, J. Educ. Stat. 14:29-46) do for ranks. V is Ledoit and Wolf's (2004, J. Multivar.
Anal. 88:365-411) covariance of the clusters, since the plain one of G clusters has rank G - 1, which is below 2m with few scenes;
the levels are widened for few clusters as in `intervals.expanded_levels`. It assumes independent scenes, win ratios that are
nearly normal, and models whose true values come from one normal distribution. docs/statistics.md shows its coverage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from lookback.errors import NotScorable, UsageError
from lookback.stats.correlations import kendall_rows, permutation_tests, spearman_rows
from lookback.stats.intervals import (
    FEWEST_FOR_PERCENTILES,
    MOST_RESAMPLES,
    bootstrap_totals,
    cluster_totals,
    percentile_interval,
    too_few_clusters,
)
from lookback.stats.rankings import Ties, pair_codes, win_terms
from lookback.stats.ratings import Codes, Floats, preference_sign

SPREADS = 12
CORRELATIONS = np.linspace(-0.98, 0.98, 25)
JITTER = 1e-10
Values: TypeAlias = Mapping[str, float] | pd.Series | ArrayLike  # one per model
# prior standard deviation of the two means on the win-ratio scale: flat in effect
MEAN_SD = 1.0


@dataclass(frozen=True)
class RankAgreement:
    """rho and tau-b with exact p; three kinds of interval that answer different questions.

    `rho_low/high`, `tau_low/high`: these models, more scenes and votes (vote noise taken out, see the module).
    `bootstrap_low/high`: the plain percentile cluster bootstrap of rho, too low when votes are few; printed for comparison.
    `population_low/high`: other models of the same kind (Bonett & Wright 2000), wide because models are few.
    """

    n_models: int
    rho: float
    tau: float
    p_rho: float
    p_tau: float
    smallest_p: float
    exact: bool
    rho_low: float | None = None
    rho_high: float | None = None
    tau_low: float | None = None
    tau_high: float | None = None
    bootstrap_low: float | None = None
    bootstrap_high: float | None = None
    population_low: float | None = None
    population_high: float | None = None
    n_pairs: int | None = None
    n_clusters: int | None = None
    confidence: float = 0.95
    note: str = ""

    def as_row(self) -> dict[str, object]:
        """The fields as one table row."""
        return asdict(self)


def rank_agreement(
    human: Values,
    metric: Values,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> RankAgreement:
    """Rank agreement of two values per model; mappings and Series are matched by model name, arrays by position.

    p is two-sided by permutation (exact up to 9 models). `smallest_p` is the smallest p these models could have given: 2/m! without
    ties.

    >>> result = rank_agreement([1, 2, 3, 4], [1, 2, 3, 4])
    >>> result.rho, round(result.p_rho, 4), round(result.smallest_p, 4)
    (1.0, 0.0833, 0.0833)
    """
    x, y = _matched(human, metric)
    rho, tau = permutation_tests(x, y, seed)
    result = RankAgreement(len(x), rho.value, tau.value, rho.p, tau.p, rho.smallest_p, rho.exact, confidence=confidence)
    m = len(x)
    if m < 4:
        return replace(result, note="no interval over other models: it needs four models")
    # Bonett & Wright (2000), Psychometrika 65:23-28; rho 1 counts as one swap of neighbours, its interval ends at 1
    swap = 1 - 12 / (m * (m * m - 1))
    z = np.arctanh(np.clip(rho.value, -swap, swap))
    half = float(stats.norm.ppf(0.5 + confidence / 2)) * np.sqrt((1 + np.tanh(z) ** 2 / 2) / (m - 3))
    low, high = min(np.tanh(z - half), rho.value), max(np.tanh(z + half), rho.value)
    return replace(result, population_low=float(low), population_high=float(high))


def _matched(human: Values, metric: Values) -> tuple[Floats, Floats]:
    named = [isinstance(v, (Mapping, pd.Series)) for v in (human, metric)]
    if not any(named):
        return np.asarray(human, dtype=float), np.asarray(metric, dtype=float)
    if not all(named):
        raise UsageError("give both rankings by model name or both by position")
    first, second = pd.Series(human, dtype=float), pd.Series(metric, dtype=float)
    if set(first.index) != set(second.index):
        alone = sorted(map(str, set(first.index) ^ set(second.index)))
        raise UsageError(f"the two rankings cover different models; only in one of them: {', '.join(alone)}")
    return first.to_numpy(), second.loc[first.index].to_numpy()


def rank_agreement_pairs(
    pairs: pd.DataFrame,
    *,
    human: str = "human",
    metric: str = "metric",
    ties: Ties = "half",
    cluster: str | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> RankAgreement:
    """Rank agreement from pairs: both columns become model-level win ratios over the same pairs, then rho and tau-b.

    `pairs` has model_a, model_b and two preference columns (people's and the metric's: "a"/"tie"/"b" or 1/0/-1); `cluster` names
    the column whose values are resampled (the scene, as a rule).
    """
    codes = pair_codes(pairs, cluster)
    m = len(codes.models)
    won, played = win_terms(codes, preference_sign(pairs[human]), ties)
    metric_won, metric_played = win_terms(codes, preference_sign(pairs[metric]), ties)
    terms = np.hstack([won, metric_won, played, metric_played])
    totals = terms.sum(axis=0)
    kept = ((totals[2 * m : 3 * m] > 0) & (totals[3 * m :] > 0)).nonzero()[0]
    # drawn by place, not by name: people's ratio first, then the metric's
    own, other = (totals[kept + side * m] / totals[kept + (side + 2) * m] for side in (0, 1))
    kept = kept[np.lexsort((other, own))]
    columns = np.concatenate([kept + offset * m for offset in range(4)])
    terms, totals, m = terms[:, columns], totals[columns], len(kept)
    observed = totals[: 2 * m] / totals[2 * m :]
    result = rank_agreement(observed[:m], observed[m:], confidence=confidence, seed=seed)
    result = replace(result, n_pairs=len(pairs), n_clusters=codes.n_clusters)
    if note := too_few_clusters(codes.n_clusters, "cluster" if cluster else "pair"):
        return _without_interval(result, note)
    draws = bootstrap_totals(terms, lambda t: t[:, : 2 * m] / t[:, 2 * m :], codes.clusters, resamples, seed)
    complete = draws[np.isfinite(draws).all(axis=1)]
    try:
        plain = np.concatenate([spearman_rows(complete[:, :m], complete[:, m:]), np.full(len(draws) - len(complete), np.nan)])
        low, high = percentile_interval(plain, confidence)
    except NotScorable as missing:
        return _without_interval(result, missing.detail)
    noise = noise_covariance(terms[:, : 2 * m], terms[:, 2 * m :], codes.clusters, sides=2)
    few = codes.n_clusters < FEWEST_FOR_PERCENTILES  # their widened levels lie far out
    true_human, true_metric = true_value_draws(observed, noise, max(resamples, MOST_RESAMPLES if few else 0), seed + 1)
    rho_low, rho_high = percentile_interval(spearman_rows(true_human, true_metric), confidence, codes.n_clusters)
    tau_low, tau_high = percentile_interval(kendall_rows(true_human, true_metric), confidence, codes.n_clusters)
    return replace(
        result,
        rho_low=rho_low,
        rho_high=rho_high,
        tau_low=tau_low,
        tau_high=tau_high,
        bootstrap_low=low,
        bootstrap_high=high,
    )


def _without_interval(result: RankAgreement, why: str) -> RankAgreement:
    return replace(result, note="; ".join(filter(None, (result.note, why))))


def noise_covariance(points: Floats, played: Floats, clusters: Codes, sides: int) -> Floats:
    """Ledoit and Wolf's covariance of the ratios sum(points)/sum(played) (units x k each) between clusters.

    The k ratios are `sides` equal blocks (people's and the metric's). Before the shrinking each ratio is scaled to one comparison
    and each block to unit variance, so that models seen less often and the noisier side keep their larger variance.
    """
    from sklearn.covariance import ledoit_wolf  # half a second to import, and few ask for it

    total = played.sum(axis=0)
    sums = cluster_totals((points - points.sum(axis=0) / total * played) / total, clusters)
    groups = len(sums)
    single = np.sqrt((sums**2).sum(axis=0) * total).reshape(sides, -1)
    block = np.repeat(np.sqrt((single**2).mean(axis=1)), single.shape[1])
    scale = np.where(block > 0, block, 1.0) / np.sqrt(total)
    shrunk, _ = ledoit_wolf(sums / scale * np.sqrt(groups), assume_centered=True)
    return np.asarray(shrunk * np.outer(scale, scale) * groups / (groups - 1))


def true_value_draws(observed: Floats, noise: Floats, draws: int, seed: int) -> tuple[Floats, Floats]:
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
    simulated = _correlated(np.asarray(np.linalg.cholesky(prior[used] + JITTER * np.eye(2 * m))[which], dtype=float), rng)
    seen = simulated + rng.standard_normal((draws, 2 * m)) @ np.linalg.cholesky(noise).T
    gain = np.matmul(prior[used], np.linalg.inv(total[used]))[which]
    true = simulated + np.einsum("dij,dj->di", gain, centre - seen)
    return true[:, :m], true[:, m:]


def _correlated(factors: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(np.einsum("dij,dj->di", factors, rng.standard_normal(factors.shape[:2])))


def _prior_covariances(observed: Floats, noise: Floats, m: int) -> Floats:
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
