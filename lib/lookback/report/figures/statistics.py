"""Interactive versions of two figures of the agreement stage: correlations between metrics, and scores by event level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from plotly import graph_objects as go
from plotly.subplots import make_subplots

from lookback.agreement.figures.factors import CELL_COLOURS
from lookback.figures import PALETTE
from lookback.report.stage_tables import read_named
from lookback.stats import stars

ALPHA = 0.05  # a correlation with a smaller p (after Holm) is bold
ON_THE_PAGE = {
    "correlations": "On the page the menu chooses the benchmark; pointing at a cell gives its interval, p and n.",
    "event_factors": "On the page pointing at a bar gives its p and n.",
}


def interactive_statistics(tables: Path) -> dict[str, go.Figure]:
    """The interactive figures by the name of the saved figure, as far as their tables exist."""
    names = ("correlations", "event_cells", "event_factors")
    found = {name: read_named(path) for name in names if (path := tables / f"{name}.csv").is_file()}
    drawn = {"correlations": correlations(found["correlations"])} if "correlations" in found else {}
    if {"event_cells", "event_factors"} <= found.keys():
        drawn["event_factors"] = event_boxes(found["event_cells"], found["event_factors"])
    return drawn


def correlations(table: pd.DataFrame) -> go.Figure:
    """A heat map per benchmark and setting, one shown at a time. Each cell shows r, bold if it differs from zero after Holm."""
    panels = {" ".join(key): own for key, own in table.fillna({"setting": ""}).groupby(["benchmark", "setting"], sort=False)}
    figure = go.Figure()
    for number, own in enumerate(panels.values()):
        names = list(dict.fromkeys([*own["metric_a"], *own["metric_b"]]))
        words, shown = ([write(row) for row in own.itertuples()] for write in (_words, _shown))
        cells = own.assign(words=words, shown=shown).set_index(["metric_b", "metric_a"])
        short = [name.split(".")[-1].replace("_", " ") for name in names]
        grid = {column: cells[column].unstack().reindex(index=names, columns=names) for column in ("r", "words", "shown")}
        texts = {
            column: grid[column].astype(object).where(grid[column].notna(), "").to_numpy().tolist() for column in ("words", "shown")
        }
        figure.add_heatmap(
            z=grid["r"].to_numpy().tolist(), text=texts["shown"], texttemplate="%{text}",
            customdata=texts["words"], x=short, y=short, zmin=-1, zmax=1, colorscale="RdBu",
            reversescale=True, colorbar={"title": "r"}, hovertemplate="%{y} / %{x}<br>%{customdata}<extra></extra>",
            visible=number == 0, hoverongaps=False,
        )  # fmt: skip
    buttons = [
        {"label": name, "method": "restyle", "args": [{"visible": [place == number for place in range(len(panels))]}]}
        for number, name in enumerate(panels)
    ]
    menu = {"buttons": buttons, "x": 0, "xanchor": "left", "y": 1.12, "yanchor": "top"}
    figure.update_layout(height=640, updatemenus=[menu])
    return figure.update_yaxes(autorange="reversed")


def _words(row: Any) -> str:
    if pd.isna(row.r):
        return str(row.reason)
    return f"r {row.r:.2f} ({row.low:.2f} to {row.high:.2f}), p {row.p_holm:.3f} after Holm, n {row.n} models"


def _shown(row: Any) -> str:
    if pd.isna(row.r):
        return ""
    return f"<b>{row.r:.2f}</b>" if row.p_holm < ALPHA else f"{row.r:.2f}"


def event_boxes(cells: pd.DataFrame, factors: pd.DataFrame) -> go.Figure:
    """Above, each model's mean at the four event levels, per metric; below, the contrasts with intervals and stars."""
    tested = factors[factors["p"].notna()]
    figure = make_subplots(2, 1, vertical_spacing=0.12, subplot_titles=["score (metric's own unit)", "typical change in score"])
    for level, colour in CELL_COLOURS.items():
        own = cells[(cells["event_level"] == level) & cells["metric"].isin(tested["metric"])]
        figure.add_box(
            x=_short(own["metric"]), y=own["value"].tolist(), name=level, text=own["model_id"].tolist(), boxpoints="all",
            pointpos=0, jitter=0.4, marker={"color": colour, "size": 5}, legendgrouptitle={"text": "event level"},
            legendgroup="level", row=1, col=1,
        )  # fmt: skip
    for number, (contrast, rows) in enumerate(tested.groupby("contrast", sort=False)):
        up, down = rows["high"] - rows["shift"], rows["shift"] - rows["low"]
        figure.add_bar(
            x=_short(rows["metric"]), y=rows["shift"].tolist(), name=str(contrast), text=[stars(p) for p in rows["p_holm"]],
            error_y={"array": up.tolist(), "arrayminus": down.tolist(), "visible": bool(up.notna().any())},
            textposition="outside", cliponaxis=False,
            customdata=[f"{p:.3f} after Holm, n {n} models" for p, n in zip(rows["p_holm"], rows["n"], strict=True)],
            hovertemplate="%{x}: %{y:.3f}, p %{customdata}", marker={"color": PALETTE[number]},
            legendgrouptitle={"text": "contrast"}, legendgroup="contrast", row=2, col=1,
        )  # fmt: skip
    return figure.update_layout(height=760, boxmode="group", barmode="group")


def _short(metrics: pd.Series) -> list[str]:
    return metrics.str.split(".").str[-1].str.replace("_", " ").tolist()
