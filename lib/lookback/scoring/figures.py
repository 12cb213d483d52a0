"""Tables and figures of scores: coverage with reasons, distributions, curves over frames."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lookback.clips import KEYS
from lookback.figures import PALETTE, PHASE_COLOURS, short_names, style
from lookback.names import counted
from lookback.scoring.aggregate import UNMEASURABLE, missing_rule
from lookback.scoring.direction import parts_are_measures

LEAST_SCORES = 3  # of a panel
LEAST_SPAN = 0.02  # of the scores' size, which an axis covers at least: smaller differences must look small
FAITHFUL = "sim-faithful"  # the demo world's model without a failure


def coverage_table(items: pd.DataFrame) -> pd.DataFrame:
    """Per metric and variant: the number of scores, the mean, and why others are missing.

    Clips that the video makes unmeasurable count as 0 in the mean where the preset says so (`missing: zero`).
    """
    rows = []
    for (metric, variant), group in _measured(items).groupby(["metric", "variant"], sort=True):
        reasons = group.loc[group["reason"] != "", "reason"].value_counts()
        words = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
        scored = group["value"].notna()
        failed = group["reason"].isin(UNMEASURABLE) & (missing_rule(metric, variant) == "zero")
        mean = group["value"].mask(failed, 0.0).mean()
        backends = ", ".join(sorted(set(group["backend"]) - {""}))
        rows.append([metric, variant, int(scored.sum()), len(group), mean, words, backends])
    return pd.DataFrame(rows, columns=["metric", "variant", "scored", "items", "mean", "missing because", "backend"])


def _measured(items: pd.DataFrame) -> pd.DataFrame:
    """The scores, with `metric` as a reader knows it.

    A metric with scores of whole clips is about these alone; phases without them share its name if they have the same unit. Parts
    with different units (mse, psnr, ...) have their own names.
    """
    part = items["phase"].where(items["benchmark"].map(parts_are_measures), "")
    named = items.assign(metric=(items["metric"] + " " + part).str.strip())
    whole = named["phase"] == ""
    return named[whole | ~whole.groupby([named["metric"], named["variant"]]).transform("any")]


def runtime_table(timings: pd.DataFrame) -> pd.DataFrame:
    """Seconds per clip of every metric and variant (and of decoding), the slowest first; artifacts are not counted."""
    table = timings.groupby("part")["seconds"].agg(["mean", "max", "count"]).sort_values("mean", ascending=False)
    names = {"part": "metric and variant", "mean": "seconds per clip", "max": "slowest clip (s)", "count": "clips"}
    return table.reset_index().rename(columns=names)


def distribution_figure(items: pd.DataFrame, benchmark: str) -> tuple[Figure, str]:
    """One panel per metric of a benchmark, and per part of it with a unit of its own: every clip's score, by model.

    Beside metrics with more scores, those with one or two have no panel; the caption counts them.
    """
    rows = _measured(items[items["benchmark"] == benchmark])
    rows = rows[rows["value"].notna()]
    scores = rows.groupby("metric").size()
    metrics = sorted(scores[scores >= min(LEAST_SCORES, scores.max())].index) if len(scores) else []
    titles = short_names(metrics)
    models = sorted(rows["model_id"].unique())
    columns = min(3, max(1, len(metrics)))
    lines = -(-len(metrics) // columns)
    import seaborn

    with style():
        size = (4.2 * columns, max(2.2, 0.17 * len(models) + 1.1) * lines)
        figure, axes = plt.subplots(max(1, lines), columns, figsize=size, layout="constrained", squeeze=False, sharey=True)
        for panel, metric in zip(axes.flat, metrics, strict=False):
            own = rows[rows["metric"] == metric]
            colours = {model: PALETTE[2] if model == FAITHFUL else PALETTE[0] for model in models}
            seaborn.stripplot(
                own, x="value", y="model_id", order=models, hue="model_id", palette=colours, legend=False, jitter=False, size=4,
                alpha=0.75, ax=panel,
            )  # fmt: skip
            panel.set_title(f"{titles[metric]} (n = {len(own)})", fontsize=8)
            low, high = panel.get_xlim()
            lacking = LEAST_SPAN * own["value"].abs().max() - (high - low)
            if lacking > 0:
                panel.set_xlim(low - lacking / 2, high + lacking / 2)
            panel.xaxis.set_major_locator(MaxNLocator(4))
            panel.ticklabel_format(axis="x", useOffset=False)
            panel.tick_params(axis="y", labelsize=6.5)
            panel.set_xlabel("score", fontsize=8)
            panel.set_ylabel("")
        for panel in list(axes.flat)[len(metrics) :]:
            panel.set_visible(False)
    green = "; green is the faithful simulated model" if FAITHFUL in models else ""
    few = len(scores) - len(metrics)
    left = f" Without a panel: {counted(few, 'measure')} of one or two scores." if few else ""
    return figure, f"{benchmark}: every clip's score by metric and model ({counted(len(models), 'model')}){green}.{left}"


def clip_curves(units: pd.DataFrame, segments: pd.DataFrame, clip: tuple[str, ...]) -> tuple[Figure, str]:
    """The curves of the clip with this key (benchmark, setting, model_id, clip_id)."""
    own, phases = (frame[(frame[KEYS] == list(clip)).all(axis=1)] for frame in (units, segments))
    return curve_figure(own, phases, "/".join(filter(None, clip)))


def curve_figure(units: pd.DataFrame, segments: pd.DataFrame, title: str) -> tuple[Figure, str]:
    """Per-frame values of one clip's metrics on one time axis, phases shaded."""
    rows = units[units["frame"].notna() & units["value"].notna()]
    metrics = [metric for metric, group in rows.groupby("metric") if len(group) >= 3]
    with style():
        figure, axes = plt.subplots(
            max(1, len(metrics)),
            1,
            figsize=(9, 1.25 * max(1, len(metrics)) + 0.8),
            layout="constrained",
            sharex=True,
            squeeze=False,
        )
        for panel, metric in zip(axes.flat, metrics, strict=False):
            own = rows[rows["metric"] == metric].drop_duplicates("frame").sort_values("frame")
            for row in segments[segments["kind"] == "phase"].itertuples():
                panel.axvspan(row.start, row.end - 1, color=PHASE_COLOURS.get(row.segment_id, "#ffffff"), alpha=0.12, linewidth=0)
            panel.plot(own["frame"], own["value"], color=PALETTE[0], marker=".", markersize=3)
            panel.set_ylabel(metric.split(".")[-1], fontsize=7, rotation=0, ha="right")
        axes.flat[-1].set_xlabel("frame")
        figure.suptitle(title, fontsize=9)
    return (
        figure,
        f"Per-frame values of {title}; shading marks the phases V (green), D (grey) and R (blue) where the clip has them.",
    )
