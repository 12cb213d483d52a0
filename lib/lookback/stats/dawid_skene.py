"""Dawid & Skene's model of annotator quality: each annotator has a confusion matrix, each item a hidden true label.

EM on: P(vote l of annotator j | true k) = pi_jkl, P(true k) = p_k. Source: Dawid & Skene (1979), Appl. Statist. 28:20-28.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.codes import MISSING, check_categories, rating_codes


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


def dawid_skene(
    ratings: pd.DataFrame | ArrayLike,
    categories: Sequence[Any],
    *,
    smoothing: float = 0.01,
    tolerance: float = 1e-8,
    max_iterations: int = 2000,
) -> DawidSkene:
    """Fit by EM from the vote shares; `ratings` is items x raters, or items x raters x categories counts of repeated votes.

    `smoothing` votes are added to every cell of a confusion matrix so that a label an annotator never used keeps a chance;
    0 is plain maximum likelihood. `accuracy` weighs each annotator's diagonal by prevalence.
    """
    declared = check_categories(categories)
    votes = _votes(ratings, declared)
    if len(np.unique(votes.rater)) < 2 or not votes.shared:
        raise NotScorable(Reason.TOO_FEW_VALUES, "annotator quality needs items that two or more annotators voted on")
    n, m, q = len(votes.items), len(votes.raters), len(declared)
    shares = np.bincount(votes.item * q + votes.label, weights=votes.count, minlength=n * q).reshape(n, q)
    posterior = shares / shares.sum(axis=1, keepdims=True)
    confusion, prevalence = np.zeros((m, q, q)), np.zeros(q)
    previous, converged, iterations, likelihood = -np.inf, False, 0, -np.inf
    while not converged and iterations < max_iterations:
        iterations += 1
        prevalence = posterior.mean(axis=0)
        confusion = _confusions(votes, posterior, m, q, smoothing)
        with np.errstate(divide="ignore"):
            log_votes = np.maximum(np.log(confusion), -1e3)[votes.rater, :, votes.label] * votes.count[:, None]
            log_joint = np.log(prevalence) + np.stack([np.bincount(votes.item, column, n) for column in log_votes.T], axis=1)
        peak = log_joint.max(axis=1, keepdims=True)
        joint = np.exp(log_joint - peak)
        likelihood = float((np.log(joint.sum(axis=1)) + peak[:, 0]).sum())
        posterior = joint / joint.sum(axis=1, keepdims=True)
        converged = abs(likelihood - previous) < tolerance * max(1.0, abs(likelihood))
        previous = likelihood
    return _tables(posterior, confusion, prevalence, votes, declared, likelihood, iterations, converged)


@dataclass(frozen=True)
class _Votes:
    """Votes one by one: item, rater and label as codes, and how often that vote was given."""

    item: NDArray[np.int64]
    rater: NDArray[np.int64]
    label: NDArray[np.int64]
    count: NDArray[np.float64]
    items: pd.Index
    raters: pd.Index

    @property
    def shared(self) -> bool:
        """Is there an item that two raters voted on?"""
        once = np.unique(self.item * len(self.raters) + self.rater) // len(self.raters)
        return bool((np.bincount(once) >= 2).any())


def _confusions(votes: _Votes, posterior: NDArray[np.float64], m: int, q: int, smoothing: float) -> NDArray[np.float64]:
    cell = votes.rater * q + votes.label
    expected = [np.bincount(cell, posterior[votes.item, k] * votes.count, m * q).reshape(m, q) for k in range(q)]
    confusion = np.stack(expected, axis=1) + smoothing
    with np.errstate(invalid="ignore", divide="ignore"):
        confusion /= confusion.sum(axis=2, keepdims=True)
    # an annotator who never met a true label has no row for it: any vote is as likely
    return np.nan_to_num(confusion, nan=1 / q)


def _votes(ratings: Any, declared: list[Any]) -> _Votes:
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


def _tables(
    posterior: NDArray[np.float64],
    confusion: NDArray[np.float64],
    prevalence: NDArray[np.float64],
    votes: _Votes,
    declared: list[Any],
    likelihood: float,
    iterations: int,
    converged: bool,
) -> DawidSkene:
    raters = votes.raters
    accuracy = pd.DataFrame(
        {
            "annotator": raters,
            "n_votes": np.bincount(votes.rater, votes.count, len(raters)).astype(int),
            "accuracy": (np.einsum("jkk->jk", confusion) * prevalence).sum(axis=1),
        }
    )
    index = pd.MultiIndex.from_product([raters, declared, declared], names=["annotator", "true_label", "voted_label"])
    tidy = pd.DataFrame({"probability": confusion.ravel()}, index=index).reset_index()
    return DawidSkene(
        pd.DataFrame(posterior, index=votes.items, columns=pd.Index(declared)),
        tidy,
        pd.Series(prevalence, index=pd.Index(declared), name="prevalence"),
        accuracy,
        likelihood,
        iterations,
        converged,
    )
