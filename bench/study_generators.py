"""Studies of video models whose truth is known: people's votes and a metric's scores, drawn with plain numpy.

Nothing here imports lookback, so that the analysis is not judged by its own assumptions. A clip's quality is its model's level
plus what its scene and the clip itself add. People see the quality with noise; some have a level or favourite models of their
own, and a careless one answers at random. The metric's score follows the quality within models as closely as `within` says, has
model levels of its own (it recognises the model), or both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import optimize, stats

Floats = np.ndarray[Any, np.dtype[np.float64]]

SCENE, CLIP = 0.5, 0.6  # standard deviations of what a scene and a clip add to quality, and likewise to an unrelated score
INSIDE = float(np.hypot(SCENE, CLIP))
TIE = 0.4  # two clips whose difference seems smaller than this are called a tie
LARGE = 300_000  # clips or pairs of the study from which a truth without a formula is read


@dataclass(frozen=True)
class Truth:
    """What is put into a study. `drawn` models are new in every study; else their levels are evenly spread with the same spread."""

    models: int = 6
    scenes: int = 12
    raters: int = 3
    spread: float = 0.6  # standard deviation of the models' levels in quality
    drawn: bool = False
    levels: tuple[float, ...] = ()  # in place of an even spread
    noise: float = 0.7  # of one vote
    bias: float = 0.0  # standard deviation of the raters' levels on a rating scale
    preference: float = 0.0  # standard deviation of a rater's liking for a model
    careless: int = 0  # raters who answer at random
    nested: bool = False  # every item has raters of its own
    within: float = 0.0  # correlation of score and quality within a model
    follows: float = 0.0  # correlation of the score's model levels with those of quality
    score_spread: float = 0.0  # standard deviation of the score's model levels
    perfect: bool = False  # the score is the quality itself


@dataclass(frozen=True)
class Drawn:
    """One study: quality and score (models x scenes), levels (models) and each rater's liking (raters x models), level, care."""

    quality: Floats
    score: Floats
    levels: Floats
    liking: Floats
    bias: Floats
    careless: Any


def even_levels(models: int, spread: float) -> Floats:
    """Levels at the middle quantiles of a normal distribution, from the best model down, with this standard deviation."""
    levels = stats.norm.ppf((np.arange(models)[::-1] + 0.5) / models)
    return np.asarray(spread * levels / levels.std())


def drawn_study(truth: Truth, rng: np.random.Generator) -> Drawn:
    """Quality, scores and people of one study."""
    m, s = truth.models, truth.scenes
    own = rng.normal(size=m)
    levels = truth.spread * own if truth.drawn else even_levels(m, truth.spread)
    if truth.levels:
        levels = np.array(truth.levels)
    inside = SCENE * rng.normal(size=s) + CLIP * rng.normal(size=(m, s))
    quality = levels[:, None] + inside
    standing = own if truth.drawn else levels / max(levels.std(), 1e-12)
    recognised = truth.follows * standing + np.sqrt(1 - truth.follows**2) * rng.normal(size=m)
    unrelated = SCENE * rng.normal(size=s) + CLIP * rng.normal(size=(m, s))
    score = truth.score_spread * recognised[:, None] + truth.within * inside + np.sqrt(1 - truth.within**2) * unrelated
    careless = np.arange(truth.raters) >= truth.raters - truth.careless
    liking = truth.preference * rng.normal(size=(truth.raters, m))
    return Drawn(quality, quality if truth.perfect else score, levels, liking, truth.bias * rng.normal(size=truth.raters), careless)


def rated(truth: Truth, made: Drawn, rng: np.random.Generator) -> Any:
    """Ratings 1 to 5 of every clip (models x scenes x raters)."""
    shape = (*made.quality.shape, truth.raters)
    bias = truth.bias * rng.normal(size=shape) if truth.nested else made.bias
    seen = made.quality[:, :, None] + made.liking.T[:, None, :] + bias + truth.noise * rng.normal(size=shape)
    given = np.clip(np.round(3 + seen), 1, 5).astype(int)
    return np.where(made.careless, rng.integers(1, 6, shape), given)


