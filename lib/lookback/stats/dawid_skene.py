"""Dawid and Skene's model of annotators: a confusion matrix per annotator, a hidden true label per item.

Each annotator j has a confusion matrix P(vote l | true k) = pi_jkl, each item a hidden true label with P(true k) = p_k.
Source: Dawid & Skene (1979), Appl. Statist. 28:20-28.

EM climbs slowly near a bound (a label that an annotator never gives), so a small gain of one step does not show that the maximum
is near. Two things are done about that. Steps are lengthened along the path of the last two (SQUAREM, Varadhan & Roland 2008,
Scand. J. Stat. 35:335-353) and taken only where the likelihood does not fall. The fit ends when the gain that is still to come,
extrapolated from how the gains of plain EM steps shrink, is negligible (Aitken's criterion; Boehning et al. 1994, Ann. Inst. Stat.
Math. 46:373-388).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.ratings import MISSING, Codes, Floats, Label, Ratings, check_categories, rating_codes

# plain EM steps before any step is lengthened: they choose the hill that is climbed
FIRST_STEPS = 30
# a lengthened step divides a probability by at most this: zero would be final
SHRINK = 100.0
# the logarithm of an impossible vote
IMPOSSIBLE = -1e3


@dataclass(frozen=True)
class DawidSkene:
    """The fitted model: hidden-label probabilities per item, confusion per annotator, prevalence, and how the fit went."""

    posterior: pd.DataFrame
    confusion: pd.DataFrame
    prevalence: pd.Series
    accuracy: pd.DataFrame
    log_likelihood: float
    iterations: int
    converged: bool


@dataclass(frozen=True)
class _Votes:
    """Votes one by one: item, rater and label as codes, and how often that vote was given."""

    item: Codes
    rater: Codes
    label: Codes
    count: Floats
    items: pd.Index
    raters: pd.Index

    @property
    def shared(self) -> bool:
        """Is there an item that two raters voted on?"""
        once = np.unique(self.item * len(self.raters) + self.rater) // len(self.raters)
        return bool((np.bincount(once) >= 2).any())


@dataclass(frozen=True)
class _State:
    """Parameters, and what they say about the items: `objective` is the log-likelihood plus the smoothing's share."""

    prevalence: Floats
    confusion: Floats
    posterior: Floats
    likelihood: float
    objective: float


def dawid_skene(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    smoothing: float = 0.01,
    tolerance: float = 1e-9,
    max_iterations: int = 20_000,
) -> DawidSkene:
    """Fit by EM from the vote shares; `ratings` is items x raters, or items x raters x categories counts of repeated votes.

    `smoothing` votes are added to every cell of a confusion matrix so that a label an annotator never used keeps a chance;
    0 is plain maximum likelihood. `tolerance` is the gain in log-likelihood that may be left. `accuracy` weighs each annotator's
    diagonal by prevalence.
    """
    declared = check_categories(categories)
    votes = _votes(ratings, declared)
    if len(np.unique(votes.rater)) < 2 or not votes.shared:
        raise NotScorable(Reason.TOO_FEW_VALUES, "annotator quality needs items that two or more annotators voted on")
    state, iterations, converged = _climb(_Model(votes, len(declared), smoothing), tolerance, max_iterations)
    return _tables(state, votes, declared, iterations, converged)


