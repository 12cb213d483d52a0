"""Do the benchmarks agree? The orders of the models that they share, and which dimensions correlate across papers.

Few models appear in more than one paper, so every number comes with its n and the smallest p that this n allows. Scores have signs
such that more is better (`register.scores`). All correlations are Spearman's, because the scales differ.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from lookback.errors import NotScorable
from lookback.published.printed import ranked_papers
from lookback.published.register import CONSTRUCTS, dimensions, scores
from lookback.stats.correlations import smallest_attainable_p, spearman_rows
from lookback.stats.model_agreement import rank_agreement

LEAST_MODELS = 3  # two models can only be in the same or the opposite order
CONVERGENT, DISCRIMINANT, WITHIN = "convergent", "discriminant", "within one paper"


def shared(paper_a: str, paper_b: str) -> list[str]:
    """The models that two papers share, in the order of the first paper."""
    second = set(scores(paper_b).index)
    return [model for model in scores(paper_a).index if model in second]


@cache
def order_agreement() -> pd.DataFrame:
    """Per pair of papers and construct: the orders of the shared models by mean rank, rho, tau, p and the smallest possible p."""
    rows = []
    for (a, b), construct in product(combinations(ranked_papers(), 2), ("overall", *CONSTRUCTS)):
        models = shared(a, b)
        places = [_mean_places(paper, models, construct) for paper in (a, b)]
        row: dict[str, Any] = {"papers": f"{a} / {b}", "construct": construct, "n": len(models)}
        row |= dict.fromkeys(("rho", "tau", "p", "smallest_p"), np.nan) | {"order_a": "", "order_b": "", "note": ""}
        if any(part is None for part in places):
            rows.append({**row, "n": 0, "note": "one of the papers has no such dimension for these models"})
            continue
        first, second = places
        assert first is not None
        assert second is not None
        row |= {"order_a": _order(first), "order_b": _order(second)}
        try:
            result = rank_agreement(-first, -second)
        except NotScorable as missing:
            rows.append({**row, "note": missing.detail})
            continue
        row |= {"rho": result.rho, "tau": result.tau, "p": result.p_rho, "smallest_p": result.smallest_p}
        rows.append({**row, "note": "" if len(models) >= LEAST_MODELS else "two models: same or opposite order, no more"})
    return pd.DataFrame(rows)


def _mean_places(paper: str, models: list[str], construct: str) -> pd.Series | None:
    """Mean rank of the models (1 is best) over the paper's dimensions of a construct that all of them have."""
    listed = dimensions(paper)
    columns = listed["column"] if construct == "overall" else listed.loc[listed["construct"] == construct, "column"]
    values = scores(paper).loc[models, list(columns)].dropna(axis=1)
    if values.empty or values.shape[1] == 0:
        return None
    return pd.Series(rankdata(-values.to_numpy(), axis=0).mean(axis=1), index=models)


def _order(places: pd.Series) -> str:
    """Best first; models with the same mean rank joined by "=".

    >>> _order(pd.Series({"a": 2.0, "b": 1.0, "c": 2.0}))
    'b > a = c'
    """
    groups = places.sort_values(kind="stable").groupby(places, sort=True)
    return " > ".join(" = ".join(group.index) for _, group in groups)


def dimension_matrix() -> pd.DataFrame:
    """Every pair of dimensions: rho over the shared models, n, the smallest possible p, and the kind of cell."""
    rows = []
    for paper_a, paper_b in combinations_with_replacement(ranked_papers(), 2):
        models = shared(paper_a, paper_b)
        first, second = (scores(paper).loc[models] for paper in (paper_a, paper_b))
        listed_a, listed_b = (dimensions(paper).to_dict("records") for paper in (paper_a, paper_b))
        pairs = combinations(listed_a, 2) if paper_a == paper_b else product(listed_a, listed_b)
        rows += [_cell(a, b, first[a["column"]].to_numpy(), second[b["column"]].to_numpy()) for a, b in pairs]
    return pd.DataFrame(rows)


