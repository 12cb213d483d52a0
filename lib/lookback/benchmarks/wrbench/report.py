"""WRBench's tables of a run: 2 (profile), 3 (access by interface), 4 (relocation and in place), 7 (high support), 8 (event levels),
9 (actions), 13 (directions), 17 (preference pairs)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lookback.benchmarks.wrbench.metrics.reobservation import dimension_average, is_sparse
from lookback.benchmarks.wrbench.preferences import INTEGRITY, SUPPORT, Dimension, preference_pairs
from lookback.errors import NotScorable
from lookback.report.model_table import POOLED, Column, backend_note, model_table, single_clip_models
from lookback.report.paper import PaperData
from lookback.report.table import PaperTable, mark_best
from lookback.scoring.aggregate import aggregate

NAMES = {
    "wrbench.support": "Support %",
    "wrbench.cam_prec": "CamPrec",
    "wrbench.cam_align": "CamAlign",
    "wrbench.visual_integrity": "Integ.",
    "wrbench.visible_spatial": "Vis. spatial",
    "wrbench.visible_state": "Vis. state",
    "wrbench.reobserved_spatial": "Reobs. spatial",
    "wrbench.reobserved_state": "Reobs. state",
}
# columns that are made from a metric -> the metric behind which a reader may look
MADE_FROM = {header: metric for metric, header in NAMES.items()} | {
    "Visible mean": "wrbench.visible_spatial",
    "Relocation": "wrbench.reobserved_state",
    "In place": "wrbench.reobserved_state",
    "Gap": "wrbench.reobserved_state",
    **dict.fromkeys(("LR count", "LR n", "LR %", "RL count", "RL n", "RL %", "Retention LR/RL"), "wrbench.support"),
}
LEVELS = ("none", "spatial", "state", "full")
RELOCATED, IN_PLACE = ("spatial", "full"), ("state",)  # does the event move the subject, or change it where it is?
UNRANKED = ("Gap", "Retention LR/RL")  # neither a high nor a low value is better
SPARSE = "† sparse: fewer than 10 judgeable returns, or under 10 % of the outputs."
ALIKE = 0.1  # a smaller difference in visual integrity counts as none
HIGH_SUPPORT = 0.5  # share of outputs from which a model counts as having high support


def paper_tables(data: PaperData) -> list[PaperTable]:
    """Every table that these scores can fill."""
    if data.items.empty:
        return []
    types = data.condition_types("wrbench")
    pairs = preference_table({pairs: counts for pairs, _, counts in preference_pairs(data.params)})
    return [profile_table(data, types), *further_tables(data.items, types), pairs]


def further_tables(items: pd.DataFrame, types: Mapping[str, str]) -> list[PaperTable]:
    """Tables 3, 4, 7, 8, 9 and 13, as far as they have rows."""
    own = items[items["metric"].isin(NAMES)]
    tables = [access(own, types), relocation(own), high_support(own), by_event_level(own), by_action(own), directions(own)]
    return [table for table in tables if len(table.frame)]


def profile_table(data: PaperData, types: dict[str, str]) -> PaperTable:
    """Table 2: the diagnostic profile, best and second within the viewpoint condition type."""
    own = data.items
    columns = [
        Column("CamPrec", "wrbench.cam_prec"),
        Column("CamAlign", "wrbench.cam_align"),
        Column("Integ.", "wrbench.visual_integrity"),
        Column("Support %", "wrbench.support", scale=100, digits=1),
        Column("Vis. spatial", "wrbench.visible_spatial"),
        Column("Vis. state", "wrbench.visible_state"),
        Column("Reobs. spatial", "wrbench.reobserved_spatial"),
        Column("Reobs. state", "wrbench.reobserved_state"),
    ]
    summary = aggregate(own, seed=data.seed, resamples=data.resamples, by=POOLED)
    group = types if any(types.values()) else None
    table = model_table("wrbench-2", "WRBench table 2: diagnostic profile", summary, columns, group=group, intervals=data.intervals)
    table.frame["Avg"] = [_average(row) for _, row in table.frame.iterrows()]
    table.better["Avg"] = True
    assert table.missing is not None
    table.missing["Avg"] = "a dimension of the average has no value"
    average = mark_best(table.frame, {"Avg": True}, table.digits, table.frame["type"] if group else None)
    average[table.frame["model"].isin(single_clip_models(own))] = ""
    assert table.marks is not None
    table.marks = table.marks.join(average)
    spatial = summary[summary["metric"] == "wrbench.reobserved_spatial"].set_index("model_id")
    outputs = summary[summary["metric"] == "wrbench.support"].set_index("model_id")
    assert table.suffixes is not None
    for index, model in enumerate(table.frame["model"]):
        judged = int(spatial["n"].get(model, 0))
        if is_sparse(judged, int(outputs["n_items"].get(model, 0))):
            for header in (name for name in ("Reobs. spatial", "Reobs. state") if pd.notna(table.frame.loc[index, name])):
                table.suffixes.loc[index, header] = "†" + table.suffixes.loc[index, header]
    table.notes += [SPARSE, backend_note(own)]
    return table


def _average(row: pd.Series) -> float:
    names = {
        "cam_align": "CamAlign",
        "visual_integrity": "Integ.",
        "visible_spatial": "Vis. spatial",
        "visible_state": "Vis. state",
        "reobs_spatial": "Reobs. spatial",
        "reobs_state": "Reobs. state",
    }
    try:
        return dimension_average({name: row[header] for name, header in names.items()})
    except NotScorable:
        return float("nan")


def means(items: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Means of the values per group and metric, columns in the paper's words and order; support in per cent."""
    table = items.pivot_table(index=list(by), columns="metric", values="value", aggfunc="mean", observed=True, dropna=False)
    table = table.dropna(how="all").rename(columns=NAMES).rename_axis(None, axis=1)
    if "Support %" in table:
        table["Support %"] *= 100
    return table[[name for name in NAMES.values() if name in table.columns]]


