"""Ratings on a scale: intraclass correlations with their form named, and Kendall's tau-b with clusters.

Two-way random effects, x_ij = mean + item_i + rater_j + error_ij, every rater the same for all items:
    ICC(2,1) = ICC(A,1) = v_item / (v_item + v_rater + v_error)        absolute agreement of a single rater
    ICC(2,k) = ICC(A,k) = v_item / (v_item + (v_rater + v_error) / k)  absolute agreement of the mean of k raters
Sources: Shrout & Fleiss (1979), Psychol. Bull. 86:420-428; McGraw & Wong (1996), Psychol. Methods 1:30-46.

Where every rater rated every item, the variances come from the mean squares (k raters, n items):
    v_item = (MSR - MSE) / k,  v_rater = (MSC - MSE) / n,  v_error = MSE.
Where votes are missing, they come from restricted maximum likelihood, and k is the harmonic mean of the votes per item (ten Hove,
Jorgensen & van der Ark 2022, Psychol. Methods, doi:10.1037/met0000516). Both give the same values on complete votes, except that
likelihood has no negative variances. Where nobody ever differs, v_rater and v_error are zero, which the likelihood only approaches.

Intervals leave out one cluster at a time (jackknife) on Fisher's z scale, with t of (clusters - 1) degrees of freedom (Arvesen &
Schmitz 1970, Biometrics 26:677-686). They treat clusters as the sample and the raters as given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import optimize, stats

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.intervals import Estimate, enough_resamples, method_text, resample_weights, too_few_clusters, varying_interval
from lookback.stats.ratings import Codes, Floats, Ratings, cluster_codes

ZERO = 1e-12
SINGLE = "ICC(2,1), two-way random, absolute agreement, single rater"
AVERAGE = "ICC(2,k), two-way random, absolute agreement, mean of k raters"
# bounds of the logarithm of a variance over the error's variance
LOG_RATIOS = (-14.0, 14.0)


@dataclass(frozen=True)
class Reliability:
    """`single` and `average`: the two forms of the ICC; `k`: (harmonic) mean of the votes per item; the three variances."""

    single: Estimate
    average: Estimate
    k: float
    item: float
    rater: float
    error: float
    complete: bool


def icc(ratings: Ratings, *, clusters: ArrayLike | None = None, confidence: float = 0.95) -> Reliability:
    """ICC(2,1) and ICC(2,k) of items x raters (numbers, NaN or NA where a vote is missing), with intervals over clusters.

    Items with one vote help to tell raters apart but have no agreement of their own; at least two items and two raters are needed.

    >>> scores = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]  # Shrout & Fleiss, table 2
    >>> found = icc(scores)
    >>> round(found.single.value, 2), round(found.average.value, 2)
    (0.29, 0.62)
    """
    table = ratings.to_numpy(float, na_value=np.nan) if isinstance(ratings, pd.DataFrame) else np.asarray(ratings, dtype=float)
    if table.ndim != 2:
        raise UsageError(f"ratings must be a table of items x raters, got an array of shape {table.shape}")
    rated = np.isfinite(table)
    groups = cluster_codes(clusters, len(table))[rated.any(axis=1)]
    table = table[rated.any(axis=1)][:, rated.any(axis=0)]
    variances = _variances(table)
    value = _both_forms(table, variances)
    complete = bool(np.isfinite(table).all())
    low, high, note = _jackknife(table, groups, value, variances, confidence)
    n_groups = len(np.unique(groups))
    source = "mean squares" if complete else "restricted maximum likelihood, votes missing"
    method = f"{source}; jackknife over {n_groups} {'items' if clusters is None else 'clusters'}"
    forms = [
        Estimate(name, form, len(table), lower, upper, confidence=confidence, method=method, note=note)
        for name, form, lower, upper in zip((SINGLE, AVERAGE), value, low, high, strict=True)
    ]
    return Reliability(forms[0], forms[1], _votes_per_item(table), *variances, complete)


def _votes_per_item(table: Floats) -> float:
    """Their harmonic mean (without the checks of scipy.stats, which take longer than everything else in a jackknife)."""
    return float(1 / np.mean(1 / np.isfinite(table).sum(axis=1)))


def _both_forms(table: Floats, variances: tuple[float, float, float]) -> tuple[float, float]:
    item, rater, error = variances
    k = _votes_per_item(table)
    parts = [item + rater + error, item + (rater + error) / k]
    if min(parts) < ZERO:
        raise NotScorable(Reason.UNDEFINED, "the ICC is 0/0: all ratings are alike")
    return item / parts[0], item / parts[1]


def _variances(table: Floats, start: Floats | None = None) -> tuple[float, float, float]:
    """(item, rater, error) variances; `start` is where the likelihood is searched from."""
    rated = np.isfinite(table)
    if table.shape[0] < 2 or table.shape[1] < 2 or not (rated.sum(axis=1) >= 2).any():
        raise NotScorable(Reason.TOO_FEW_VALUES, "an ICC needs two items, two raters, and an item with two votes")
    if np.nanmax(table) - np.nanmin(table) < ZERO:
        raise NotScorable(Reason.UNDEFINED, "the ICC is 0/0: all ratings are alike")
    if rated.all():
        return _mean_squares(table)
    if (np.nanmax(table, axis=1) - np.nanmin(table, axis=1)).max() < ZERO:
        return float(np.nanmean(table, axis=1).var(ddof=1)), 0.0, 0.0
    return _likelihood(table, start)


def _mean_squares(table: Floats) -> tuple[float, float, float]:
    n, k = table.shape
    mean, items, raters = table.mean(), table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True)
    rows = k * float(((items - mean) ** 2).sum()) / (n - 1)
    columns = n * float(((raters - mean) ** 2).sum()) / (k - 1)
    error = float(((table - items - raters + mean) ** 2).sum()) / ((n - 1) * (k - 1))
    return (rows - error) / k, (columns - error) / n, error


def _likelihood(table: Floats, start: Floats | None = None) -> tuple[float, float, float]:
    """Restricted maximum likelihood; a variance at the lower bound counts as zero."""
    row, column = np.nonzero(np.isfinite(table))
    model = _CrossedEffects(row, column, table[row, column])
    if start is None:
        rough = optimize.minimize(
            lambda logs: model.deviance(np.exp(logs))[0], np.zeros(2), method="L-BFGS-B", bounds=[LOG_RATIOS] * 2
        )
        start = np.asarray(rough.x, dtype=float)
    found = optimize.minimize(
        lambda logs: model.deviance(np.exp(logs))[0],
        start,
        method="Nelder-Mead",
        bounds=[LOG_RATIOS] * 2,
        options={"xatol": 1e-8, "fatol": 1e-11, "maxiter": 2000},
    )
    ratios = np.where(found.x <= LOG_RATIOS[0] + 1e-3, 0.0, np.exp(found.x))
    error = model.deviance(np.exp(found.x))[1]
    return float(ratios[0] * error), float(ratios[1] * error), error


class _CrossedEffects:
    """The restricted likelihood of a mean with item and rater effects, at given ratios of their variances to the error's."""

    def __init__(self, items: Codes, raters: Codes, values: Floats):
        self.items, self.values = items, values
        self.sizes = np.bincount(items).astype(float)
        self.raters = np.eye(int(raters.max()) + 1)[raters]
        self.columns = np.column_stack([values, np.ones(len(values)), self.raters])
        self.sums = np.stack([np.bincount(items, weights=column) for column in self.columns.T], axis=1)

    def deviance(self, ratios: Floats) -> tuple[float, float]:
        """(-2 log restricted likelihood up to a constant, error variance)."""
        item, rater = float(ratios[0]), float(ratios[1])
        n, q = self.raters.shape
        solved = self._without_items(item)
        inner = np.eye(q) / rater + self.raters.T @ solved[:, 2:]
        solved = solved[:, :2] - solved[:, 2:] @ np.linalg.solve(inner, self.raters.T @ solved[:, :2])
        weight = float(solved[:, 1].sum())
        mean = float(solved[:, 0].sum()) / weight
        error = float(self.values @ solved[:, 0] - mean**2 * weight) / (n - 1)
        log_det = float(np.log1p(item * self.sizes).sum()) + q * np.log(rater) + float(np.linalg.slogdet(inner)[1])
        return log_det + np.log(weight) + (n - 1) * np.log(max(error, ZERO)), error

    def _without_items(self, item: float) -> Floats:
        """(I + item Z Z')^-1 of the columns (values, ones, raters), where Z says which item each vote is on."""
        shrunk = self.sums * (item / (1 + item * self.sizes))[:, None]
        return np.asarray(self.columns - shrunk[self.items])


