"""Paired Wilcoxon signed-rank test with effect size and an interval for the shift (WRBench figure 6's stars).

Up to 50 non-zero differences the p is exact, ties included: the distribution of W+ over all sign flips of the observed mid-ranks,
by convolution. Above, scipy's normal approximation. Zero differences are dropped (Wilcoxon's own rule) and counted; the shift and
its interval leave them out too, as R's wilcox.test does, so that test and interval speak of the same differences.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from lookback.errors import NotScorable, Reason, UsageError

EXACT_DIFFERENCES = 50


@dataclass(frozen=True)
class PairedTest:
    """Signed-rank test of differences x - y.

    `rank_biserial` = (W+ - W-)/(W+ + W-) in [-1, 1] (Kerby 2014). `shift` is the Hodges-Lehmann median of pairwise means with
    the interval that inverts the test; `low`, `high` are None when so few differences cannot give that confidence.
    """

    n: int
    n_zero: int
    w_plus: float
    p: float
    rank_biserial: float
    mean: float
    shift: float
    low: float | None
    high: float | None
    exact: bool
    smallest_p: float
    confidence: float = 0.95

    def as_row(self) -> dict[str, Any]:
        """The fields as one table row."""
        return asdict(self)


def paired_wilcoxon(x: ArrayLike, y: ArrayLike | None = None, *, confidence: float = 0.95) -> PairedTest:
    """Two-sided test that the paired differences x - y (or x itself) are symmetric about zero.

    >>> round(paired_wilcoxon([1.83, 0.50, 1.62, 2.48, 1.68], [0.878, 0.647, 0.598, 2.05, 1.06]).p, 4)
    0.125
    """
    first = np.asarray(x, dtype=float)
    differences = first if y is None else first - np.asarray(y, dtype=float)
    if differences.ndim != 1:
        raise UsageError(f"paired differences must be one list, got shape {differences.shape}")
    if not np.isfinite(differences).all():
        raise UsageError("paired differences must be finite; drop incomplete pairs first and report how many there were")
    kept = differences[differences != 0]
    n = len(kept)
    if n == 0:
        raise NotScorable(Reason.UNDEFINED, f"all {len(differences)} paired differences are zero or there are none")
    ranks = stats.rankdata(np.abs(kept))
    w_plus = float(ranks[kept > 0].sum())
    total = float(ranks.sum())
    exact = n <= EXACT_DIFFERENCES
    if exact:
        distribution = _sign_flip_distribution(ranks)
        p = _two_sided(distribution, round(2 * w_plus))
    else:
        p = float(stats.wilcoxon(kept, method="asymptotic").pvalue)
    low, high = _shift_interval(kept, ranks if exact else None, confidence)
    return PairedTest(
        n=len(differences),
        n_zero=len(differences) - n,
        w_plus=w_plus,
        p=p,
        rank_biserial=(2 * w_plus - total) / total,
        mean=float(differences.mean()),
        shift=float(np.median(_walsh(kept))),
        low=low,
        high=high,
        exact=exact,
        smallest_p=min(1.0, 2.0 ** (1 - n)),
        confidence=confidence,
    )


def _sign_flip_distribution(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(2 W+ = k) when every mid-rank keeps or loses its sign with probability 1/2 (doubled ranks are whole numbers)."""
    doubled = np.rint(2 * ranks).astype(int)
    probability = np.zeros(int(doubled.sum()) + 1)
    probability[0] = 1.0
    for step in doubled:
        moved = np.zeros_like(probability)
        moved[step:] = probability[: len(probability) - step]
        probability = (probability + moved) / 2
    return probability


def _two_sided(distribution: NDArray[np.float64], observed: int) -> float:
    centre = (len(distribution) - 1) / 2
    distance = np.abs(np.arange(len(distribution)) - centre)
    return float(min(1.0, distribution[distance >= abs(observed - centre) - 1e-9].sum()))


def _walsh(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    i, j = np.triu_indices(len(differences))
    return (differences[i] + differences[j]) / 2


def _shift_interval(
    differences: NDArray[np.float64], ranks: NDArray[np.float64] | None, confidence: float
) -> tuple[float | None, float | None]:
    """Order statistics of the pairwise means cut off where the signed-rank test would reject (Hodges & Lehmann 1963)."""
    n = len(differences)
    walsh = np.sort(_walsh(differences))
    alpha = 1 - confidence
    if ranks is not None:
        cumulative = np.cumsum(_sign_flip_distribution(np.arange(1, n + 1, dtype=float)))[::2]
        cut = int(np.searchsorted(cumulative, alpha / 2, side="right"))
    else:
        spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        cut = int(np.floor(n * (n + 1) / 4 - stats.norm.ppf(1 - alpha / 2) * spread))
    if cut < 1:
        return None, None
    return float(walsh[cut - 1]), float(walsh[len(walsh) - cut])