def counts_note(items: pd.DataFrame) -> str:
    """How many values stand behind the columns."""
    found = items.groupby("metric")["value"].agg(["count", "size"])
    parts = [f"{NAMES[metric]} {row['count']} of {row['size']}" for metric, row in found.iterrows()]
    return f"Values: {'; '.join(parts)}."


def _table(
    name: str,
    title: str,
    frame: pd.DataFrame,
    labels: list[str],
    items: pd.DataFrame,
    notes: Sequence[str] = (),
    ranks: bool = True,
) -> PaperTable:
    """Best and second are marked where the rows are models (`ranks`), never among counts or differences."""
    digits = {column: 1 for column in frame.columns if column.endswith("%")}
    counts = [column for column in frame.columns if pd.api.types.is_integer_dtype(frame[column])]
    better = {column: True for column in frame.columns if column not in (*labels, *counts, *UNRANKED)}
    marks = mark_best(frame, better, digits) if ranks else None
    if marks is not None:
        marks[frame[labels].isin(single_clip_models(items)).any(axis=1)] = ""
    written = [*notes, counts_note(items), *variants_and_reasons(items), backend_note(items)]
    missing = pd.DataFrame("no value of these clips", index=frame.index, columns=[c for c in frame.columns if c not in labels])
    title = f"WRBench table {name}: {title}"
    metrics = {column: MADE_FROM[column] for column in frame.columns if column in MADE_FROM}
    return PaperTable(
        f"wrbench-{name}", title, frame, labels, digits, marks, missing, notes=written, better=better, metrics=metrics
    )


def variants_and_reasons(items: pd.DataFrame) -> list[str]:
    """The variants in force, and why values are missing."""
    reasons = items.loc[items["value"].isna(), "reason"].value_counts().sort_index()
    words = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
    return [f"Variants: {', '.join(sorted(items['variant'].unique()))}.", *([f"Missing: {words}."] if words else [])]