Bounds = tuple[float | None, float | None]


def _jackknife(
    table: Floats, groups: Codes, value: tuple[float, float], variances: tuple[float, float, float], confidence: float
) -> tuple[Bounds, Bounds, str]:
    """Lower bounds and upper bounds of the two forms, and why there are none."""
    names = np.unique(groups)
    none: Bounds = (None, None)
    if note := too_few_clusters(len(names)):
        return none, none, note
    item, rater, error = variances
    start = np.log(np.clip(np.array([item, rater]) / max(error, ZERO), 1e-4, 1e4))
    try:
        parts = [_occupied(table[groups != name]) for name in names]
        left = np.array([_both_forms(part, _variances(part, start)) for part in parts])
    except NotScorable as missing:
        return none, none, f"without one cluster there is no ICC ({missing.detail}), no interval"
    z = np.arctanh(np.clip(np.vstack([value, left]), -1 + ZERO, 1 - ZERO))
    count = len(names)
    pseudo = count * z[0] - (count - 1) * z[1:]
    spread = np.sqrt(pseudo.var(axis=0, ddof=1) / count)
    if (spread < ZERO).any():
        return none, none, "the clusters do not vary, so the variance is zero and no interval is given"
    half = float(stats.t.ppf(0.5 + confidence / 2, count - 1)) * spread
    low, high = np.tanh(z[0] - half), np.tanh(z[0] + half)
    return (float(low[0]), float(low[1])), (float(high[0]), float(high[1])), ""


