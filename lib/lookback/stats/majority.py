"""Majority vote with the papers' rules: MBench takes the label most annotators gave and leaves three-way splits out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lookback.errors import UsageError
from lookback.stats.codes import check_categories, code_labels, rating_codes, vote_counts

Rule = Literal["majority", "plurality"]


def majority_vote(
    ratings: pd.DataFrame | ArrayLike,
    categories: Sequence[Any],
    *,
    rule: Rule = "majority",
    split: Any = None,
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
        code_labels([split], declared)
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
