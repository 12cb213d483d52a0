"""Bring checked votes into the form of the statistics: items x votes, and one consensus label per item."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.agreement.plan import Plan
from lookback.stats import majority_vote

ITEM_COLUMNS = ["family", "kind", "role", "benchmark", "setting", "dimension", "question", "scene"]
SIDE_COLUMNS = ["model_a", "clip_a", "model_b", "clip_b"]


def packed_matrix(votes: pd.DataFrame) -> pd.DataFrame:
    """Items x votes in order of arrival, indexed by item. For statistics that do not need to know who voted."""
    position = votes.groupby("item").cumcount()
    return votes.assign(position=position).pivot(index="item", columns="position", values="label")


def annotator_matrix(votes: pd.DataFrame) -> pd.DataFrame:
    """Items x annotators, indexed by item."""
    return votes.pivot(index="item", columns="annotator", values="label")


def both_orders(matrix: pd.DataFrame) -> pd.DataFrame:
    """Preferences (signs) with every pair added in the other order, so that it does not matter which clip is called A."""
    signs = matrix.astype(float)
    return pd.concat([signs, -signs])


def clusters_of(votes: pd.DataFrame, index: pd.Index, cluster: str) -> np.ndarray:
    """The cluster (its scene, or the item itself) of each item in `index`."""
    if cluster == "item":
        return index.to_numpy()
    return votes.drop_duplicates("item").set_index("item")[cluster].loc[index].to_numpy(dtype=object)


def consensus(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """One row per item with its majority label under the plan's rule, n_votes, share, status; label None where excluded."""
    parts = []
    for family, own in votes.groupby("family", sort=True):
        kind = plan.families[str(family)].kind
        split = 0 if plan.majority.split == "tie" and kind == "preference" else None
        decided = majority_vote(
            packed_matrix(own),
            plan.categories(str(family)),
            rule=plan.majority.rule,
            split=split,
            min_votes=plan.majority.min_votes,
        )
        described = own.drop_duplicates("item").set_index("item")[[*ITEM_COLUMNS, *SIDE_COLUMNS]]
        parts.append(described.join(decided).reset_index())
    return pd.concat(parts, ignore_index=True)


def analysis_units(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Labels to compare with the metric, with `cluster`: one row per item (aggregate: majority) or vote (aggregate: votes)."""
    if plan.aggregate == "majority":
        units = consensus(votes, plan)
    else:
        units = votes[["item", *ITEM_COLUMNS, *SIDE_COLUMNS, "annotator", "label"]].assign(n_votes=1, share=1.0, status="vote")
    if plan.clusters.metric == "item":
        return units.assign(cluster=units["item"].astype(str))
    return units.assign(cluster=units[plan.clusters.metric])
