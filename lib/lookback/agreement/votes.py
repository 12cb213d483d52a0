"""Bring checked votes into the form of the statistics: items x votes, and one consensus label per item."""

from __future__ import annotations

from typing import Any

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
    """One row per item: label, n_votes, share, status; label None where excluded.

    The label is the majority under the plan's rule; of ratings it is the mean, and `share` is that of the most frequent rating.
    """
    parts = []
    for family, own in votes.groupby("family", sort=True):
        kind = plan.families[str(family)].kind
        if kind == "rating":
            parts.append(_described(own).join(_means(own, plan)).reset_index())
            continue
        split = 0 if plan.majority.split == "tie" and kind == "preference" else None
        decided = majority_vote(
            packed_matrix(own),
            plan.categories(str(family)),
            rule=plan.majority.rule,
            split=split,
            min_votes=plan.majority.min_votes,
        )
        parts.append(_described(own).join(decided).reset_index())
    return pd.concat(parts, ignore_index=True)


def _described(votes: pd.DataFrame) -> pd.DataFrame:
    return votes.drop_duplicates("item").set_index("item")[[*ITEM_COLUMNS, *SIDE_COLUMNS]]


def _means(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    groups = votes.assign(label=votes["label"].astype(float)).groupby("item")["label"]
    n_votes = groups.size()
    enough = n_votes >= plan.majority.min_votes
    most = votes.groupby(["item", "label"]).size().groupby("item").max()
    label = groups.mean().astype(object).where(enough, None)
    status = pd.Series(np.where(enough, "mean", "too_few_votes"), index=n_votes.index)
    return pd.DataFrame({"label": label, "n_votes": n_votes, "share": most / n_votes, "status": status})


def judgeable_votes(votes: pd.DataFrame, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(votes that stay, votes left out): items are left out where the plan's judgeability family says no to a clip or to the pair.

    An item without a majority in that family stays.
    """
    declared = {
        (name, d): axis.judgeable for name, f in plan.families.items() for d, axis in f.dimensions.items() if axis.judgeable
    }
    answers = votes[votes["family"].isin(set(declared.values()))]
    if answers.empty:
        return votes, votes.head(0)
    decided = consensus(answers, plan)
    refused = {
        (row.family, row.benchmark, row.setting, row.dimension, _shown(row))
        for row in decided[decided["label"] == "no"].itertuples()
    }
    left_out = []
    for row in votes.itertuples():
        source, pair = declared.get((row.family, row.dimension)), _shown(row)
        keys = [
            (source, row.benchmark, row.setting, row.dimension, clips) for clips in (pair, *(frozenset({clip}) for clip in pair))
        ]
        left_out.append(source is not None and any(key in refused for key in keys))
    out = np.array(left_out, dtype=bool)
    return votes[~out].reset_index(drop=True), votes[out]


def _shown(row: Any) -> frozenset[tuple[str, str]]:
    """The clips an item shows, whatever their order."""
    return frozenset({(row.model_a, row.clip_a), (row.model_b, row.clip_b)} - {("", "")})


def analysis_units(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Labels to compare with the metric, with `cluster`: one row per item (aggregate: majority) or vote (aggregate: votes).

    Ratings are always compared by their item's mean.
    """
    if plan.aggregate == "majority":
        units = consensus(votes, plan)
    else:
        rated = votes["kind"] == "rating"
        columns = ["item", *ITEM_COLUMNS, *SIDE_COLUMNS, "annotator", "label"]
        parts = [votes.loc[~rated, columns].assign(n_votes=1, share=1.0, status="vote")]
        if rated.any():
            parts.append(consensus(votes[rated], plan).assign(annotator=""))
        units = pd.concat(parts, ignore_index=True)
    if plan.clusters.metric == "item":
        return units.assign(cluster=units["item"].astype(str))
    return units.assign(cluster=units[plan.clusters.metric])
