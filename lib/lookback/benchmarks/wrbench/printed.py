"""WRBench's printed tables, its figure 4 recomputed, and the uncertainty of the ranks by support."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from statsmodels.stats.proportion import proportion_confint

from lookback.figures import style
from lookback.published import load
from lookback.published.printed import Drawing, Printed, PrintedPaper, RankGroup
from lookback.published.ranks import share_places
from lookback.published.register import dimensions
from lookback.report.published.figures import heat_map
from lookback.report.table import PaperTable
from lookback.stats.correlations import correlation_structure

TABLES = (
    Printed(
        "wrbench-2",
        "wrbench_table2",
        "WRBench table 2: diagnostic profile",
        labels=("condition_type", "model"),
        group="condition_type",
        marked=True,
        own_columns={
            "cam_prec": "CamPrec",
            "cam_align": "CamAlign",
            "visual_integrity": "Integ.",
            "reobs_support_pct": "Support %",
            "visible_spatial": "Vis. spatial",
            "visible_state": "Vis. state",
            "reobs_spatial": "Reobs. spatial",
            "reobs_state": "Reobs. state",
            "avg": "Avg",
        },
        conclusion="Access and correctness come apart: Gen3C brings the object back most often, LingBot hardly ever, and what "
        "comes back "
        "scores about the same.",
        notes=(
            "Best and second best within the viewpoint condition type, sparse rows included.",
            "† sparse support: fewer than 10 judgeable returns, or under 10 % of the outputs.",
            "The number of outputs is not printed in the table; it gives the totals of the paper's section 4.",
        ),
    ),
    Printed(
        "wrbench-4-quoted",
        "wrbench_table4_quoted",
        "WRBench table 4, the cells its text quotes: re-observed state by event",
        own="wrbench-4",
        own_columns={"reobs_state_relocation": "Relocation", "reobs_state_in_place": "In place"},
    ),
    Printed(
        "wrbench-5-quoted",
        "wrbench_table5_quoted",
        "WRBench table 5, the cells its text quotes: bridge N and reversals",
        labels=("dimension",),
    ),
    Printed(
        "wrbench-11",
        "wrbench_table11_wan_rows",
        "WRBench table 11: Wan-derived rows and their base",
        labels=("base", "model"),
    ),
)


def figure_4() -> list[Drawing]:
    """WRBench's figure 4, with the intervals it does not print."""
    columns = [column for column in dimensions("WRBench")["column"] if column != "cam_prec"]
    columns = ["cam_prec", *columns]
    values = load("wrbench_table2")[columns]
    structure = correlation_structure(values, method="pearson")
    figure = correlation_figure(structure, columns, len(values))
    caption = (
        f"WRBench figure 4 recomputed from table 2: Pearson's r over the {len(values)} models (CamPrec: "
        f"{values['cam_prec'].count()}). "
        "The visible pair and the re-observed pair form blocks; support stands apart."
    )
    lowest = structure.loc[structure["r"].idxmin()]
    frame = structure[["metric_a", "metric_b", "r", "low", "high", "p", "p_holm", "n"]]
    digits = dict.fromkeys(("r", "low", "high", "p", "p_holm"), 3)
    table = PaperTable(
        "wrbench-figure4",
        "WRBench figure 4 as numbers: r with its 95 % interval (Fisher) and p (Holm over all pairs)",
        frame,
        ["metric_a", "metric_b"],
        digits,
        notes=["n models per pair. Models are treated as a sample; several share a base model, so the intervals are too narrow."],
        conclusion=f"The strongest negative correlation, which the text leaves out, is between {lowest['metric_a']} and "
        f"{lowest['metric_b']} ({lowest['r']:.2f}): models that move the camera as asked look worse while visible. The "
        f"small negative "
        "ones of support have intervals across zero: no clear relation, rather than an inverse one.",
    )
    return [Drawing(figure, "wrbench_figure4", caption, table)]


def correlation_figure(correlations: pd.DataFrame, columns: list[str], n: int) -> Figure:
    """WRBench figure 4 recomputed: Pearson's r between the diagnostic metrics."""
    headers = dimensions("WRBench").set_index("column")["header"]
    matrix = pd.DataFrame(np.eye(len(columns)), index=columns, columns=columns)
    for row in correlations.itertuples():
        matrix.loc[row.metric_a, row.metric_b] = matrix.loc[row.metric_b, row.metric_a] = row.r
    with style():
        figure, axes = plt.subplots(figsize=(6.4, 5.4))
        image = heat_map(axes, matrix, [headers[column] for column in columns], [headers[column] for column in columns], "{:.2f}")
        figure.colorbar(image, ax=axes, shrink=0.8, label=f"Pearson's r over models (n = {n}; CamPrec 16)")
        return figure


def support_table() -> PaperTable:
    """WRBench support: the share of n outputs, its place, and the places that so many outputs leave open."""
    table = load("wrbench_table2").sort_values("reobs_support_pct", ascending=False, kind="stable").reset_index(drop=True)
    counts = np.round(table["reobs_support_pct"] * table["n_outputs"] / 100)
    low, high = (100 * bound for bound in proportion_confint(counts, table["n_outputs"], method="jeffreys"))
    places = share_places(table["reobs_support_pct"], table["n_outputs"])
    frame = pd.DataFrame(
        {
            "model": table["model"],
            "outputs": table["n_outputs"],
            "support %": table["reobs_support_pct"],
            "low": low,
            "high": high,
            "place": table["reobs_support_pct"].rank(ascending=False, method="min").astype(int),
            "place from": places["low"],
            "place to": places["high"],
        }
    )
    return PaperTable(
        "ranks-wrbench-support",
        "WRBench re-observation support with its sampling interval (95 %) and the interval of its place",
        frame,
        ["model"],
        {"support %": 1, "low": 1, "high": 1},
        notes=[
            "Jeffreys interval of k of n outputs; places that hold for all models at once (Mogstad et al. 2024). Outputs are "
            "taken as independent; those of one scene are not, so both are too narrow."
        ],
        conclusion="At the top of the access ladder a place moves by one at most; below, many models share one range of places.",
    )


PAPER = PrintedPaper(
    "WRBench",
    "23 models. Of its tables 3 to 9 and 13 to 17 only the cells that sentences quote are in the text at hand.",
    TABLES,
    (RankGroup("wrbench", "WRBench"),),
    drawings=figure_4,
    sampled=lambda: [support_table()],
)