def compared(truth: Truth, made: Drawn, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """(first model, second model, votes): every pair in every scene, 1 for the first, 0 for a tie (pairs x scenes x raters)."""
    first, second = np.triu_indices(len(made.quality), 1)
    shape = (len(first), made.quality.shape[1], truth.raters)
    liked = (made.liking[:, first] - made.liking[:, second]).T[:, None, :]
    seen = (made.quality[first] - made.quality[second])[:, :, None] + liked + np.sqrt(2) * truth.noise * rng.normal(size=shape)
    votes = np.where(np.abs(seen) < TIE, 0, np.sign(seen)).astype(int)
    return first, second, np.where(made.careless, rng.integers(-1, 2, shape), votes)


def majority(votes: Any) -> Floats:
    """The answer of more than half of the voters (last axis), NaN where there is none; one voter is a majority."""
    counts = np.stack([(votes == answer).sum(axis=-1) for answer in (-1, 0, 1)])
    most = counts.argmax(axis=0) - 1
    return np.where(counts.max(axis=0) > votes.shape[-1] / 2, most, np.nan)


# answers in categories, without quality: agreement among people


def independent_votes(shares: tuple[float, ...], items: int, raters: int, rng: np.random.Generator) -> Any:
    """Votes that say nothing about the items: every rater draws from the same shares (items x raters)."""
    return rng.choice(len(shares), size=(items, raters), p=shares)


def seen_votes(share: float, accuracies: Floats, items: int, rng: np.random.Generator) -> Any:
    """Yes/no votes of raters who see the truth (yes in `share` of the items) with their own accuracy (items x raters)."""
    truth = rng.random(items) < share
    right = rng.random((items, len(accuracies))) < accuracies
    return np.where(right, truth[:, None], ~truth[:, None]).astype(int)


def ac1_of(observed: float, shares: Floats) -> float:
    """Gwet's AC1 of the chance that two votes are equal and of the answers' shares."""
    chance = float((shares * (1 - shares)).sum() / (len(shares) - 1))
    return (observed - chance) / (1 - chance)


def seen_ac1(share: float, accuracies: Floats) -> float:
    """AC1 of the raters of `seen_votes`, on ever more items; of raters drawn with a mean accuracy: give it twice."""
    first, second = np.triu_indices(len(accuracies), 1)
    a, b = accuracies[first], accuracies[second]
    yes = share * accuracies.mean() + (1 - share) * (1 - accuracies.mean())
    return ac1_of(float((a * b + (1 - a) * (1 - b)).mean()), np.array([yes, 1 - yes]))


def independent_ac2(shares: Floats) -> float:
    """Gwet's AC2 with ordinal weights of votes drawn from these shares."""
    q = len(shares)
    apart = np.abs(np.subtract.outer(np.arange(q), np.arange(q)))
    weights = 1 - apart * (apart + 1) / (q * (q - 1))
    chance = float(weights.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum())
    return (float(shares @ weights @ shares) - chance) / (1 - chance)


def seen_alpha(share: float, accuracies: Floats) -> float:
    """Krippendorff's alpha of the raters of `seen_votes`, who see equally well."""
    a = float(accuracies[0])
    yes = share * a + (1 - share) * (1 - a)
    return 1 - 2 * a * (1 - a) / (2 * yes * (1 - yes))


@lru_cache
def accuracy_for(ac1: float, share: float) -> float:
    """The accuracy with which raters reach this AC1."""
    return float(optimize.brentq(lambda a: seen_ac1(share, np.array([a, a])) - ac1, 0.55, 1))


# truths without a formula, from one very large study


def spearman_of(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(stats.rankdata(x), stats.rankdata(y))[0, 1])


@lru_cache
def rated_truths(truth: Truth) -> dict[str, float]:
    """Rank correlations of score and mean rating: `pooled`, and `within` models (ranks of all clips, centred in each model)."""
    rng = np.random.default_rng(0)
    shape = (int(np.sqrt(LARGE)),) * 2 if truth.drawn else (truth.models, LARGE // truth.models)
    large = replace(truth, models=shape[0], scenes=shape[1])
    made = drawn_study(large, rng)
    mean = rated(large, made, rng).mean(axis=2)
    score = made.score
    ranks = [stats.rankdata(values).reshape(values.shape) for values in (score, mean)]
    centred = [each - each.mean(axis=1, keepdims=True) for each in ranks]
    return {
        "pooled": float(np.corrcoef(ranks[0].ravel(), ranks[1].ravel())[0, 1]),
        "within": float(np.corrcoef(centred[0].ravel(), centred[1].ravel())[0, 1]),
    }


@lru_cache
def compared_truths(truth: Truth) -> dict[str, float]:
    """The same of score differences and majority labels, both orders counted; `within` is centred in each pair of models."""
    rng = np.random.default_rng(0)
    models = 100 if truth.drawn else truth.models
    scenes = LARGE // (models * (models - 1) // 2)
    large = replace(truth, models=models, scenes=scenes)
    made = drawn_study(large, rng)
    first, second, votes = compared(large, made, rng)
    label, delta = majority(votes), made.score[first] - made.score[second]
    kept = ~np.isnan(label)
    ranks = []
    for values in (delta, label):
        both = stats.rankdata(np.concatenate([values[kept], -values[kept]]))
        ranks.append(np.full(kept.shape, np.nan))
        ranks[-1][kept] = both[: kept.sum()] - both.mean()  # the other order has the opposite sign
    left = [each - np.nanmean(each, axis=1, keepdims=True) for each in ranks]
    return {"pooled": _through_zero(*(each[kept] for each in ranks)), "within": _through_zero(*(each[kept] for each in left))}


def _through_zero(x: Floats, y: Floats) -> float:
    """The correlation of values that come with both signs."""
    return float((x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()))


@lru_cache
def model_truths(truth: Truth) -> dict[str, Floats]:
    """Mean rating, win ratio of majority labels and log strength (Davidson) of these models, in all scenes."""
    rng = np.random.default_rng(0)
    large = replace(truth, scenes=LARGE // (truth.models * truth.raters), preference=0.0)
    made = drawn_study(large, rng)
    first, second, votes = compared(large, made, rng)
    label = majority(votes)
    points = np.zeros((2, truth.models))
    for side, sign in ((first, 1), (second, -1)):
        np.add.at(points, (0, side), np.nansum((1 + sign * label) / 2, axis=1))
        np.add.at(points, (1, side), (~np.isnan(label)).sum(axis=1))
    shares = np.stack([(votes == answer).mean(axis=(1, 2)) for answer in (-1, 0, 1)])
    mean = rated(large, made, rng).mean(axis=(1, 2))
    return {"mean rating": mean, "win ratio": points[0] / points[1], "log strength": davidson(first, second, shares)}


def davidson(first: Any, second: Any, shares: Floats) -> Floats:
    """Log strengths (sum zero) that fit these shares of (second better, tie, first better) best, by maximum likelihood."""
    models = int(second.max()) + 1

    def loss(x: Floats) -> float:
        strength = np.append(x[:-1], -x[:-1].sum())
        a, b = strength[first], strength[second]
        parts = np.stack([b, x[-1] + (a + b) / 2, a])
        return -float((shares * (parts - np.logaddexp.reduce(parts, axis=0))).sum())

    best = optimize.minimize(loss, np.zeros(models), method="BFGS").x
    return np.append(best[:-1], -best[:-1].sum())


@lru_cache
def ceiling_truth(truth: Truth, people: int = 200) -> float:
    """Rank correlation of the quality itself with the mean rating in such designs, over many sets of raters."""
    found = []
    for seed in range(people):
        rng = np.random.default_rng(seed)
        large = replace(truth, scenes=LARGE // (truth.models * people))
        made = drawn_study(large, rng)
        found.append(spearman_of(made.quality.ravel(), rated(large, made, rng).mean(axis=2).ravel()))
    return float(np.mean(found))
