"""Studies made up from a known truth: votes on pairs of models that follow Davidson's model exactly, with votes that agree.

Each vote has a hidden normal value, cut so that "B", "tie" and "A" have exactly Davidson's chances (see `strengths`). The hidden
values of two votes on one pair correlate by `agreement`, because both see the same two clips: with a clip's own deviation z_sm in
scene s,
    hidden = sqrt(agreement) (z_sa - z_sb) / sqrt(2) + sqrt(1 - agreement) noise.
The votes themselves (1, 0, -1) correlate by less: `hidden_correlation` turns one into the other.
Pairs of one scene share clips, so they correlate too. How much clustering costs follows from the design alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import multinomial, norm

from lookback.errors import UsageError
from lookback.stats.ratings import Codes, Flags, Floats

NODES = 61


@dataclass(frozen=True)
class VoteModel:
    """The truth: log strengths of the models, Davidson's tie parameter, the correlation of two votes' hidden values on one pair."""

    strengths: tuple[float, ...]
    tie: float
    agreement: float

    def __post_init__(self) -> None:
        if len(self.strengths) < 2 or self.tie < 0 or not 0 <= self.agreement < 1:
            raise UsageError("a study needs two models, a tie parameter of at least 0 and an agreement in [0, 1)")

    @cached_property
    def pairs(self) -> tuple[Codes, Codes]:
        """Every pair of models once, as codes."""
        a, b = np.triu_indices(len(self.strengths), 1)
        return a, b

    @cached_property
    def chances(self) -> Floats:
        """Pairs x (B better, tie, A better)."""
        return outcome_chances(self.gaps(np.asarray(self.strengths)), self.tie)

    def gaps(self, strengths: Floats) -> Floats:
        """By how much each pair's first model is stronger (..., models) -> (..., pairs)."""
        a, b = self.pairs
        return np.asarray(strengths[..., a] - strengths[..., b])

    @cached_property
    def cuts(self) -> tuple[Floats, Floats]:
        """Where the hidden value of each pair turns from "B" to "tie" and from "tie" to "A"."""
        return cut_points(self.chances)

    def win_ratios(self, raters: int) -> Floats:
        """True win ratios, ties half: of the majority of `raters` votes where there is one."""
        chances = self.majority_chances(raters)
        a, b = self.pairs
        m = len(self.strengths)
        points = np.bincount(a, chances[:, 2] + chances[:, 1] / 2, m) + np.bincount(b, chances[:, 0] + chances[:, 1] / 2, m)
        decided = chances.sum(axis=1)
        return np.asarray(points / (np.bincount(a, decided, m) + np.bincount(b, decided, m)))

    def majority_chances(self, raters: int) -> Floats:
        """Pairs x (B, tie, A): the chance that more than half of the votes on a pair say so; the rest of 1 is split."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        shared, own = np.sqrt(self.agreement) * nodes, np.sqrt(1 - self.agreement)
        low, high = self.cuts
        below, upto = norm.cdf((low[:, None] - shared) / own), norm.cdf((high[:, None] - shared) / own)
        given = np.stack([below, upto - below, 1 - upto], axis=2)
        found = np.zeros((*given.shape[:2], 3))
        for counts in product(range(raters + 1), repeat=3):
            if sum(counts) == raters and max(counts) > raters / 2:
                found[:, :, int(np.argmax(counts))] += multinomial.pmf(np.array(counts), raters, np.clip(given, 0, 1))
        return np.asarray(np.einsum("pnk,n->pk", found, weights / weights.sum()))


def outcome_chances(gap: Floats, tie: float) -> Floats:
    """Davidson's chances (..., B better / tie / A better) of a pair whose first model is stronger by `gap`."""
    half = np.asarray(gap) / 2
    parts = np.stack([np.exp(-half), np.full_like(half, tie), np.exp(half)], axis=-1)
    return np.asarray(parts / parts.sum(axis=-1, keepdims=True))


def cut_points(chances: Floats) -> tuple[Floats, Floats]:
    """Where the hidden value turns from "B" to "tie" and from "tie" to "A"."""
    return np.asarray(norm.ppf(chances[..., 0])), np.asarray(norm.ppf(1 - chances[..., 2]))


def hidden_correlation(votes: float, ties: float) -> float:
    """The correlation r of hidden values at which two votes (1, 0, -1) on equal models, with so many ties, correlate by `votes`.

    With the cuts at c and -c the votes' covariance grows with r by the sum of the bivariate normal densities at the four corners
    (Plackett 1954, Biometrika 41:351-360); r = sin(angle) makes that
        d covariance / d angle = (exp(-c^2 / (1 + r)) + exp(-c^2 / (1 - r))) / pi,
    which without ties (c = 0) is the arcsine law.

    >>> round(hidden_correlation(0.4, 0.0), 4), round(float(np.sin(0.4 * np.pi / 2)), 4)
    (0.5878, 0.5878)
    """
    cut = float(norm.ppf((1 + ties) / 2))

    def growth(angle: float) -> float:
        r = np.sin(angle)
        return float(np.exp(-(cut**2) / (1 + r)) + np.exp(-(cut**2) / (1 - r))) / np.pi

    angle = brentq(lambda top: quad(growth, 0, top)[0] / (1 - ties) - votes, 0, (1 - 1e-6) * np.pi / 2)
    return float(np.sin(angle))


def drawn_votes(
    model: VoteModel,
    rng: np.random.Generator,
    studies: int,
    scenes: int,
    raters: int,
    clips: Floats | None = None,
    tastes: float = 0.0,
) -> NDArray[np.int8]:
    """Votes (studies x scenes x pairs x raters): 1 is for the pair's first model, 0 a tie, -1 for the second.

    `clips` (studies x scenes x models) are the clips' own deviations, where the caller needs to know them. `tastes` is the standard
    deviation of what each rater adds to a model's log strength, in every scene alike.
    """
    a, b = model.pairs
    if clips is None:
        clips = rng.standard_normal((studies, scenes, len(model.strengths)))
    shared = np.sqrt(model.agreement / 2) * (clips[..., a] - clips[..., b])
    hidden = shared[..., None] + np.sqrt(1 - model.agreement) * rng.standard_normal((*shared.shape, raters))
    chances = model.chances[:, None]
    if tastes:
        own = tastes * rng.standard_normal((studies, 1, raters, len(model.strengths)))
        gaps = model.gaps(np.asarray(model.strengths) + own).swapaxes(-1, -2)
        chances = outcome_chances(gaps, model.tie)
    low, high = cut_points(chances)
    return np.asarray((hidden > high).astype(np.int8) - (hidden < low).astype(np.int8))


def majority_signs(votes: NDArray[np.int8]) -> tuple[Codes, Flags]:
    """(label, decided) of the last axis: what more than half of the votes say; without such a majority the label is 0."""
    raters = votes.shape[-1]
    first, second = (votes == 1).sum(axis=-1), (votes == -1).sum(axis=-1)
    signs = (first > raters / 2).astype(np.int64) - (second > raters / 2).astype(np.int64)
    return signs, (signs != 0) | (raters - first - second > raters / 2)
