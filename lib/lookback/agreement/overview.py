"""The design of a study as it was carried out: how much was asked of whom, and what is left out."""

from __future__ import annotations

import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.reading import span
from lookback.agreement.votes import consensus
from lookback.names import counted, listing
from lookback.stats.intervals import FEWEST_CLUSTERS


def design_table(votes: pd.DataFrame, kept: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Per family and setting: kind, dimensions, models, scenes, items, votes, annotators, votes an item, items left out.

    Counts are of all votes; items without a majority are those that have none in `kept`, the votes of annotators who stay.
    """
    labels = consensus(kept, plan).set_index("item")["label"]
    rows = []
    for (family, setting), own in votes.groupby(["family", "setting"], sort=True):
        per_item = own.groupby("item").size()
        models = (set(own["model_a"]) | set(own["model_b"])) - {""}
        rows.append(
            {
                "family": family,
                "setting": setting,
                "kind": plan.families[str(family)].kind,
                "dimensions": own["dimension"].nunique(),
                "models": len(models),
                "scenes": own["scene"].nunique(),
                "fewest_scenes": int(own.groupby("dimension")["scene"].nunique().min()),
                "items": len(per_item),
                "votes": len(own),
                "annotators": own["annotator"].nunique(),
                "votes_per_item": span(per_item.min(), per_item.max()),
                "no_majority": int(labels.reindex(per_item.index).isna().sum()),
                "simulated": int(own["simulated"].sum()),
            }
        )
    return pd.DataFrame(rows)


def read_design(table: pd.DataFrame, plan: Plan) -> str:
    text = f"{counted(int(table['votes'].sum()), 'vote')} on {counted(int(table['items'].sum()), 'item')}."
    for rated, own in table.groupby(table["kind"] == "rating", sort=True):
        items, lost = int(own["items"].sum()), int(own["no_majority"].sum())
        if rated:
            text += f" Items with fewer than {plan.majority.min_votes} votes, which get no mean rating:"
        else:
            kept_out = ", which are left out of all results from majorities" if plan.majority.split == "exclude" else ""
            text += f" Items without a majority of at least {plan.majority.min_votes} votes{kept_out}:"
        text += f" {lost} of {items} ({lost / items:.0%})."
    few = table.loc[table["fewest_scenes"] < FEWEST_CLUSTERS]
    names = [f"{row.family} {row.setting}".strip() for row in few.itertuples()]
    if names:
        text += f" Some dimensions of {listing(names)} were seen in one scene alone: no interval there."
    return text
