"""WRBench's reading guides on a run's own data: tables 6 (what each metric counts), 10 (condition types), 11 (series), figure 3.

CamPrec, CamAlign and support stay three axes: they have other denominators and answer other questions, and nothing adds them up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from plotly import graph_objects as go

from lookback.benchmarks.wrbench.metrics.reobservation import is_sparse
from lookback.benchmarks.wrbench.report import NAMES, counts_note, means, variants_and_reasons
from lookback.figures import PALETTE, style
from lookback.report.figures.drawn import DrawnFigure
from lookback.report.model_table import backend_note
from lookback.report.table import PaperTable

# the paper's types, from the one that hands the model most about the new view to the one that hands it least
TYPES = ("source-video", "geometry-cache", "model-inferred", "prompt-only")
# metric -> (which outputs count, what it is used for)
USES = {
    "wrbench.cam_prec": ("outputs with a requested trajectory", "Did the camera follow the path that the model was given?"),
    "wrbench.cam_align": ("outputs with a requested turn", "Did the camera turn the way it was asked, however far?"),
    "wrbench.visual_integrity": ("all outputs", "Is the picture intact enough that something can be judged?"),
    "wrbench.support": ("all outputs", "Is there a return that can be judged at all? It says nothing about right or wrong."),
    "wrbench.visible_spatial": ("all outputs, while the subject is in view", "Is the subject in the right place while it is seen?"),
    "wrbench.visible_state": ("all outputs, while the subject is in view", "Does the event happen as it should while it is seen?"),
    "wrbench.reobserved_spatial": ("outputs with a judgeable return", "Is the subject in the right place when it is seen again?"),
    "wrbench.reobserved_state": ("outputs with a judgeable return", "Is the event's outcome kept while nobody looks?"),
}
MARKERS = ("o", "s", "^", "D", "v")


def reading_tables(items: pd.DataFrame, types: Mapping[str, str], series: Mapping[str, Sequence[str]]) -> list[PaperTable]:
    """Tables 6, 10 and 11, as far as they have rows."""
    own = items[items["metric"].isin(NAMES)]
    tables = [metric_checks(own), taxonomy(own, types), increments(own, series)]
    return [table for table in tables if len(table.frame)]


def _notes(items: pd.DataFrame, *first: str) -> list[str]:
    return [*first, counts_note(items), *variants_and_reasons(items), backend_note(items)] if len(items) else list(first)


def metric_checks(items: pd.DataFrame) -> PaperTable:
    """Table 6: per metric its denominator in this run, and what it is and is not evidence for."""
    rows = []
    for metric, (counted, use) in USES.items():
        own = items[items["metric"] == metric]
        applicable = own[own["reason"] != "not_applicable"]
        values = own["value"].dropna()
        if len(own):
            shares = {"Values": len(values), "Applies to": len(applicable), "Outputs": len(own)}
            rows.append({"metric": NAMES[metric], "counts": counted, **shares, "Mean": values.mean(), "use": use})
    frame = pd.DataFrame(rows, columns=["metric", "counts", "Values", "Applies to", "Outputs", "Mean", "use"])
    note = "Each metric has a denominator of its own, so no two of them may be added up; support is a share, not a quality."
    title = "WRBench table 6: what each metric counts"
    shown = [metric for metric in USES if (items["metric"] == metric).any()]
    return PaperTable("wrbench-6", title, frame, ["metric", "counts", "use"], notes=_notes(items, note), row_metrics=shown)


def taxonomy(items: pd.DataFrame, types: Mapping[str, str]) -> PaperTable:
    """Table 10: which models have which viewpoint condition type, and which camera axis speaks for them."""
    cameras = ("wrbench.cam_prec", "wrbench.cam_align")
    rows = []
    for name in _present(types):
        models = sorted(model for model, kind in types.items() if kind == name)
        own = items[items["model_id"].isin(models)]
        row: dict[str, object] = {"type": name, "models": ", ".join(models), "n": len(models)}
        row["Outputs"] = len(own[own["metric"] == "wrbench.support"])
        for metric in cameras:
            row[f"{NAMES[metric]} values"] = int(own.loc[own["metric"] == metric, "value"].count())
        rows.append(row)
    frame = pd.DataFrame(rows, columns=["type", "models", "n", "Outputs", "CamPrec values", "CamAlign values"])
    note = "A model is assigned by the interface that it was run with. Prompt-only models were given no path, so no CamPrec."
    title = "WRBench table 10: viewpoint condition types"
    metrics = {f"{NAMES[metric]} values": metric for metric in cameras} | {"Outputs": "wrbench.support"}
    return PaperTable("wrbench-10", title, frame, ["type", "models"], notes=[note], metrics=metrics)


def _present(types: Mapping[str, str]) -> list[str]:
    """The condition types of a run's models, in the paper's order, then others by name."""
    found = {kind for kind in types.values() if kind}
    return [name for name in TYPES if name in found] + sorted(found - set(TYPES))


def increments(items: pd.DataFrame, series: Mapping[str, Sequence[str]]) -> PaperTable:
    """Table 11: per series (`report.series`) what each model changes against the one before it."""
    table = means(items, ["model_id"]) if len(items) else pd.DataFrame()
    shown = [name for name in ("Support %", "Vis. state", "Reobs. spatial", "Reobs. state") if name in table]
    rows = []
    for name, models in series.items():
        before = pd.Series(np.nan, index=shown)
        for model in (model for model in models if model in table.index):
            now = table.loc[model, shown]
            changes = {f"{column} change": now[column] - before[column] for column in shown}
            rows.append({"series": name, "model": model, **now.to_dict(), **changes})
            before = now
    columns = ["series", "model", *(part for column in shown for part in (column, f"{column} change"))]
    frame = pd.DataFrame(rows, columns=columns)
    digits = {column: 1 for column in columns if column.startswith("Support")}
    note = "Changes are against the model above it in the same series. How a model was built and trained is not in a run's data."
    used = items[items["model_id"].isin(frame["model"])] if len(frame) else items
    title = "WRBench table 11: increments along the series"
    return PaperTable("wrbench-11", title, frame, ["series", "model"], digits, notes=_notes(used, note))


def frontiers(items: pd.DataFrame, types: Mapping[str, str]) -> pd.DataFrame:
    """The best model mean per condition type and metric: type, metric, value, model, n, sparse (re-observed metrics only)."""
    own = items[items["metric"].isin(NAMES)].assign(type=items["model_id"].map(types))
    outputs = own[own["metric"] == "wrbench.support"].groupby("model_id").size()
    found = own[own["type"].fillna("") != ""].groupby(["type", "metric", "model_id"])["value"].agg(["mean", "count"]).reset_index()
    found = found.dropna(subset="mean").sort_values(["mean", "model_id"], ascending=[False, True], kind="stable")
    best = (
        found.groupby(["type", "metric"], sort=False).head(1).rename(columns={"mean": "value", "count": "n", "model_id": "model"})
    )
    few = [is_sparse(int(n), int(outputs.get(model, 0))) for n, model in zip(best["n"], best["model"], strict=True)]
    returned = best["metric"].str.startswith("wrbench.reobserved_")
    return best.assign(sparse=returned & np.array(few, dtype=bool)).reset_index(drop=True)


def frontier_figure(items: pd.DataFrame, types: Mapping[str, str]) -> DrawnFigure | None:
    """Figure 3: the best observed value of each condition type on each axis."""
    best = frontiers(items, types) if len(items) else pd.DataFrame(columns=["type"])
    if best.empty:
        return None
    axes_shown = [metric for metric in USES if metric in set(best["metric"])]
    labels = [NAMES[metric].replace(" %", "") for metric in axes_shown]
    interactive = go.Figure()
    with style():
        static, axes = plt.subplots(figsize=(8, 3.8))
        for index, name in enumerate(_present(types)):
            rows = best[best["type"] == name].set_index("metric").reindex(axes_shown)
            colour, marker = PALETTE[index % len(PALETTE)], MARKERS[index % len(MARKERS)]
            axes.plot(range(len(axes_shown)), rows["value"], marker, color=colour, label=name, alpha=0.85)
            words = [_words(row) for row in rows.itertuples(index=False)]
            interactive.add_scatter(
                x=labels, y=rows["value"].tolist(), name=name, mode="markers", marker={"color": colour, "size": 10},
                customdata=words, hovertemplate="%{y:.3f}: %{customdata}",
            )  # fmt: skip
        axes.set_xticks(range(len(labels)), labels, rotation=20, ha="right")
        axes.set(ylabel="best model mean (0 to 1)", ylim=(-0.03, 1.05))
        axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    interactive.update_layout(height=420, yaxis={"range": [-0.03, 1.05], "title": "best model mean"})
    models = sum(1 for kind in types.values() if kind)
    caption = (
        f"WRBench figure 3: frontiers by viewpoint condition type. The best of {models} models' means on each axis; the axes have "
    )
    caption += (
        "other denominators (table 6), and one type's points may come from several models. Re-observed means are over judgeable "
    )
    caption += "returns only."
    return DrawnFigure("frontiers", caption, static, interactive)


def _words(row: object) -> str:
    model, n, sparse = (getattr(row, name) for name in ("model", "n", "sparse"))
    return "" if pd.isna(model) else f"{model}, n {int(n)}{', sparse' if sparse is True or sparse == 1 else ''}"
