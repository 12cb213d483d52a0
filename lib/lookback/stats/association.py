"""How a score rises with people's answers, item by item: within models, and pooled over models and scenes.

The units are rated clips (score and mean rating of a clip of one model) or compared pairs (difference of two models' scores and
the preference). Which of the readings answers a question depends on what is drawn anew when the study is repeated:

within: other scenes, the same models. Mid-ranks of both lists less their mean in each model (of pairs: in each pair of models),
    then Pearson's correlation of the residuals. A score that only recognises the model has a correlation of 0. Its error comes
    from leaving out one scene at a time.
between: other models like these. That of the models' means, `model_agreement.rank_agreement`, by permutation of the models.
pooled: other scenes and other models at once. Spearman's rho over all units, with the two-way clustered variance
    V_models + V_scenes - V_cells of Cameron, Gelbach & Miller (2011, J. Bus. Econ. Stat. 29:238-249), each part from leaving out
    one cluster at a time, never below the larger of the first two. Leaving out a model leaves out all pairs that show it; a pair
    belongs to two models, so nothing is subtracted there, which is cautious.

Every leave-out ranks and centres anew. The jackknife's error of rho (Efron 1982) is taken to Fisher's z scale by the delta method,
error / (1 - rho^2), since z of a single leave-out near 1 has no bound: a score that errs in one scene alone would seem unsure. Test
and interval are by t with G - 1 degrees of freedom, G the number of clusters (pooled: of the scarcer ones).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.correlations import SLACK, weighted_ranks
from lookback.stats.intervals import CHUNK_CELLS, UNVARIED, Estimate, too_few_clusters
from lookback.stats.jackknife import jackknife_variance
from lookback.stats.ratings import Codes, Floats, cluster_codes

# Fisher's z of a perfect correlation is infinite: it counts as this one
NEARLY_ONE = 0.999999
FEWEST_UNITS = 3


@dataclass(frozen=True)
class Units:
    """Score and people's answer per unit, where it belongs, and the models that it shows (units x models, 0 or 1).

    `level` is the unit's model, of pairs its two models. `symmetric` counts every pair in both orders.
    """

    score: Floats
    people: Floats
    level: Codes
    shows: Floats
    clusters: Codes
    paired: bool
    symmetric: bool


def association_units(
    score: ArrayLike,
    people: ArrayLike,
    models: ArrayLike,
    against: ArrayLike | None = None,
    *,
    clusters: ArrayLike | None = None,
    symmetric: bool = False,
) -> Units:
    """Units of rated clips (`models`) or of compared pairs (`models` minus `against`); scores and answers must be finite."""
    x, y = np.asarray(score, dtype=float), np.asarray(people, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise UsageError(f"one score per answer is needed, got shapes {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise UsageError("scores and answers must be finite; leave out units without both and count them by reason")
    if len(x) < FEWEST_UNITS:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"a correlation needs at least three units, got {len(x)}")
    sides = np.stack([np.asarray(names, dtype=str) for names in (models, models if against is None else against)])
    codes = np.unique(sides, return_inverse=True)[1].reshape(sides.shape)
    shows = _one_hot(codes).any(axis=0).astype(float)
    if symmetric:  # the same two models, the same way round: the order is no part of the level
        turned = codes[0] > codes[1]
        x, y, codes = np.where(turned, -x, x), np.where(turned, -y, y), np.sort(codes, axis=0)
    level = np.unique(codes, axis=1, return_inverse=True)[1].reshape(-1)
    return Units(x, y, level, shows, cluster_codes(clusters, len(x)), against is not None, symmetric)


def within_models(units: Units, confidence: float = 0.95) -> Estimate:
    """Correlation of score and answers after the models' mean levels are taken out, for these models in other clusters.

    >>> models, scenes = ["a", "b"] * 4, [1, 1, 2, 2, 3, 3, 4, 4]
    >>> found = within_models(association_units([1, 11, 2, 12, 3, 14, 4, 13], [8, 1, 9, 2, 11, 3, 10, 4], models, clusters=scenes))
    >>> round(found.value, 2), bool(found.low < found.value < found.high)
    (0.8, True)
    """
    value = float(_within(units, np.ones((1, len(units.score))))[0])
    if not np.isfinite(value):
        raise NotScorable(Reason.UNDEFINED, "within the models the scores or people's answers do not vary")
    left_out, groups = _leave_outs(units, _within, _one_hot(units.clusters)), int(units.clusters.max()) + 1
    note = too_few_clusters(groups)
    variance = np.nan if note else float(jackknife_variance(left_out))
    method = f"models' levels removed, jackknife over {groups} clusters"
    return _estimate("rho within models", value, len(units.score), variance, groups - 1, note, confidence, method)


def pooled_models(units: Units, confidence: float = 0.95) -> Estimate:
    """Spearman's rho over all units, for other models and other clusters at once."""
    value = float(_pooled(units, np.ones((1, len(units.score))))[0])
    if not np.isfinite(value):
        raise NotScorable(Reason.UNDEFINED, "rho is 0/0: the scores or people's answers are constant")
    in_cluster = _one_hot(units.clusters)
    m, groups = units.shows.shape[1], in_cluster.shape[1]
    note = too_few_clusters(groups) or too_few_clusters(m, "model")
    variance = np.nan
    if not note:
        models, scenes = (float(jackknife_variance(_leave_outs(units, _pooled, part))) for part in (units.shows, in_cluster))
        variance = models + scenes
        if not units.paired:
            cells = _one_hot(np.unique(np.stack([units.level, units.clusters]), axis=1, return_inverse=True)[1].reshape(-1))
            variance = max(models, scenes, variance - float(jackknife_variance(_leave_outs(units, _pooled, cells))))
    method = f"two-way jackknife over {m} models and {groups} clusters"
    return _estimate("pooled rho", value, len(units.score), variance, min(m, groups) - 1, note, confidence, method)


