"""Power before data: simulate the planned study many times, analyse each as the real one will be, and count what is found.

The study: in every scene pairs of models are compared, each pair by `raters` people; the majority of a pair's votes is its label,
and a pair without a majority is left out. One model is better than the others, who are equal. The test is that of
`comparisons.win_ratio_comparisons`: the difference of two win ratios, errors from leaving out one scene at a time; a study in
which fewer than five scenes show one of the two has no test and finds nothing.

What is assumed: Davidson's chances (see `simulation`), the share of tied votes between equal models, and how alike two people
vote on one pair of equal models (`agreement`, the correlation of votes 1, 0, -1). The design effect is not assumed: it is the
variance of the simulated difference over that of as many independent votes, or decided pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.comparisons import difference_p
from lookback.stats.intervals import CHUNK_CELLS, FEWEST_CLUSTERS
from lookback.stats.jackknife import jackknife_covariance, ratios_without
from lookback.stats.ratings import Flags, Floats
from lookback.stats.simulation import VoteModel, drawn_votes, hidden_correlation, majority_signs

GRID = (0.52, 0.54, 0.56, 0.58, 0.6, 0.62, 0.65, 0.68, 0.72, 0.76, 0.8, 0.85, 0.9, 0.95)


@dataclass(frozen=True)
class PlannedStudy:
    """The design, and what is expected of the votes."""

    models: int
    scenes: int
    raters: int
    pairs_per_scene: int | None = None  # none: every pair of models in every scene
    ties: float = 0.2  # share of ties among votes on two equal models
    agreement: float = 0.4  # correlation of two people's votes (1, 0, -1) on one pair of equal models
    alpha: float = 0.05
    power: float = 0.8
    studies: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.models < 2 or self.raters < 1 or self.studies < 100:
            raise UsageError("a study needs at least 2 models and 1 rater, and at least 100 simulated studies")
        if self.scenes < FEWEST_CLUSTERS:
            raise UsageError(f"{self.scenes} scenes give no interval and no test; plan at least {FEWEST_CLUSTERS}")
        if not (0 <= self.ties < 0.95 and 0 <= self.agreement <= 0.99 and 0 < self.alpha < 1 and 0 < self.power < 1):
            raise UsageError("ties lie in [0, 0.95), agreement in [0, 0.99], alpha and power in (0, 1)")
        if self.pairs_per_scene is not None and not 1 <= self.pairs_per_scene <= self.comparisons:
            raise UsageError(f"{self.models} models have {self.comparisons} pairs a scene; pairs_per_scene is 1 to that")

    @property
    def comparisons(self) -> int:
        """Pairs of models."""
        return self.models * (self.models - 1) // 2

    @property
    def pairs(self) -> int:
        """Pairs of clips that people see."""
        return self.scenes * (self.pairs_per_scene or self.comparisons)

    @property
    def votes(self) -> int:
        return self.pairs * self.raters

    def truth(self, win_ratio: float) -> VoteModel:
        """The model whose first model wins this share of the votes (ties half) against each of the others, who are equal."""
        tie, hidden = 2 * self.ties / (1 - self.ties), hidden_correlation(self.agreement, self.ties)

        def gap(strength: float) -> float:
            model = VoteModel((strength, 0.0), tie, hidden)
            return float(model.chances[0, 2] + model.chances[0, 1] / 2) - win_ratio

        strength = 0.0 if win_ratio == 0.5 else float(brentq(gap, -60, 60))
        return VoteModel((strength, *[0.0] * (self.models - 1)), tie, hidden)


@dataclass(frozen=True)
class Power:
    """`table`: win_ratio, power, power_corrected (alpha divided by all pairs of models, Holm's first step), both simulated.

    `smallest`, `smallest_corrected`: the win ratio that is found with the wanted power; None where not even 0.95 is.
    """

    plan: PlannedStudy
    decided_pairs: float
    tied_pairs: float
    vote_effect: float
    pair_effect: float
    false_alarms: float
    table: pd.DataFrame
    smallest: float | None
    smallest_corrected: float | None


def study_power(plan: PlannedStudy, win_ratio: float | None = None) -> Power:
    """Simulated power over a grid of win ratios (and the given one), the smallest that is found, and the design effects.

    >>> found = study_power(PlannedStudy(models=3, scenes=12, raters=3, studies=200))
    >>> found.plan.pairs, found.plan.votes, found.decided_pairs < found.plan.pairs
    (36, 108, True)
    """
    if win_ratio is not None and not 0.5 < win_ratio < 1:
        raise UsageError(f"the win ratio of the better model lies between 0.5 and 1, got {win_ratio}")
    equal = _simulated(plan, 0.5)
    rows = [_row(plan, ratio) for ratio in sorted({*GRID, *([] if win_ratio is None else [win_ratio])})]
    table = pd.DataFrame(rows)
    return Power(
        plan,
        float(equal.decided.mean()),
        float(equal.tied.mean()),
        _effect(equal.vote_difference, plan, plan.votes, plan.ties),
        _effect(equal.difference, plan, float(equal.decided.mean()), float(equal.tied.mean() / equal.decided.mean())),
        float((equal.p < plan.alpha).mean()),
        table,
        _smallest(table["win_ratio"], table["power"], plan.power),
        _smallest(table["win_ratio"], table["power_corrected"], plan.power),
    )


def _row(plan: PlannedStudy, win_ratio: float) -> dict[str, float]:
    p = _simulated(plan, win_ratio).p
    return {
        "win_ratio": win_ratio,
        "power": float((p < plan.alpha).mean()),
        "power_corrected": float((p < plan.alpha / plan.comparisons).mean()),
    }


@dataclass(frozen=True)
class _Simulated:
    """One value per simulated study."""

    difference: Floats  # of the first two models' win ratios over decided pairs
    vote_difference: Floats  # the same over votes
    p: Floats
    decided: Floats
    tied: Floats


def _simulated(plan: PlannedStudy, win_ratio: float) -> _Simulated:
    rng, model = np.random.default_rng(plan.seed), plan.truth(win_ratio)
    chunk = max(1, CHUNK_CELLS // (plan.scenes * plan.comparisons * plan.raters))
    parts = []
    for start in range(0, plan.studies, chunk):
        parts.append(_chunk(plan, model, rng, min(chunk, plan.studies - start)))
    return _Simulated(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def _chunk(plan: PlannedStudy, model: VoteModel, rng: np.random.Generator, studies: int) -> tuple[Floats, ...]:
    votes = drawn_votes(model, rng, studies, plan.scenes, plan.raters)
    seen = np.ones(votes.shape[:3], dtype=bool)
    if plan.pairs_per_scene is not None:
        seen = np.argsort(np.argsort(rng.random(seen.shape), axis=-1), axis=-1) < plan.pairs_per_scene
    signs, decided = majority_signs(votes)
    decided &= seen
    points, played = _totals(model, signs.astype(float), decided)
    first, second = _totals(model, votes.mean(axis=-1), seen)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios, by_vote = points.sum(axis=1) / played.sum(axis=1), first.sum(axis=1) / second.sum(axis=1)
        variance = jackknife_covariance((ratios_without(points, played) @ np.array([1.0, -1.0]))[..., None])[:, 0, 0]
        difference = ratios[:, 0] - ratios[:, 1]
    # as in the analysis; a difference without a test is no finding
    p = difference_p(difference, variance, (played > 0).sum(axis=1).min(axis=-1))
    tied = ((signs == 0) & decided).sum(axis=(1, 2))
    return difference, by_vote[:, 0] - by_vote[:, 1], p, decided.sum(axis=(1, 2)).astype(float), tied.astype(float)


def _totals(model: VoteModel, signs: Floats, counted: Flags) -> tuple[Floats, Floats]:
    """Points and comparisons of the first two models per scene (studies x scenes x 2)."""
    a, b = (np.eye(len(model.strengths))[side][:, :2] for side in model.pairs)
    points = ((1 + signs) / 2 * counted) @ a + ((1 - signs) / 2 * counted) @ b
    return np.asarray(points), np.asarray(counted @ (a + b))


def _effect(difference: Floats, plan: PlannedStudy, units: float, ties: float) -> float:
    """Variance of the difference over that of as many independent units: v (2 n + 2 n_ab) / n^2, n per model, n_ab head to head."""
    own, shared = 2 * units / plan.models, units / plan.comparisons
    independent = (1 - ties) / 4 * (2 * own + 2 * shared) / own**2
    known = difference[np.isfinite(difference)]
    if len(known) < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, "hardly any simulated study compares both models; plan more pairs or scenes")
    return float(known.var(ddof=1) / independent)


def _smallest(ratios: pd.Series, power: pd.Series, wanted: float) -> float | None:
    """Where the simulated power reaches `wanted`, between two points of the grid."""
    rising = np.maximum.accumulate(power.to_numpy())
    if rising[-1] < wanted:
        return None
    where = int(np.searchsorted(rising, wanted))
    if where == 0:
        return float(ratios.iloc[0])
    step = (wanted - rising[where - 1]) / (rising[where] - rising[where - 1])
    return float(ratios.iloc[where - 1] + step * (ratios.iloc[where] - ratios.iloc[where - 1]))
