"""Davidson's strengths of many simulated studies at once: the test of `comparisons.strength_comparisons` between two models.

All studies compare the same pairs of models and are fitted together from counts of outcomes. Every step is that of `strengths`:
results alone decide whether a fit exists, Newton's steps are damped alike, and one step gives the fit without a cluster.
"""

from __future__ import annotations

import numpy as np

from lookback.stats.comparisons import difference_p
from lookback.stats.ratings import Codes, Flags, Floats
from lookback.stats.strengths import CONVERGED, MAX_STEPS

WON, LOST, TIED = 0, 1, 2  # the places of a pair's outcomes, said of its first model
Pairs = tuple[Codes, Codes]  # the first and the second models; the first pair is that of the models 0 and 1


def strength_tests(counts: Floats, pairs: Pairs, *, annotators: bool = False) -> tuple[Floats, Floats]:
    """(difference, p) of the first two models' log strengths in each study; NaN where there is no fit or no test.

    `counts`: studies x scenes x annotators x pairs x outcomes; with `annotators` these are a sample too.
    """
    totals = counts.sum(axis=(1, 2))
    difference, p = np.full(len(counts), np.nan), np.full(len(counts), np.nan)
    fits, ties = fit_exists(totals, pairs), totals[..., TIED].sum(axis=1) > 0
    for some in (fits & ties, fits & ~ties):
        if some.any():
            difference[some], p[some] = _tests(counts[some], _design(pairs, bool(ties[some][0])), pairs, annotators)
    return difference, p


def fit_exists(totals: Floats, pairs: Pairs) -> Flags:
    """Whether the likelihood has a maximum, per study (studies x pairs x outcomes); `strengths` has the rule and its source."""
    a, b = pairs
    won, lost, tied = (totals[..., place] > 0 for place in (WON, LOST, TIED))
    cost = np.full((len(totals), b.max() + 1, b.max() + 1), np.inf)
    cost[:, a, b] = np.where(won, -1.0, np.where(tied, 1.0, np.inf))
    cost[:, b, a] = np.where(lost, -1.0, np.where(tied, 1.0, np.inf))
    for k in range(cost.shape[1]):  # Floyd and Warshall; a cycle with more wins than ties ends below zero
        cost = np.maximum(np.minimum(cost, cost[:, :, k, None] + cost[:, None, k, :]), -1e6)
    return np.asarray(np.isfinite(cost).all(axis=(1, 2)) & (np.einsum("smm->sm", cost) < 0).any(axis=1))


def _design(pairs: Pairs, has_ties: bool) -> Floats:
    """Linear predictors (pairs x outcomes x parameters); the last model's strength is minus the sum of the others'."""
    a, b = pairs
    free = int(b.max())
    basis = np.vstack([np.eye(free), -np.ones(free)])
    if not has_ties:
        return np.stack([basis[a], basis[b]], axis=1)
    strengths = np.stack([basis[a], basis[b], (basis[a] + basis[b]) / 2], axis=1)
    tie = np.broadcast_to(np.array([0.0, 0.0, 1.0])[:, None], (len(a), 3, 1))
    return np.concatenate([strengths, tie], axis=2)


def _tests(counts: Floats, design: Floats, pairs: Pairs, annotators: bool) -> tuple[Floats, Floats]:
    counts = counts[..., : design.shape[1]]
    parameters, means, parts = _newton(counts.sum(axis=(1, 2)), design)
    contrast = design[0, WON] - design[0, LOST]
    groupings = [counts.sum(axis=2)]
    if annotators:
        groupings += [counts.sum(axis=1), counts.reshape(len(counts), -1, *counts.shape[3:])]
    variances, seen = [], []
    for own in groupings:
        variances.append(_variance(_steps(own, design, means, parts, pairs) @ contrast, own.any(axis=(2, 3))))
        seen.append(_shown(own.sum(axis=-1), pairs)[..., :2].sum(axis=1).min(axis=1))
    variance, fewest = variances[0], seen[0]
    if annotators:
        variance = np.maximum(variance + variances[1] - variances[2], np.maximum(variance, variances[1]))
        fewest = np.minimum(fewest, seen[1])
    difference = parameters @ contrast
    return difference, difference_p(difference, variance, fewest)


