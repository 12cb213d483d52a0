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
from lookback.stats.codes import check_categories, rating_codes


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
    counts, items, raters = _vote_cube(ratings, declared)
    if (counts.sum(axis=(0, 2)) > 0).sum() < 2 or not ((counts.sum(axis=2) > 0).sum(axis=1) >= 2).any():
        raise NotScorable(Reason.TOO_FEW_VALUES, "annotator quality needs items that two or more annotators voted on")
    shares = counts.sum(axis=1)
    posterior = shares / shares.sum(axis=1, keepdims=True)
    previous, converged, iterations, likelihood = -np.inf, False, 0, -np.inf
    while not converged and iterations < max_iterations:
        iterations += 1
        prevalence = posterior.mean(axis=0)
        confusion = np.einsum("ik,ijl->jkl", posterior, counts) + smoothing
        with np.errstate(invalid="ignore", divide="ignore"):
            confusion /= confusion.sum(axis=2, keepdims=True)
        confusion = np.nan_to_num(confusion, nan=1 / len(declared))
        with np.errstate(divide="ignore"):
            log_joint = np.log(prevalence) + np.einsum("ijl,jkl->ik", counts, np.maximum(np.log(confusion), -1e3))
        peak = log_joint.max(axis=1, keepdims=True)
        joint = np.exp(log_joint - peak)
        likelihood = float((np.log(joint.sum(axis=1)) + peak[:, 0]).sum())
        posterior = joint / joint.sum(axis=1, keepdims=True)
        converged = abs(likelihood - previous) < tolerance * max(1.0, abs(likelihood))
        previous = likelihood
    return _tables(posterior, confusion, prevalence, counts, items, raters, declared, likelihood, iterations, converged)


def _vote_cube(ratings: Any, declared: list[Any]) -> tuple[NDArray[np.float64], pd.Index, pd.Index]:
    if isinstance(ratings, np.ndarray) and ratings.ndim == 3:
        if ratings.shape[2] != len(declared):
            raise UsageError(f"counts have {ratings.shape[2]} categories, {len(declared)} are declared")
        counts = ratings.astype(float)
        items, raters = pd.RangeIndex(len(counts)), pd.RangeIndex(counts.shape[1])
    else:
        codes = rating_codes(ratings, declared)
        counts = (codes[:, :, None] == np.arange(len(declared))).astype(float)
        frame = ratings if isinstance(ratings, pd.DataFrame) else pd.DataFrame(codes)
        items, raters = frame.index, frame.columns
    voted = counts.sum(axis=(1, 2)) > 0
    return counts[voted], items[voted], raters


def _tables(
    posterior: NDArray[np.float64],
    confusion: NDArray[np.float64],
    prevalence: NDArray[np.float64],
    counts: NDArray[np.float64],
    items: pd.Index,
    raters: pd.Index,
    declared: list[Any],
    likelihood: float,
    iterations: int,
    converged: bool,
) -> DawidSkene:
    accuracy = pd.DataFrame(
        {
            "annotator": raters,
            "n_votes": counts.sum(axis=(0, 2)).astype(int),
            "accuracy": (np.einsum("jkk->jk", confusion) * prevalence).sum(axis=1),
        }
    )
    index = pd.MultiIndex.from_product([raters, declared, declared], names=["annotator", "true_label", "voted_label"])
    tidy = pd.DataFrame({"probability": confusion.ravel()}, index=index).reset_index()
    return DawidSkene(
        pd.DataFrame(posterior, index=items, columns=pd.Index(declared)),
        tidy,
        pd.Series(prevalence, index=pd.Index(declared), name="prevalence"),
        accuracy,
        likelihood,
        iterations,
        converged,
    )
