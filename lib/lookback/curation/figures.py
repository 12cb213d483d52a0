"""Figures of a dataset's composition. Each returns (figure, caption); `lookback.figures.save_figure` writes them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lookback.curation.contents import challenge_screen, composition, model_coverage, prompt_words
from lookback.figures import PALETTE, style
from lookback.names import counted
from lookback.registry import BENCHMARKS

Drawn = tuple[Figure, str]


def composition_figure(clips: pd.DataFrame) -> Drawn:
    """Bars of clips per benchmark, setting and subset."""
    table = composition(clips)
    names = _names(table, "benchmark", "setting", "subset")
    with style():
        figure, axes = plt.subplots(figsize=(7, 0.32 * len(table) + 1.2), layout="constrained")
        colours = [PALETTE[sorted(table["benchmark"].unique()).index(name)] for name in table["benchmark"]]
        bars = axes.barh(names, table["clips"], color=colours)
        axes.bar_label(
            bars,
            labels=[f"{row.clips} ({counted(row.models, 'model')})" for row in table.itertuples()],
            padding=3,
            fontsize=8,
        )
        axes.invert_yaxis()
        axes.set_xlabel("generated clips")
        axes.margins(x=0.18)
        _whole(axes.xaxis)
    total = counted(int(table["clips"].sum()), "generated clip")
    return figure, f"Composition: {total} by benchmark, setting and subset; in brackets the number of models they come from."


def duration_figure(clips: pd.DataFrame, screen: pd.DataFrame) -> Drawn:
    """Histogram of clip lengths in seconds, one colour per benchmark."""
    known = screen.dropna(subset=["duration_s"])
    with style():
        figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
        _histogram(axes, known, "duration_s")
        axes.set_xlabel("length (s)")
        axes.set_ylabel("clips")
        _whole(axes.yaxis)
    unknown = len(screen) - len(known)
    frames = clips["n_frames"].astype("float64")
    note = f"; no rate is known for {counted(unknown, 'frame folder')}" if unknown else ""
    ends = " to ".join(dict.fromkeys(f"{end:.0f}" for end in (frames.min(), frames.max())))
    return figure, f"Length of {counted(len(known), 'clip')} in seconds ({ends} frames){note}."


def prompt_figure(clips: pd.DataFrame) -> Drawn:
    """Histogram of prompt lengths in words, one colour per benchmark."""
    tasks = clips.drop_duplicates(["benchmark", "setting", "clip_id"])
    tasks = tasks[tasks["prompt"] != ""]
    with style():
        figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
        _histogram(axes, tasks.assign(words=prompt_words(tasks)), "words")
        axes.set_xlabel("words in the prompt")
        axes.set_ylabel("tasks")
        _whole(axes.yaxis)
    carry = f"{counted(len(tasks), 'task')} that carr{'ies' if len(tasks) == 1 else 'y'} one"
    return figure, f"Prompt length of the {carry}; a task counts once, however many models got it."


def benchmark_figures(clips: pd.DataFrame, screen: pd.DataFrame) -> list[Drawn]:
    """The figures with which each benchmark's paper describes its dataset; none where no clip carries what it would show."""
    figures = [
        drawn
        for benchmark in (BENCHMARKS.get(name) for name in sorted(clips["benchmark"].unique()))
        for drawn in benchmark.content_figures(*(frame[frame["benchmark"] == benchmark.name] for frame in (clips, screen)))
    ]
    shown = [drawn for drawn in figures if any(axes.has_data() for axes in drawn[0].axes)]
    for drawn in figures:
        if drawn not in shown:
            plt.close(drawn[0])
    return shown


def challenge_figure(screen: pd.DataFrame) -> Drawn:
    """Stacked shares per model: returns, only departs, stays, cannot be told."""
    table = challenge_screen(screen)
    parts = {
        "leaves and returns": table["returns"],
        "leaves, no return": table["departs"] - table["returns"],
        "never leaves": table["clips"] - table["departs"] - table["unknown"],
        "cannot be told": table["unknown"],
    }
    names = _names(table, "benchmark", "setting", "model_id")
    with style():
        figure, axes = plt.subplots(figsize=(7, 0.3 * len(table) + 1.6), layout="constrained")
        left = np.zeros(len(table))
        for (label, values), colour in zip(parts.items(), (PALETTE[2], PALETTE[1], PALETTE[3], "#BBBBBB"), strict=True):
            share = (values / table["clips"]).to_numpy(dtype=float)
            axes.barh(names, share, left=left, color=colour, label=label)
            left += share
        axes.set_xlim(0, 1)
        axes.invert_yaxis()
        axes.set_xlabel("share of clips, by what their task asks for")
        axes.legend(ncols=4, frameon=False, fontsize=7.5, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    known = int((table["clips"] - table["unknown"]).sum())
    total = counted(int(table["clips"].sum()), "clip")
    return (
        figure,
        f"Memory-challenge screen of {total} ({known} can be told): which belong to tasks that ask for a look away and back.",
    )


def counterpart_figure(clips: pd.DataFrame) -> Drawn:
    """Bars of missing clips per model."""
    table = model_coverage(clips)
    names = _names(table, "benchmark", "setting", "model_id")
    with style():
        figure, axes = plt.subplots(figsize=(7, 0.3 * len(table) + 1.3), layout="constrained")
        axes.barh(names, table["clips"], color=PALETTE[0], label="present")
        axes.barh(names, table["missing"], left=table["clips"], color=PALETTE[3], label="missing", hatch="//")
        axes.invert_yaxis()
        axes.set_xlabel("clips of the setting")
        axes.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        _whole(axes.xaxis)
    missing = int(table["missing"].sum())
    are = f"{counted(missing, 'clip')} that other models have {'is' if missing == 1 else 'are'} missing"
    return figure, f"Counterparts: {are}; fair means leave their tasks out."


def _whole(axis: Axis) -> None:
    """Ticks at whole numbers only: half a clip does not exist."""
    axis.set_major_locator(MaxNLocator(integer=True))


def _names(table: pd.DataFrame, *columns: str) -> list[str]:
    """Row names; parts that are empty or repeat the one before (MemoBench's subset is its setting) are left out."""
    rows = table[list(columns)].itertuples(index=False, name=None)
    return [" / ".join(part for part in dict.fromkeys(map(str, row)) if part) for row in rows]


def _histogram(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    import seaborn

    if rows.empty:
        axes.text(0.5, 0.5, "no clip carries this", ha="center", va="center", transform=axes.transAxes)
        return
    counts = rows["benchmark"].value_counts().sort_index()
    names = rows["benchmark"].map(lambda name: f"{name} (n={counts[name]})")
    seaborn.histplot(
        x=rows[column].astype(float), hue=names, hue_order=[f"{name} (n={n})" for name, n in counts.items()],
        bins=min(30, max(15, rows[column].nunique())), multiple="stack", palette=list(PALETTE[: len(counts)]), alpha=1, ax=axes,
    )  # fmt: skip
    seaborn.move_legend(axes, "best", title=None, frameon=False)
