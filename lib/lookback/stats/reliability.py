"""How reliable is the mean of an item's votes? By components of variance, whichever raters voted on which items.

A vote is y_ir = mean + item_i + level_r + error_ir, rater r voting on some items. Item i has k_i votes, h is the mean of 1/k_i. If
every rater votes on every item, a rater's level moves all items alike and spoils no comparison of them. If every item has raters
of its own, the levels count in full. In between, with w_i holding 1/k_i for the raters of item i,
    D = sum_i |w_i - mean w|^2 / (n - 1)
is the share of the levels' variance that differs between the mean votes: 0 in the first case, h in the second. So
    noise = D MSW + (h - D) MSE,    reliability = 1 - noise / variance of the mean votes,
where MSW is the mean square of votes within items (it estimates v_level + v_error) and MSE that of the residuals of items and
raters fitted by least squares (v_error; Henderson's method III, Searle, Casella & McCulloch 1992, ch. 5), or MSW where no
residual is left.
With k votes on every item the two cases are ICC(C,k) and ICC(1,k) of McGraw & Wong (1996), Psychol. Methods 1:30-46.

Intervals leave out one cluster at a time, with t, on the scale of log(noise / variance), which is nearly normal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from lookback.errors import NotScorable, Reason
from lookback.stats.intervals import CHUNK_CELLS, Estimate, cluster_totals, too_few_clusters
from lookback.stats.jackknife import jackknife_variance
from lookback.stats.ratings import Codes, Flags, Floats, cluster_codes

# a spread this small beside the votes' squares is rounding
NO_SPREAD = 1e-12
NO_SIGNAL = "the votes show no signal: items differ no more than votes on one item do"


def mean_vote_reliability(
    votes: Floats, *, clusters: ArrayLike | None = None, raters: bool = True, confidence: float = 0.95
) -> Estimate:
    """The reliability of the mean votes of items x raters (numbers, NaN where a vote is missing), with its interval over clusters.

    `raters` is False where a column is not one rater: all differences within an item then count as noise.

    >>> scores = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]  # Shrout & Fleiss, table 2
    >>> [round(mean_vote_reliability(scores, raters=same).value, 2) for same in (True, False)]
    [0.91, 0.44]
    """
    given = np.asarray(votes, dtype=float)
    voted = np.isfinite(given)
    used = voted.any(axis=1)
    given, voted, groups = given[used], voted[used], np.unique(cluster_codes(clusters, len(given))[used], return_inverse=True)[1]
    if (voted.sum(axis=1) >= 2).sum() < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, "the reliability of mean votes needs two items with two votes each")
    ratio, without = _log_noise(given, voted, groups, raters)
    name, n, count = "reliability", len(given), len(without)
    if np.isnan(ratio) or ratio >= 0:
        raise NotScorable(Reason.UNDEFINED, NO_SIGNAL)
    if note := too_few_clusters(count):
        return Estimate(name, _reliability(ratio), n, confidence=confidence, note=note)
    if not np.isfinite([ratio, *without]).all():
        note = "votes on one item do not differ, or items do not, without one of the clusters: no interval"
        return Estimate(name, _reliability(ratio), n, confidence=confidence, note=note)
    half = float(stats.t.ppf(0.5 + confidence / 2, count - 1) * np.sqrt(jackknife_variance(without)))
    method = f"leaving out one of {count} clusters on the log scale, t with {count - 1} df"
    bounds = _reliability(ratio + half), _reliability(ratio - half)
    return Estimate(name, _reliability(ratio), n, *bounds, confidence=confidence, method=method)


def _reliability(log_noise: float) -> float:
    return float(1 - np.exp(min(log_noise, 50.0)))


def _log_noise(given: Floats, voted: Flags, groups: Codes, raters: bool) -> tuple[float, Floats]:
    """log(noise / variance of the mean votes), of everything and without each cluster.

    It is minus infinity where votes on one item never differ, NaN where items do not.
    """
    count = voted.sum(axis=1)
    mean = np.where(voted, given, 0.0).sum(axis=1) / count
    weights, rest = voted / count[:, None], np.where(voted, given - mean[:, None], 0.0)
    squares = np.where(voted, given**2, 0.0).sum(axis=1)
    terms = [np.ones(len(count)), count, mean, mean**2, 1 / count, (rest**2).sum(axis=1), squares]
    known = weights.shape[1] if raters else 0
    totals = cluster_totals(np.column_stack([*terms, weights[:, :known], rest[:, :known]]), groups)
    items = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
    votes, shares = voted[:, :known].astype(float), weights[:, :known]
    whole, normal = totals.sum(axis=0), np.diag(votes.sum(axis=0)) - shares.T @ votes
    found, step = [], max(1, CHUNK_CELLS // max(1, known**2))
    for start in range(0, len(totals), step):
        own = slice(start, start + step)
        left = [normal - np.diag(votes[part].sum(axis=0)) + shares[part].T @ votes[part] for part in items[own]]
        found.append(_of_sums(whole - totals[own], np.array(left)))
    return float(_of_sums(whole[None], normal[None])[0]), np.concatenate(found)


def _of_sums(sums: Floats, normal: Floats) -> Floats:
    """The same from sums over items (... x terms) and the normal equations of the raters' levels (... x raters x raters)."""
    n, votes, total, total_squares, inverse, within, squares = sums[:, :7].T
    known = normal.shape[-1]
    weights, rest = sums[:, 7 : 7 + known], sums[:, 7 + known :]
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = _unless_rounding(total_squares - total**2 / n, squares, np.nan) / (n - 1)
        error, error_df = within, votes - n
        level = h = inverse / n
        if known:
            level = _unless_rounding(inverse - (weights**2).sum(axis=1) / n, inverse, 0.0) / (n - 1)
            # the levels of raters who are linked by items are known up to a constant, for which an eigenvalue is zero
            values, vectors = np.linalg.eigh(normal)
            fitted = np.where(values > NO_SPREAD * votes[:, None], np.einsum("srk,sr->sk", vectors, rest) ** 2 / values, 0.0)
            error, error_df = within - fitted.sum(axis=1), error_df - (values > NO_SPREAD * votes[:, None]).sum(axis=1)
        within = _unless_rounding(within, squares, 0.0) / (votes - n)
        error = np.where(error_df > 0, _unless_rounding(error, squares, 0.0) / error_df, within)
        return np.asarray(np.log((level * within + (h - level) * error) / variance))


def _unless_rounding(spread: Floats, squares: Floats, otherwise: float) -> Floats:
    return np.where(spread > NO_SPREAD * squares, spread, otherwise)
