"""Votes as numbers: declared categories, labels as codes, preferences as signs, majority votes.

Categories are declared, never guessed from the votes: a category that nobody used still belongs to the scale, and
chance-corrected coefficients depend on it (AC1 of the same yes/no votes differs between a 2-, 3- and 5-category scale).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lookback.errors import ContractError, UsageError

MISSING = -1
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Label = Hashable  # a category: a word or a number
Ratings: TypeAlias = pd.DataFrame | ArrayLike  # items x raters
SIGNS: dict[str | int, int] = {"a": 1, "tie": 0, "b": -1, "1": 1, "0": 0, "-1": -1, 1: 1, 0: 0, -1: -1}
Rule = Literal["majority", "plurality"]
# 0.52 - 0.50 is above 0.02 by rounding: a difference this little above tau, beside tau, is tau
SLACK = 1e-9


def check_categories(categories: Sequence[Label]) -> list[Label]:
    """The declared categories as a list; fewer than two, repeated or missing ones are a wrong call."""
    if isinstance(categories, str):
        raise UsageError(f"categories must be a sequence of labels, got the single string {categories!r}; pass for example [0, 1]")
    declared = list(categories)
    if len(declared) < 2:
        raise UsageError(f"a rating scale has at least two categories, got {declared}; declare the whole scale, used or not")
    if len(set(declared)) != len(declared) or any(pd.isna(c) for c in declared):
        raise UsageError(f"categories must be distinct and not missing, got {declared}")
    return declared


def _as_labels(labels: ArrayLike) -> NDArray[Any]:
    """Labels as an array; words stay objects, since numpy would make the word "nan" of a missing one among them."""
    values = np.asarray(labels)
    return np.asarray(labels, dtype=object) if values.dtype.kind == "U" else values


def code_labels(labels: ArrayLike, categories: Sequence[Label]) -> Codes:
    """Labels of any shape as positions in `categories`; missing (None, NaN) becomes -1, anything else unknown is an error."""
    declared = check_categories(categories)
    values = _as_labels(labels)
    numeric = values.dtype.kind in "iuf" and all(isinstance(c, Real) for c in declared)
    kind = float if numeric else object
    flat = values.ravel().astype(kind)
    codes = np.asarray(pd.Index(declared, dtype=kind).get_indexer(pd.Index(flat, dtype=kind)), dtype=np.int64)
    unknown = (codes == MISSING) & ~pd.isna(flat)
    if unknown.any():
        examples = sorted({repr(v) for v in flat[unknown][:50].tolist()})[:5]
        raise ContractError(
            f"{int(unknown.sum())} label(s) outside the declared scale {declared}: {', '.join(examples)}; "
            "correct the labels or declare the scale they were given on"
        )
    return codes.reshape(values.shape)


def rating_codes(ratings: Ratings, categories: Sequence[Label]) -> Codes:
    """An items x raters table as codes, with -1 where a rater did not vote on an item."""
    values = ratings.to_numpy() if isinstance(ratings, pd.DataFrame) else _as_labels(ratings)
    if values.ndim != 2:
        raise UsageError(f"ratings must be a table of items x raters, got an array of shape {values.shape}")
    return code_labels(values, categories)


def vote_counts(codes: Codes, n_categories: int) -> Floats:
    """How many raters put item i into category k, items x categories."""
    return np.stack([(codes == k).sum(axis=1) for k in range(n_categories)], axis=1).astype(float)


def category_values(categories: Sequence[Label]) -> Floats:
    """The categories as numbers: themselves where all are numeric, otherwise their position in the declared order."""
    numbers = [float(c) for c in categories if isinstance(c, int | float | np.integer | np.floating) and not isinstance(c, bool)]
    if len(numbers) == len(categories):
        return np.array(numbers)
    return np.arange(1, len(categories) + 1, dtype=float)


def cluster_codes(clusters: ArrayLike | None, n: int) -> Codes:
    """Cluster of each unit as 0..G-1 in the order of their names, so that resampling does not depend on the order of the rows."""
    if clusters is None:
        return np.arange(n)
    values = pd.Series(np.asarray(clusters, dtype=object))
    if len(values) != n:
        raise UsageError(f"clusters must name one cluster per unit: {n} units, {len(values)} cluster labels")
    if values.isna().any():
        raise ContractError(f"{int(values.isna().sum())} unit(s) have no cluster; every unit must belong to one")
    try:
        return np.asarray(pd.factorize(values, sort=True)[0], dtype=np.int64)
    except TypeError:
        return np.asarray(pd.factorize(values.astype(str), sort=True)[0], dtype=np.int64)


def preference_sign(labels: ArrayLike) -> Codes:
    """Labels "a", "tie", "b" (any case) or 1, 0, -1 (numbers or text) as signs; anything else is an error that names the label."""
    codes, found = pd.factorize(np.asarray(labels, dtype=object), use_na_sentinel=False)
    signs = [SIGNS.get(v.lower() if isinstance(v, str) else v) for v in found]
    bad = sorted({repr(v) for v, sign in zip(found, signs, strict=True) if sign is None})[:5]
    if bad:
        raise ContractError(f"preference labels must be 'a', 'tie', 'b' or 1, 0, -1; found {', '.join(bad)}")
    return np.asarray(np.array(signs, dtype=np.int64)[codes])


def threshold_decision(deltas: ArrayLike, tau: float | Floats) -> Codes:
    """The metric's three-way decision: 1 where delta > tau, -1 where delta < -tau, 0 inside the tie band (WRBench eq. 10).

    >>> threshold_decision([0.52 - 0.50, 0.021, -0.021], 0.02).tolist()
    [0, 1, -1]
    """
    if not np.all(np.asarray(tau) >= 0):
        raise UsageError(f"the tie band tau must be zero or positive, got {tau}")
    values, band = np.asarray(deltas, dtype=float), np.asarray(tau) * (1 + SLACK)
    return (values > band).astype(np.int64) - (values < -band).astype(np.int64)


def majority_vote(
    ratings: Ratings,
    categories: Sequence[Label],
    *,
    rule: Rule = "majority",
    split: Label | None = None,
    min_votes: int = 1,
) -> pd.DataFrame:
    """One row per item of items x raters: label, n_votes, share (of the winning label) and status.

    rule "majority" needs more than half of the item's votes, "plurality" only more than any other label (the same with three
    votes on a three-way scale). Items without a winner have status "split" and no label, unless `split` names the category they
    get (then status "split_as_label"); items under `min_votes` have status "too_few_votes". Label is None where there is none.

    >>> majority_vote([["a", "a", "tie"], ["a", "b", "tie"]], ["a", "tie", "b"])["status"].tolist()
    ['majority', 'split']
    """
    declared = check_categories(categories)
    if rule not in get_args(Rule):
        raise UsageError(f"unknown rule {rule!r}; choose one of {', '.join(get_args(Rule))}")
    if split is not None:
        code_labels(np.array([split], dtype=object), declared)
    counts = vote_counts(rating_codes(ratings, declared), len(declared))
    votes = counts.sum(axis=1)
    top = counts.max(axis=1)
    alone = ((counts == top[:, None]).sum(axis=1) == 1) & (top > 0)
    decided = top > votes / 2 if rule == "majority" else alone
    enough = votes >= max(1, min_votes)
    decided &= enough
    status = np.where(decided, "majority", np.where(enough, "split" if split is None else "split_as_label", "too_few_votes"))
    labels = np.full(len(counts), None, dtype=object)
    winners = np.array(declared, dtype=object)[counts.argmax(axis=1)]
    labels[decided] = winners[decided]
    if split is not None:
        labels[enough & ~decided] = split
    share = np.divide(top, votes, out=np.zeros(len(votes)), where=votes > 0)
    index = ratings.index if isinstance(ratings, pd.DataFrame) else None
    columns = {"label": pd.Series(labels, dtype=object), "n_votes": votes.astype(int), "share": share, "status": status}
    table = pd.DataFrame(columns)
    if index is not None:
        table.index = index
    return table


def confusion_counts(rows: Codes, columns: Codes, q: int) -> Codes:
    """q x q counts of (row code, column code)."""
    return np.bincount(rows * q + columns, minlength=q * q).reshape(q, q)
