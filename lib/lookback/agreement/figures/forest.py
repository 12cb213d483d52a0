"""Forest plot: one estimate with its interval per row."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lookback.agreement.claims import CONTRADICTED, READINGS, SUPPORTED
from lookback.figures import PALETTE, style

# a claim's colour; what is open, untested or cannot be decided has the last one
CLAIMED, UNDECIDED = {SUPPORTED: PALETTE[2], CONTRADICTED: PALETTE[3]}, "#777777"
COLOURS = " Green supports the metric, orange contradicts it, grey is open, after correction for all tests."


def forest(
    table: pd.DataFrame,
    *,
    value: str,
    low: str,
    high: str,
    labels: pd.Series,
    counts: pd.Series,
    axis: str,
    title: str,
    reference: float = 0.0,
) -> tuple[Figure, str]:
    """Points with interval bars in the table's order, coloured by `claim` if the table has it; rows without a value say so."""
    with style():
        figure, axes = plt.subplots(figsize=(7.6, 1.2 + 0.28 * len(table)), layout="constrained")
        rows = np.arange(len(table))[::-1]
        known = table[value].notna().to_numpy()
        values = table[value].to_numpy(dtype=float)
        lows = table[low].to_numpy(dtype=float)
        highs = table[high].to_numpy(dtype=float)
        bounded = known & np.isfinite(lows) & np.isfinite(highs)
        axes.axvline(reference, color="#999999", linewidth=0.8, linestyle="--", zorder=0)
        colours = table["claim"].map(CLAIMED).fillna(UNDECIDED) if "claim" in table else pd.Series(PALETTE[0], table.index)
        axes.hlines(rows[bounded], lows[bounded], highs[bounded], color=colours[bounded], linewidth=1.6)
        axes.scatter(values[known], rows[known], s=20, color=colours[known], zorder=2)
        for row in rows[~known]:
            axes.text(reference, row, " no value", va="center", color="#666666", fontsize=8)
        axes.set_yticks(rows, [f"{name}  (n {count})" for name, count in zip(labels, counts, strict=True)])
        lowest = np.nanmin([reference, *values[known], *lows[bounded]])
        axes.set_xlim(lowest - 0.05, 1.03)
        axes.set_ylim(-0.7, len(table) - 0.3)
        axes.set_xlabel(axis)
        figure.suptitle(title, fontsize=10)
    without = int((known & ~bounded).sum())
    note = f" {without} point(s) have no interval." if without else ""
    lead = f"{title.removesuffix('?')}: points are estimates, bars their intervals; the dashed line is {reference:g}."
    told = COLOURS if "claim" in table else ""
    return figure, f"{lead} Bars that cross it do not tell the estimate from {reference:g}.{told}{note}"


def agreement_forest(agreement: pd.DataFrame, *, confidence: float = 0.95) -> tuple[Figure, str]:
    """Forest plot of Krippendorff's alpha, whose 0 is chance; AC1 and AC2 have no such line.

    Estimates without an interval are left to the table where others have one: a bare dot looks like a finding.
    """
    bare = agreement["alpha"].notna() & agreement["alpha_low"].isna()
    shown = (agreement if bare.all() else agreement[~bare]).drop(columns="claim", errors="ignore")
    several = shown["family"].nunique() > 1
    family = shown["family"] + ": " if several else ""
    labels = family + shown["dimension"] + shown["setting"].map(lambda s: f" [{s}]" if s else "")
    figure, caption = forest(
        shown,
        value="alpha",
        low="alpha_low",
        high="alpha_high",
        labels=labels,
        counts=shown["n_items"],
        axis=f"Krippendorff's alpha (1 = full agreement, 0 = unrelated votes), {confidence:.0%} interval",
        title="Agreement among these annotators",
    )
    left = len(agreement) - len(shown)
    return figure, caption + (f" {left} row(s) without an interval (one scene) stand in the table alone." if left else "")


def ranking_forest(ranking: pd.DataFrame, *, confidence: float = 0.95) -> tuple[Figure, str]:
    """Forest plot of the model-level rho of every dimension, with the number of models and pairs."""
    labels = ranking["dimension"] + ranking["setting"].map(lambda s: f" [{s}]" if s else "")
    counts = (
        ranking["n_models"].map(lambda m: "-" if pd.isna(m) else f"{int(m)} models")
        + ", "
        + ranking["n_pairs"].astype(str)
        + " pairs"
    )
    return forest(
        ranking,
        value="rho",
        low="rho_low",
        high="rho_high",
        labels=labels,
        counts=counts,
        axis=f"Spearman's rho of win ratios, {confidence:.0%} interval for other models like these",
        title="Rank agreement of the metric with people, over models",
    )


def association_forest(table: pd.DataFrame, *, confidence: float = 0.95) -> tuple[Figure, str]:
    """Forest plot of the primary reading of score against people, one row per dimension of the bridge or of the ratings."""
    primary = str(table["primary"].iloc[0])
    value = f"{primary}_rho"
    return forest(
        table,
        value=value,
        low=f"{value}_low",
        high=f"{value}_high",
        labels=table["dimension"] + table["setting"].map(lambda s: f" [{s}]" if s else ""),
        counts=table["n"],
        axis=f"{READINGS[primary]}, {confidence:.0%} interval",
        title="Agreement of the score with people's answers",
    )
