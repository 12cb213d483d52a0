"""Dawid and Skene's fit against plain EM written here, run for 20,000 steps; annotators are not accused by rounding."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.stats import dawid_skene, proportion


def plain_em(votes: np.ndarray, q: int, steps: int) -> tuple[float, np.ndarray, np.ndarray]:
    """(log-likelihood, prevalence, confusion) of EM without any shortcut; `votes` are codes, -1 is a missing vote."""
    cast = (votes[:, :, None] == np.arange(q)).astype(float)
    hidden = cast.sum(axis=1) / cast.sum(axis=(1, 2))[:, None]
    for _ in range(steps):
        prevalence = hidden.mean(axis=0)
        counts = np.einsum("ik,ijl->jkl", hidden, cast)
        confusion = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1e-300)
        with np.errstate(divide="ignore"):
            logs = np.log(prevalence) + np.einsum("ijl,jkl->ik", cast, np.maximum(np.log(confusion), -1e3))
        top = logs.max(axis=1, keepdims=True)
        joint = np.exp(logs - top)
        likelihood = float((np.log(joint.sum(axis=1)) + top[:, 0]).sum())
        hidden = joint / joint.sum(axis=1, keepdims=True)
    return likelihood, prevalence, confusion


def random_votes(seed: int) -> tuple[np.ndarray, int]:
    rng = np.random.default_rng(seed)
    n, m, q = int(rng.integers(15, 60)), int(rng.integers(2, 5)), int(rng.integers(2, 4))
    truth = rng.integers(0, q, n)
    votes = np.where(rng.random((n, m)) < rng.uniform(0.4, 0.9), truth[:, None], rng.integers(0, q, (n, m)))
    votes[rng.random((n, m)) < 0.15] = -1
    return votes[(votes >= 0).any(axis=1)], q


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 7])
def test_the_fit_without_smoothing_reaches_the_maximum_of_twenty_thousand_plain_steps(seed):
    votes, q = random_votes(seed)
    model = dawid_skene(np.where(votes >= 0, votes, np.nan), list(range(q)), smoothing=0)
    likelihood, prevalence, confusion = plain_em(votes, q, 20_000)
    assert model.converged
    assert model.log_likelihood == pytest.approx(likelihood, abs=1e-8)
    np.testing.assert_allclose(model.prevalence, prevalence, atol=1e-6)
    np.testing.assert_allclose(model.confusion["probability"], confusion.ravel(), atol=1e-6)


def test_a_fit_that_is_cut_short_does_not_say_converged():
    votes, q = random_votes(0)
    model = dawid_skene(np.where(votes >= 0, votes, np.nan), list(range(q)), smoothing=0, max_iterations=20)
    assert not model.converged


@pytest.mark.parametrize("n", [3, 10, 31])
def test_wilsons_interval_of_a_full_share_reaches_one(n):
    assert proportion("all", n, n).high == 1.0
    assert proportion("none", 0, n).low == 0.0
