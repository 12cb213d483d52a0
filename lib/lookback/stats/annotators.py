"""The annotators: how each agrees with the others, and the ceiling that their votes set for the ranking of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason
from lookback.stats.agreement import gwet_ac1
from lookback.stats.correlations import spearman_rows
from lookback.stats.intervals import (
    Estimate,
    number,
    share,
)
from lookback.stats.ratings import (
    MISSING,
    Codes,
    Floats,
    Label,
    Ratings,
    check_categories,
    cluster_codes,
    preference_sign,
    rating_codes,
    vote_counts,
)

# smaller sums of squares and correlations count as zero
ROUNDING = 1e-12


def leave_one_annotator_out(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    statistic: Callable[..., Estimate] = gwet_ac1,
    clusters: ArrayLike | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """One row per annotator: agreement with the others' majority (n, rate, interval over clusters), the statistic without them.

    `change` is the statistic without the annotator minus the statistic with everybody: clearly positive means the annotator pulls
    agreement down. `reason` is filled where a cell cannot be computed.
    """
    declared = check_categories(categories)
    codes = rating_codes(ratings, declared)
    if (codes != MISSING).any(axis=0).sum() < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, "leaving one annotator out needs at least two annotators")
    raters = ratings.columns if isinstance(ratings, pd.DataFrame) else pd.RangeIndex(codes.shape[1])
    labels, voters = _packed(codes, declared)
    everybody = statistic(labels, declared).value
    everyone = vote_counts(codes, len(declared))
    groups = None if clusters is None else cluster_codes(clusters, len(codes))
    rows = []
    for position, annotator in enumerate(raters):
        own = codes[:, position]
        counts = everyone - (own[:, None] == np.arange(len(declared)))
        decided = counts.max(axis=1) > counts.sum(axis=1) / 2
        compared = decided & (own != MISSING)
        row: dict[str, object] = {"annotator": annotator, "n_votes": int((own != MISSING).sum()), "n_compared": int(compared.sum())}
        reasons = []
        try:
            hits = (counts.argmax(axis=1) == own)[compared]
            rate = share("agreement with the others", hits, None if groups is None else groups[compared], confidence=confidence)
            row |= {"agreement": rate.value, "low": number(rate.low), "high": number(rate.high)}
            reasons += [rate.note] if rate.note else []
        except NotScorable as missing:
            row |= {"agreement": np.nan, "low": np.nan, "high": np.nan}
            reasons.append(str(missing))
        try:
            kept = labels.copy()
            kept[voters == position] = None
            without = statistic(kept, declared).value
            row |= {"without": without, "change": without - everybody}
        except NotScorable as missing:
            row |= {"without": np.nan, "change": np.nan}
            reasons.append(str(missing))
        rows.append({**row, "reason": "; ".join(reasons)})
    return pd.DataFrame(rows)


def _packed(codes: Codes, declared: list[Label]) -> tuple[NDArray[np.object_], Codes]:
    """Labels and raters moved to the left (items x most votes on an item): small when each rater saw few of the items."""
    item, rater = np.nonzero(codes != MISSING)
    position = np.arange(len(item)) - np.searchsorted(item, item)
    labels = np.full((len(codes), int(position.max()) + 1), None, dtype=object)
    voters = np.full(labels.shape, MISSING)
    labels[item, position] = np.array(declared, dtype=object)[codes[item, rater]]
    voters[item, position] = rater
    return labels, voters


def model_ceiling(
    ratings: Ratings,
    model_a: ArrayLike,
    model_b: ArrayLike,
    *,
    splits: int = 200,
    seed: int = 0,
) -> Estimate:
    """The largest model-level rho a metric could show: sqrt of the Spearman-Brown reliability of the human win ratios.

    Each pair's votes are split at random in two halves; r is the mean Spearman correlation of the two halves' win ratios,
    k r/(1 + (k - 1) r) the reliability of all votes together, k being the votes over the votes in one half (Spearman-Brown; an odd
    vote belongs to no half). Needs pairs with at least two votes.
    """
    table = np.asarray(ratings, dtype=object)
    voted = ~pd.isna(table)
    signs = np.zeros(table.shape)
    signs[voted] = preference_sign(table[voted])
    kept = voted.sum(axis=1) >= 2
    if not kept.any():
        raise NotScorable(Reason.TOO_FEW_VALUES, "no pair has two votes to split in halves")
    models = pd.factorize(pd.Series(np.concatenate([np.asarray(model_a)[kept], np.asarray(model_b)[kept]])))[0]
    a, b = models[: kept.sum()], models[kept.sum() :]
    m = int(models.max()) + 1
    played = np.bincount(a, minlength=m) + np.bincount(b, minlength=m)
    a, b, signs = _by_content(a, b, np.where(voted, signs, np.nan)[kept], played)
    voted = np.isfinite(signs)
    half = voted.sum(axis=1) // 2
    rng = np.random.default_rng(seed)
    halves = np.empty((2, splits, m))
    for split in range(splits):
        rank = np.argsort(np.argsort(np.where(voted, rng.random(voted.shape), 2.0), axis=1), axis=1)
        for side, chosen in enumerate((rank < half[:, None], (rank >= half[:, None]) & (rank < 2 * half[:, None]))):
            mean = np.where(chosen, signs, 0.0).sum(axis=1) / half
            halves[side, split] = _ratios(a, b, mean, played)
    values = spearman_rows(halves[0], halves[1])
    r = float(np.nanmean(values)) if np.isfinite(values).any() else np.nan
    if not r > ROUNDING:
        raise NotScorable(Reason.UNDEFINED, "the two halves of the votes do not rank the models alike: no ceiling above zero")
    method = f"Spearman-Brown over {splits} random halves, seed {seed}"
    longer = float(voted.sum() / half.sum())
    ceiling = float(np.sqrt(longer * r / (1 + (longer - 1) * r)))
    return Estimate("model ceiling", ceiling, m, method=method, note=f"split-half rho {r:.3f}")


def _ratios(a: Codes, b: Codes, mean: Floats, played: Codes) -> Floats:
    """The models' win ratios from the mean preference of each pair, ties half; to 12 digits, so that equal ones stay tied."""
    m = len(played)
    return np.asarray(np.round((np.bincount(a, (1 + mean) / 2, m) + np.bincount(b, (1 - mean) / 2, m)) / played, 12))


def _by_content(a: Codes, b: Codes, signs: Floats, played: Codes) -> tuple[Codes, Codes, Floats]:
    """Pairs turned so that the model with the lower win ratio is first, their votes and then the pairs sorted: names do not matter.

    Models stay as coded; missing votes (NaN) come last.
    """
    place = np.argsort(np.argsort(_ratios(a, b, np.nanmean(signs, axis=1), played), kind="stable"))
    turned = place[a] > place[b]
    first, second = np.where(turned, b, a), np.where(turned, a, b)
    votes = np.sort(np.where(turned[:, None], -signs, signs), axis=1)
    order = np.lexsort((*votes.T, place[second], place[first]))
    return first[order], second[order], votes[order]