def _estimate(
    name: str, value: float, n: int, variance: float, freedom: int, note: str, confidence: float, method: str
) -> Estimate:
    """The estimate with interval and p from its variance, or with the note that says why there is none."""
    if not note and not np.isfinite(variance):
        note = "leaving one cluster out leaves nothing that varies: no interval"
    elif not note and variance <= UNVARIED:
        note = "every leave-out gives the same value: its spread is unknown, no interval"
    if note:
        return Estimate(name, value, n, confidence=confidence, method=method, note=note)
    inside = float(np.clip(value, -NEARLY_ONE, NEARLY_ONE))
    z, error = float(np.arctanh(inside)), float(np.sqrt(variance)) / (1 - inside**2)
    half = float(stats.t.ppf(0.5 + confidence / 2, freedom)) * error
    p = float(2 * stats.t.sf(abs(z) / error, freedom))
    return Estimate(name, value, n, float(np.tanh(z - half)), float(np.tanh(z + half)), None, p, confidence, method)


def _one_hot(codes: Codes) -> Floats:
    return np.eye(int(codes.max()) + 1)[codes]


def _leave_outs(units: Units, statistic: Callable[[Units, Floats], Floats], members: Floats) -> Floats:
    """The statistic without each group of `members` (units x groups)."""
    return np.concatenate([statistic(units, 1 - chunk.T) for chunk in _chunks(members)])


def _chunks(members: Floats) -> Iterator[Floats]:
    size = max(1, CHUNK_CELLS // (2 * len(members)))
    return (members[:, start : start + size] for start in range(0, members.shape[1], size))


def _centred_ranks(values: Floats, weights: Floats, symmetric: bool) -> Floats:
    """Mid-ranks less their mean (rows of weights x units); of symmetric pairs the ranks among both orders."""
    total = weights.sum(axis=1, keepdims=True)
    if not symmetric:
        return np.asarray(weighted_ranks(values, weights) - (total + 1) / 2)
    both = weighted_ranks(np.append(values, -values), np.hstack([weights, weights]))
    return np.asarray(both[:, : len(values)] - (2 * total + 1) / 2)


def _pooled(units: Units, weights: Floats) -> Floats:
    score = _centred_ranks(units.score, weights, units.symmetric)
    return _correlation(score, _centred_ranks(units.people, weights, units.symmetric), weights, SLACK)


def _within(units: Units, weights: Floats) -> Floats:
    """Correlation of the ranks less their mean in each level, for every row of weights."""
    levels = _one_hot(units.level)
    sizes = np.maximum(weights @ levels, 1)

    def residuals(values: Floats) -> Floats:
        ranks = _centred_ranks(values, weights, units.symmetric)
        return np.asarray(ranks - ((weights * ranks) @ levels / sizes)[:, units.level])

    # ranks are half-integers: a residual of theirs that is no rounding is larger than this
    return _correlation(residuals(units.score), residuals(units.people), weights, SLACK * len(units.score))


def _correlation(x: Floats, y: Floats, weights: Floats, smallest: float) -> Floats:
    spread_x, spread_y = (weights * x**2).sum(axis=1), (weights * y**2).sum(axis=1)
    varies = np.minimum(spread_x, spread_y) > smallest
    scale = np.sqrt(spread_x * spread_y, where=varies, out=np.ones(len(x)))
    return np.where(varies, (weights * x * y).sum(axis=1) / scale, np.nan)
