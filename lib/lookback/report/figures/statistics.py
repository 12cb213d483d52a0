"""The interactive drawings of two figures that the agreement stage saves: correlations between metrics, scores by event level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from plotly import graph_objects as go

from lookback.agreement.figures.factors import CELL_COLOURS


def interactive_statistics(tables: Path) -> dict[str, go.Figure]:
    """By the saved figure's name, where its table is there."""
    made = {"correlations": (correlations, "correlations"), "event_factors": (event_boxes, "event_cells")}
    return {name: draw(pd.read_csv(path)) for name, (draw, table) in made.items() if (path := tables / f"{table}.csv").is_file()}


def correlations(table: pd.DataFrame) -> go.Figure:
    """A heat map per benchmark and setting, one shown at a time; pointing at a cell gives r, its interval, p and n."""
    panels = {" ".join(key): own for key, own in table.fillna({"setting": ""}).groupby(["benchmark", "setting"], sort=False)}
    figure = go.Figure()
    for number, own in enumerate(panels.values()):
        names = list(dict.fromkeys([*own["metric_a"], *own["metric_b"]]))
        cells = own.assign(words=[_cell(row) for row in own.itertuples()]).set_index(["metric_b", "metric_a"])
        short = [name.split(".")[-1].replace("_", " ") for name in names]
        grid = {column: cells[column].unstack().reindex(index=names, columns=names) for column in ("r", "words")}
        figure.add_heatmap(
            z=grid["r"].to_numpy().tolist(), text=grid["words"].fillna("").to_numpy().tolist(), x=short, y=short, zmin=-1, zmax=1,
            colorscale="RdBu", reversescale=True, colorbar={"title": "r"}, hovertemplate="%{y} / %{x}<br>%{text}<extra></extra>",
            visible=number == 0, hoverongaps=False,
        )  # fmt: skip
    buttons = [
        {"label": name, "method": "restyle", "args": [{"visible": [place == number for place in range(len(panels))]}]}
        for number, name in enumerate(panels)
    ]
    menu = {"buttons": buttons, "x": 0, "xanchor": "left", "y": 1.12, "yanchor": "top"}
    figure.update_layout(height=640, updatemenus=[menu])
    return figure.update_xaxes(automargin=True).update_yaxes(automargin=True, autorange="reversed")


def _cell(row: Any) -> str:
    if pd.isna(row.r):
        return str(row.reason)
    return f"r {row.r:.2f} ({row.low:.2f} to {row.high:.2f}), p {row.p_holm:.3f} after Holm, n {row.n} models"


def event_boxes(cells: pd.DataFrame) -> go.Figure:
    """Each model's mean in the four event cells: a box and its points per metric."""
    figure = go.Figure()
    for level, colour in CELL_COLOURS.items():
        own = cells[cells["event_level"] == level]
        figure.add_box(
            x=own["metric"].str.removeprefix("wrbench.").str.replace("_", " ").tolist(), y=own["value"].tolist(), name=level,
            text=own["model_id"].tolist(), boxpoints="all", pointpos=0, jitter=0.4, marker={"color": colour, "size": 5},
        )  # fmt: skip
    return figure.update_layout(height=460, boxmode="group", yaxis={"title": "score (metric's own unit)"})