def say_why(table: PaperTable, items: pd.DataFrame, by: str) -> PaperTable:
    """Give each empty cell the reasons of its row's items. `by` is the column of the items that names the rows."""
    assert table.missing is not None
    rows = dict(list(items[items["value"].isna()].groupby(by)))
    for place, name in enumerate(table.frame[table.labels[0]]):
        for metric, header in NAMES.items():
            if header in table.missing and name in rows:
                counts = rows[name].loc[rows[name]["metric"] == metric, "reason"].value_counts().sort_index()
                words = ", ".join(f"{reason} ({count})" for reason, count in counts.items())
                table.missing.loc[place, header] = words or table.missing.loc[place, header]
    return table


def mark_sparse(table: PaperTable, items: pd.DataFrame, columns: Sequence[str]) -> PaperTable:
    """The dagger of table 2 on re-observed numbers of models with few judgeable returns (`items`: all metrics)."""
    returns = items[items["metric"] == "wrbench.reobserved_spatial"].groupby("model_id")["value"].count()
    outputs = items[items["metric"] == "wrbench.support"].groupby("model_id").size()
    models = table.frame[table.labels[0]]
    sparse = [is_sparse(int(returns.get(model, 0)), int(outputs.get(model, 0))) for model in models]
    table.suffixes = pd.DataFrame(
        {
            name: ["†" if few and pd.notna(value) else "" for few, value in zip(sparse, table.frame[name], strict=True)]
            for name in columns
            if name in table.frame
        }
    )
    table.notes.insert(0, SPARSE)
    return table


def access(items: pd.DataFrame, types: Mapping[str, str]) -> PaperTable:
    """Table 3: which interfaces show a return at all, ranked by support."""
    table = means(items, ["model_id"])
    visible = [name for name in ("Vis. spatial", "Vis. state") if name in table]
    frame = pd.DataFrame(
        {
            "interface": table.index,
            "subtype": [types.get(model, "") for model in table.index],
            "Support %": table.get("Support %", np.nan),
            "CamAlign": table.get("CamAlign", np.nan),
            "Visible mean": table[visible].mean(axis=1) if visible else np.nan,
        }
    ).sort_values(["Support %", "interface"], ascending=[False, True], ignore_index=True)
    shown = items[items["metric"].isin([metric for metric, name in NAMES.items() if name in frame or name in visible])]
    return say_why(_table("3", "access to a return, ranked by support", frame, ["interface", "subtype"], shown), shown, "model_id")


def relocation(items: pd.DataFrame) -> PaperTable:
    """Table 4: re-observed state where the event moves the subject and where it changes it in place, and their difference."""
    own = items[(items["metric"] == "wrbench.reobserved_state") & items["event_level"].isin([*RELOCATED, *IN_PLACE])]
    kind = own["event_level"].map({**dict.fromkeys(RELOCATED, "Relocation"), **dict.fromkeys(IN_PLACE, "In place")})
    table = own.assign(kind=kind).pivot_table(index="model_id", columns="kind", values="value", aggfunc="mean")
    frame = pd.DataFrame({"interface": table.index}).assign(
        **{name: table[name].to_numpy() if name in table else np.nan for name in ("Relocation", "In place")}
    )
    frame["Gap"] = frame["Relocation"] - frame["In place"]
    note = f"Relocation: event levels {', '.join(RELOCATED)}; in place: {', '.join(IN_PLACE)}."
    title = "re-observed state, relocation against in place"
    table = _table("4", title, frame.reset_index(drop=True), ["interface"], own, [note])
    return mark_sparse(table, items, ["Relocation", "In place", "Gap"])


def high_support(items: pd.DataFrame) -> PaperTable:
    """Table 7: models that often return, and whether what returns is right."""
    chosen = items[items["metric"].isin(["wrbench.support", "wrbench.reobserved_spatial", "wrbench.reobserved_state"])]
    table = means(chosen, ["model_id"])
    if "Support %" not in table:
        return _table("7", "models with high support", pd.DataFrame({"model": []}), ["model"], chosen)
    often = table[table["Support %"] >= 100 * HIGH_SUPPORT].sort_values("Support %", ascending=False)
    frame = often.rename_axis("model").reset_index()
    note = f"Models whose support is at least {100 * HIGH_SUPPORT:.0f} %."
    own = chosen[chosen["model_id"].isin(frame["model"])]
    table = _table("7", "models with high support", frame, ["model"], own, [note])
    return mark_sparse(say_why(table, own, "model_id"), items, ["Reobs. spatial", "Reobs. state"])