def _variance(moved: Floats, present: Flags) -> Floats:
    """The jackknife's variance (studies) of values without each group (studies x groups) that has votes."""
    groups = present.sum(axis=1)
    mean = np.where(present, moved, 0.0).sum(axis=1) / groups
    return np.asarray((groups - 1) / groups * np.where(present, (moved - mean[:, None]) ** 2, 0.0).sum(axis=1))


def _newton(totals: Floats, design: Floats) -> tuple[Floats, Floats, Floats]:
    """(parameters, mean outcome of a vote on each pair, information of such a vote), per study."""
    parameters = np.zeros((len(totals), design.shape[2]))
    votes = totals.sum(axis=2)
    seen = np.einsum("spo,poq->sq", totals, design)
    for _ in range(MAX_STEPS):
        share = np.exp(np.einsum("poq,sq->spo", design, parameters))
        share /= share.sum(axis=2, keepdims=True)
        means = np.einsum("spo,poq->spq", share, design)
        parts = np.einsum("spo,poq,por->spqr", share, design, design, optimize=True) - means[..., :, None] * means[..., None, :]
        scores = seen - np.einsum("sp,spq->sq", votes, means)
        step = np.linalg.solve(np.einsum("sp,spqr->sqr", votes, parts), scores[..., None])[..., 0]
        largest = np.abs(step).max(axis=1, keepdims=True)
        parameters = parameters + step / np.maximum(1.0, largest / 2)
        if largest.max() < CONVERGED:
            break
    return parameters, means, parts


def _steps(own: Floats, design: Floats, means: Floats, parts: Floats, pairs: Pairs) -> Floats:
    """The steps (studies x groups x parameters) (I - I_g)^-1 s_g to the fit without each group; NaN where the rest falls apart.

    A model that one group alone shows stays where it is when that group goes.
    """
    studies, groups, free = *own.shape[:2], design.shape[2]
    votes = own.sum(axis=3)
    scores = np.einsum("sgpo,poq->sgq", own, design) - votes @ means
    total = np.einsum("sp,spqr->sqr", votes.sum(axis=1), parts)
    rest = total[:, None] - (votes @ parts.reshape(studies, -1, free * free)).reshape(studies, groups, free, free)
    left = _components(votes.sum(axis=1, keepdims=True) - votes > 0, pairs)
    shown = _shown(votes, pairs)
    alone = (shown & (shown.sum(axis=1, keepdims=True) == 1)).sum(axis=2)
    steps = np.full((studies, groups, free), np.nan)
    whole = left == 1
    steps[whole] = np.linalg.solve(rest[whole], scores[whole][..., None])[..., 0]
    if not whole.all():
        steps[~whole] = (np.linalg.pinv(rest[~whole], hermitian=True) @ scores[~whole][..., None])[..., 0]
    steps[(left - 1 > alone).any(axis=1)] = np.nan
    return steps


def _shown(votes: Floats, pairs: Pairs) -> Flags:
    """Which models occur (..., models) where there are votes on pairs (..., pairs)."""
    both = np.eye(pairs[1].max() + 1)[pairs[0]] + np.eye(pairs[1].max() + 1)[pairs[1]]
    return np.asarray(votes @ both > 0)


def _components(met: Flags, pairs: Pairs) -> Codes:
    """Into how many parts the models fall that met (..., pairs) directly or through others."""
    if met.all():
        return np.ones(met.shape[:-1], dtype=np.int64)
    a, b = pairs
    models = int(b.max()) + 1
    reached = np.zeros((*met.shape[:-1], models, models), dtype=np.float32)
    reached[..., a, b] = reached[..., b, a] = met
    reached += np.eye(models, dtype=np.float32)
    for _ in range(max(1, int(np.ceil(np.log2(models))))):
        reached = (reached @ reached > 0).astype(np.float32)
    return np.asarray(np.rint((1 / reached.sum(axis=-1)).sum(axis=-1)), dtype=np.int64)