class _Model:
    """One EM step of the votes, and the objective that it raises."""

    def __init__(self, votes: _Votes, q: int, smoothing: float):
        self.votes, self.q, self.smoothing = votes, q, smoothing
        self.shape = (len(votes.raters), q, q)

    def start(self) -> _State:
        votes, n = self.votes, len(self.votes.items)
        shares = np.bincount(votes.item * self.q + votes.label, weights=votes.count, minlength=n * self.q).reshape(n, self.q)
        return self.fitted(shares / shares.sum(axis=1, keepdims=True))

    def fitted(self, posterior: Floats) -> _State:
        """The best parameters for these hidden labels (M step), and what they say about the items (E step)."""
        votes, (m, q, _) = self.votes, self.shape
        cell = votes.rater * q + votes.label
        expected = [np.bincount(cell, posterior[votes.item, k] * votes.count, m * q).reshape(m, q) for k in range(q)]
        confusion = np.stack(expected, axis=1) + self.smoothing
        total = confusion.sum(axis=2, keepdims=True)
        # no data for this true label and annotator: all votes are equally likely
        confusion = np.divide(confusion, total, out=np.full(self.shape, 1 / q), where=total > 0)
        return self.seen(posterior.mean(axis=0), confusion)

    def seen(self, prevalence: Floats, confusion: Floats) -> _State:
        votes, n = self.votes, len(self.votes.items)
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(confusion), IMPOSSIBLE)
            log_votes = logs[votes.rater, :, votes.label] * votes.count[:, None]
            log_joint = np.log(prevalence) + np.stack([np.bincount(votes.item, column, n) for column in log_votes.T], axis=1)
        peak = log_joint.max(axis=1, keepdims=True)
        joint = np.exp(log_joint - peak)
        likelihood = float((np.log(joint.sum(axis=1)) + peak[:, 0]).sum())
        posterior = joint / joint.sum(axis=1, keepdims=True)
        return _State(prevalence, confusion, posterior, likelihood, likelihood + self.smoothing * float(logs.sum()))

    def lengthened(self, first: _State, second: _State, third: _State) -> _State:
        """The state one SQUAREM step ahead of three successive ones; `third` where its likelihood would fall."""
        parts = [(getattr(first, p), getattr(second, p), getattr(third, p)) for p in ("prevalence", "confusion")]
        moved = np.concatenate([(b - a).ravel() for a, b, _ in parts])
        bent = np.concatenate([(c - 2 * b + a).ravel() for a, b, c in parts])
        if not (bent**2).sum() > 0:
            return third
        length = max(1.0, float(np.sqrt((moved**2).sum() / (bent**2).sum())))
        ahead = []
        for a, b, c in parts:
            value = np.maximum(a + 2 * length * (b - a) + length**2 * (c - 2 * b + a), c / SHRINK)
            ahead.append(value / value.sum(axis=-1, keepdims=True))
        step = self.fitted(self.seen(ahead[0], ahead[1]).posterior)
        return step if step.objective >= third.objective else third


def _climb(model: _Model, tolerance: float, max_iterations: int) -> tuple[_State, int, bool]:
    """(best state, EM steps, whether no more than `tolerance` is left to gain)."""
    state, steps = model.start(), 1
    while steps < max_iterations:
        second = model.fitted(state.posterior)
        third = model.fitted(second.posterior)
        steps += 2
        if _left(second.objective - state.objective, third.objective - second.objective) < tolerance:
            return third, steps, True
        if steps > FIRST_STEPS:
            third, steps = model.lengthened(state, second, third), steps + 1
        state = third
    return state, steps, False


def _left(before: float, last: float) -> float:
    """What is still to gain when gains shrink by the same factor at each step; infinite when they do not shrink."""
    if last <= 0 or before <= 0:
        return abs(last)  # rounding: both are at the top
    return last * last / (before - last) if last < before else np.inf


def _votes(ratings: Ratings, declared: list[Label]) -> _Votes:
    if isinstance(ratings, np.ndarray) and ratings.ndim == 3:
        if ratings.shape[2] != len(declared):
            raise UsageError(f"counts have {ratings.shape[2]} categories, {len(declared)} are declared")
        item, rater, label = np.nonzero(ratings)
        count = ratings[item, rater, label].astype(float)
        items, raters = pd.RangeIndex(len(ratings)), pd.RangeIndex(ratings.shape[1])
    else:
        codes = rating_codes(ratings, declared)
        item, rater = np.nonzero(codes != MISSING)
        label, count = codes[item, rater], np.ones(len(item))
        frame = ratings if isinstance(ratings, pd.DataFrame) else pd.DataFrame(codes)
        items, raters = frame.index, frame.columns
    voted, item = np.unique(item, return_inverse=True)
    return _Votes(item, rater, label, count, items[voted], raters)


def _tables(state: _State, votes: _Votes, declared: list[Label], iterations: int, converged: bool) -> DawidSkene:
    raters = votes.raters
    accuracy = pd.DataFrame(
        {
            "annotator": raters,
            "n_votes": np.bincount(votes.rater, votes.count, len(raters)).astype(int),
            "accuracy": (np.einsum("jkk->jk", state.confusion) * state.prevalence).sum(axis=1),
        }
    )
    index = pd.MultiIndex.from_product([raters, declared, declared], names=["annotator", "true_label", "voted_label"])
    tidy = pd.DataFrame({"probability": state.confusion.ravel()}, index=index).reset_index()
    return DawidSkene(
        pd.DataFrame(state.posterior, index=votes.items, columns=pd.Index(declared)),
        tidy,
        pd.Series(state.prevalence, index=pd.Index(declared), name="prevalence"),
        accuracy,
        state.likelihood,
        iterations,
        converged,
    )