def by_event_level(items: pd.DataFrame) -> PaperTable:
    """Table 8: means by event level, in the order none, spatial, state-only, full."""
    ordered = items.assign(level=pd.Categorical(items["event_level"], LEVELS, ordered=True)).dropna(subset="level")
    frame = means(ordered, ["level"]).reset_index()
    frame["level"] = frame["level"].astype(str).replace({"state": "state-only"})
    return _table("8", "means by event level", frame, ["level"], ordered, ranks=False)


def by_action(items: pd.DataFrame) -> PaperTable:
    """Table 9: means by what happens."""
    own = items[items["event_action"] != ""]
    frame = means(own, ["event_action"]).rename_axis("action").reset_index()
    return say_why(_table("9", "means by action", frame, ["action"], own, ranks=False), own, "event_action")


def directions(items: pd.DataFrame) -> PaperTable:
    """Table 13: support of left-to-right and right-to-left turns, and the retention LR / RL."""
    own = items[(items["metric"] == "wrbench.support") & items["camera"].isin(["yaw_LR", "yaw_RL"])]
    rows = []
    for model, group in own.groupby("model_id", sort=True):
        row: dict[str, Any] = {"model": model}
        for way in ("LR", "RL"):
            values = group.loc[group["camera"] == f"yaw_{way}", "value"].dropna()
            share = 100 * values.mean() if len(values) else np.nan
            row |= {f"{way} count": int(values.sum()), f"{way} n": len(values), f"{way} %": share}
        row["Retention LR/RL"] = row["LR %"] / row["RL %"] if row["RL %"] > 0 else np.nan
        rows.append(row)
    frame = pd.DataFrame(rows, columns=["model", "LR count", "LR n", "LR %", "RL count", "RL n", "RL %", "Retention LR/RL"])
    return _table("13", "support by direction of the turn", frame, ["model"], own)


def preference_table(counts: Mapping[Dimension, Mapping[str, Any]]) -> PaperTable:
    """Table 17: pairs the preference export would write by dimension, and what it drops."""
    rows = [
        {"dimension": dimension.name.replace("_", " "), "Pairs": own["pairs"], "Candidates": own["candidates"]}
        for dimension, own in counts.items()
    ]
    dropped = [{f"Dropped: {why.replace('_', ' ')}": n for why, n in own["dropped"].items()} for own in counts.values()]
    frame = pd.concat([pd.DataFrame(rows), pd.DataFrame(dropped)], axis=1)
    note = "A candidate is two models' answers to one request; the export's summary.json writes out the rules."
    title = "WRBench table 17: preference pairs by dimension"
    shown = [dimension.metric for dimension in counts]
    return PaperTable("wrbench-17", title, frame, ["dimension"], notes=[note], row_metrics=shown)


def returns_finding(items: pd.DataFrame) -> list[tuple[str, str]]:
    """How many clips return, and whether their picture quality differs from the others."""
    wide = items.pivot_table(index=["model_id", "clip_id"], columns="metric", values="value")
    if SUPPORT not in wide:
        return []
    returned = wide[SUPPORT].dropna()
    text = (
        f"In {int(returned.sum())} of {len(returned)} WRBench clips the subject is hidden and comes back so that it can be judged"
    )
    if INTEGRITY in wide:
        quality = wide[INTEGRITY].groupby(wide[SUPPORT]).mean()
        if len(quality) == 2:
            without, with_return = quality.sort_index()
            says = "says little about it" if abs(with_return - without) < ALIKE else "differs"
            text += f"; their visual integrity ({with_return:.2f}) {says} (the others: {without:.2f})"
    simulated = items.loc[items["metric"] == SUPPORT, "backend"].str.contains("simulated").any()
    return [(f"{text}.{' (The judge is simulated.)' if simulated else ''}", "wrbench-2")]