def _cell(a: dict[str, Any], b: dict[str, Any], x: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, Any]:
    both = np.isfinite(x) & np.isfinite(y)
    n = int(both.sum())
    kind = WITHIN if a["paper"] == b["paper"] else CONVERGENT if a["construct"] == b["construct"] else DISCRIMINANT
    row = {f"{name}_{side}": part[name] for part, side in ((a, "a"), (b, "b")) for name in ("paper", "column", "construct")}
    rho = float(spearman_rows(x[None, both], y[None, both])[0]) if n >= LEAST_MODELS else np.nan
    return {**row, "kind": kind, "n": n, "rho": rho, "smallest_p": smallest_attainable_p(n) if n >= 2 else np.nan}


def convergence(matrix: pd.DataFrame) -> pd.DataFrame:
    """Mean rho of convergent and of discriminant cells per pair of papers; n models, number of cells."""
    across = matrix[(matrix["kind"] != WITHIN) & matrix["rho"].notna()]
    papers = across["paper_a"] + " / " + across["paper_b"]
    summary = across.groupby([papers.rename("papers"), "kind"], sort=False)["rho"].agg(["mean", "min", "max", "size"]).reset_index()
    models = across.groupby(papers, sort=False)["n"].agg(["min", "max"])
    summary.insert(
        2,
        "n_models",
        [str(low) if low == high else f"{low} to {high}" for low, high in models.loc[summary["papers"]].itertuples(index=False)],
    )
    return summary.rename(columns={"mean": "mean_rho", "min": "smallest_rho", "max": "largest_rho", "size": "cells"})


@cache
def convergence_test() -> dict[str, float | int]:
    """Is agreement larger between dimensions of the same construct? Exact test over all relabellings of the shared models.

    Statistic: mean rho of convergent cells minus mean rho of discriminant cells, over the pairs of papers with three shared models
    or more. All these pairs include one paper (`hub`). Its rows stay; the rows of the others are permuted
    independently. One-sided p.
    """
    middle = hub()
    blocks = [block for other in ranked_papers() if other != middle if len(block := _relabelled(middle, other)) > 0]
    gaps = [_gap(np.sum(choice, axis=0)) for choice in product(*blocks)]
    observed = gaps[0]
    reached = sum(gap >= observed - 1e-9 for gap in gaps)
    return {"gap": observed, "p": reached / len(gaps), "smallest_p": 1 / len(gaps), "relabellings": len(gaps)}


def hub() -> str:
    """The paper that shares models with most of the others."""
    papers = ranked_papers()
    return max(papers, key=lambda paper: sum(len(shared(paper, other)) >= LEAST_MODELS for other in papers if other != paper))


def _relabelled(middle: str, other: str) -> NDArray[np.float64]:
    """Per order of the other paper's shared models: sum and number of rho over convergent, then over discriminant cells."""
    models = shared(middle, other)
    if len(models) < LEAST_MODELS:
        return np.empty((0, 4))
    first, second = (scores(paper).loc[models].dropna(axis=1) for paper in (middle, other))
    construct = dimensions().set_index(["paper", "column"])["construct"]
    same = np.array([[construct[middle, a] == construct[other, b] for b in second.columns] for a in first.columns])
    left = np.repeat(first.T.to_numpy(), second.shape[1], axis=0)
    sums = []
    for order in permutations(range(len(models))):
        right = np.tile(second.to_numpy()[list(order)].T, (first.shape[1], 1))
        rho = spearman_rows(left, right).reshape(same.shape)
        known = np.isfinite(rho)
        sums.append([part for cells in (same & known, ~same & known) for part in (rho[cells].sum(), cells.sum())])
    return np.array(sums)


def _gap(sums: NDArray[np.float64]) -> float:
    return float(sums[0] / sums[1] - sums[2] / sums[3])