def _occupied(table: Floats) -> Floats:
    """Without raters who have no vote left."""
    return np.asarray(table[:, np.isfinite(table).any(axis=0)])


def kendall(
    x: ArrayLike,
    y: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Kendall's tau-b with an expanded percentile cluster-bootstrap interval.

    tau-b = S / sqrt(P_x P_y), sums over pairs of units. They are quadratic forms of how often each cluster is drawn.

    >>> round(kendall([1, 2, 3, 4], [1, 3, 2, 4]).value, 4)
    0.6667
    """
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError(f"Kendall's tau needs two equally long lists, got shapes {first.shape} and {second.shape}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise UsageError("Kendall's tau needs finite values; drop missing ones first and report how many there were")
    if len(first) < 3:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"Kendall's tau needs at least three units, got {len(first)}")
    groups = cluster_codes(clusters, len(first))
    forms = _pair_forms(first, second, groups)
    value = float(_tau(np.ones((1, forms.shape[1])), forms)[0])
    if not np.isfinite(value):
        raise NotScorable(Reason.UNDEFINED, "Kendall's tau is 0/0: one of the two lists is constant")
    n_groups = forms.shape[1]
    resamples = enough_resamples(resamples, n_groups, confidence)
    draws = np.concatenate([_tau(weights, forms) for weights in resample_weights(n_groups, resamples, seed)])
    low, high, note = varying_interval(draws, value, n_groups, confidence)
    method = method_text(resamples, n_groups, "units" if clusters is None else "clusters", seed)
    return Estimate("Kendall's tau-b", value, len(first), low, high, None, None, confidence, method, note)


def _pair_forms(x: Floats, y: Floats, groups: Codes) -> Floats:
    """Three clusters x clusters sums over pairs of units: concordant minus discordant, untied in x, untied in y."""
    member = np.eye(int(groups.max()) + 1)[groups]
    forms = np.zeros((3, member.shape[1], member.shape[1]))
    for start in range(0, len(x), 512):
        own = slice(start, start + 512)
        sx, sy = np.sign(x[own, None] - x), np.sign(y[own, None] - y)
        for form, signs in zip(forms, (sx * sy, np.abs(sx), np.abs(sy)), strict=True):
            form += member[own].T @ signs @ member
    return forms


def _tau(weights: Floats, forms: Floats) -> Floats:
    total, in_x, in_y = (np.einsum("bg,bg->b", weights @ form, weights) for form in forms)
    scale = np.sqrt(in_x * in_y)
    return np.asarray(np.divide(total, scale, out=np.full(len(scale), np.nan), where=scale > 0))
