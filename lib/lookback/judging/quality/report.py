"""The tables and figures about judges that a run writes, with the gate funnel and the cost of judging."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from lookback.clips import KEYS
from lookback.figures import PALETTE, style
from lookback.files import write_text
from lookback.judging.quality.accuracy import calibration_table, judge_calibration, trigger_labels
from lookback.judging.quality.consistency import (
    answered,
    disagreements,
    judge_agreement,
    polarity_bias,
    position_bias,
    test_retest,
)
from lookback.judging.recording import CACHE
from lookback.params import RunParams
from lookback.tables import csv_text, read_csv

STEPS = ("all", "departed", "hidden", "returned", "judgeable")
FACT_OF_STEP = {
    "departed": "camera_departed",
    "hidden": "subject_hidden",
    "returned": "subject_returned",
    "judgeable": "return_judgeable",
}
STEP_TITLES = {"all": "all clips", "departed": "camera departed", "hidden": "subject hidden"}
COST_COLUMNS = ["judge", "task", "clips", "calls", "retries", "input_tokens", "output_tokens"]
COST_COLUMNS += ["seconds_per_clip", "p95_latency_s", "cost"]


def write_quality(
    params: RunParams,
    judgements: pd.DataFrame,
    calls: Sequence[dict[str, Any]],
    clips: pd.DataFrame,
    *,
    ratings: pd.DataFrame | None = None,
    truth: pd.DataFrame | None = None,
    further: Mapping[str, pd.DataFrame],
) -> None:
    """Write the CSV tables below `tables/judging`, and the cost beside the recording.

    Calibration is written where triggers have labels (people's votes, the demo world's truth), the models behind a judge's name
    where an endpoint names them. `further` holds the tables that benchmarks add about their own questions.
    """
    folder = params.paths.tables / "judging"
    tables = {
        "test_retest": test_retest(judgements),
        "polarity_bias": polarity_bias(judgements, params.seed),
        "position_bias": position_bias(judgements, params.seed),
        "judge_agreement": judge_agreement(judgements),
        "disagreements": disagreements(judgements),
    }
    for judge in measuring_judges(judgements):
        tables[f"gate_funnel_{judge}"] = gate_funnel(judgements, judge)
    served = served_models(calls)
    warn_of_mixed_models(served)
    calibrated = judge_calibration(judgements, clips, ratings=ratings, truth=truth)
    where_known = {"calibration": calibrated, "served_models": served, **further}
    for name, table in where_known.items():
        if len(table):
            tables[name] = table
        else:
            (folder / f"{name}.csv").unlink(missing_ok=True)  # left by a run with other parameters
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", csv_text(table))
    costs = cost_per_clip(calls)
    if len(costs):
        write_text(params.paths.root / CACHE / "cost.csv", csv_text(costs))


def saved_quality(params: RunParams, name: str) -> pd.DataFrame:
    """A table that `write_quality` wrote; empty where the run has no such table."""
    path = params.paths.tables / "judging" / f"{name}.csv"
    return read_csv(path) if path.is_file() else pd.DataFrame()


def judging_figures(judgements: pd.DataFrame, ratings: pd.DataFrame | None = None) -> dict[str, tuple[Figure, str]]:
    """The figures by name: the gate funnel of every measuring judge, and the calibration of trigger judges where people voted."""
    drawn = {f"gate_funnel_{judge}": funnel_figure(gate_funnel(judgements, judge), judge) for judge in measuring_judges(judgements)}
    labels = trigger_labels(judgements, ratings) if ratings is not None else pd.DataFrame()
    if len(labels):
        tables = {judge: calibration_table(part["value"], part["human"]) for judge, part in labels.groupby("judge", sort=True)}
        drawn["calibration"] = calibration_figure(tables, "the human majority")
    return drawn


def measuring_judges(judgements: pd.DataFrame) -> list[str]:
    """The judges that answered the timeline task (geometric, simulated)."""
    return sorted(set(judgements.loc[judgements["task"] == "timeline", "judge"]))


def gate_funnel(judgements: pd.DataFrame, judge: str) -> pd.DataFrame:
    """How many clips reach each step, per model: all -> departed -> hidden -> returned -> judgeable.

    A clip counts at a step only if it passed all steps before. The answers are those of the measuring judge to the `timeline`
    task. `unknown` counts the clips that got no answer at the next step; they go no further.
    """
    rows = judgements[(judgements["task"] == "timeline") & (judgements["judge"] == judge) & (judgements["repeat"] == 0)]
    if rows.empty:
        return pd.DataFrame(columns=["model_id", *STEPS, "unknown"])
    said = answered(rows).pivot_table(index=KEYS, columns="question_id", values="answer", aggfunc="first")
    everything = rows[KEYS].drop_duplicates().set_index(KEYS).index
    said = said.reindex(everything)
    reached = pd.DataFrame({"all": True}, index=said.index)
    unknown = pd.Series(False, index=said.index)
    for before, step in pairwise(STEPS):
        column = said[FACT_OF_STEP[step]] if FACT_OF_STEP[step] in said else pd.Series(None, index=said.index, dtype=object)
        unknown |= reached[before] & column.isna()
        reached[step] = reached[before] & (column == "yes")
    counts = reached.assign(unknown=unknown).groupby(level="model_id", sort=True).sum().astype(int)
    return counts.reset_index()


def cost_per_clip(calls: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Calls, tokens, seconds and money per judge and task, from `Recording.calls`; they differ from run to run."""
    rows = [{**{name: call[name] for name in ("judge", "task", "clip")}, **call["usage"]} for call in calls if call["usage"]]
    if not rows:
        return pd.DataFrame(columns=[*COST_COLUMNS, "cost_per_clip"])
    frame = pd.DataFrame(rows)
    for name in ("input_tokens", "output_tokens", "latency_s", "attempts", "cost"):
        frame[name] = frame[name].fillna(0) if name in frame else 0
    table = []
    for (judge, task), part in frame.groupby(["judge", "task"], sort=True):
        clips = part["clip"].nunique()
        tokens = (int(part["input_tokens"].sum()), int(part["output_tokens"].sum()))
        seconds = (part["latency_s"].sum() / clips, float(part["latency_s"].quantile(0.95)))
        retries = int((part["attempts"] - 1).clip(lower=0).sum())
        table.append((judge, task, clips, len(part), retries, *tokens, *seconds, part["cost"].sum()))
    result = pd.DataFrame(table, columns=COST_COLUMNS)
    return result.assign(cost_per_clip=result["cost"] / result["clips"])


def served_models(calls: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Which models an endpoint says that it answered with, per judge, and how many recorded calls each answered."""
    named = [(call["judge"], call["usage"]["served_model"]) for call in calls if call["usage"].get("served_model")]
    columns = ["judge", "served_model"]
    return pd.DataFrame(named, columns=columns).groupby(columns, sort=True).size().reset_index(name="calls")


def warn_of_mixed_models(served: pd.DataFrame) -> None:
    """Say it where one judge is several models: an alias that was moved to another one, or a server that was."""
    for judge, part in served.groupby("judge", sort=True):
        if len(part) > 1:
            models = ", ".join(f"{model} ({n} calls)" for model, n in zip(part["served_model"], part["calls"], strict=True))
            warnings.warn(
                f"The recorded answers of {judge} come from several models: {models}. Name the model itself in judging.model, "
                "or move the recording away and ask again.",
                stacklevel=2,
            )


def funnel_figure(funnel: pd.DataFrame, judge: str) -> tuple[Figure, str]:
    """Draw how many clips reach each step of the re-observation gate, per model; the figure and its caption."""
    import seaborn

    with style():
        figure, axes = plt.subplots(figsize=(7, 0.6 + 0.6 * max(len(funnel), 3)))
        who = str(funnel.columns[0])
        counts = funnel.rename(columns=STEP_TITLES).melt(
            id_vars=who, value_vars=[STEP_TITLES.get(step, step) for step in STEPS], var_name="step"
        )
        seaborn.barplot(
            counts,
            x="value",
            y=who,
            hue="step",
            palette=list(PALETTE[: len(STEPS)]),
            orient="h",
            errorbar=None,
            saturation=1,
            ax=axes,
        )
        for bars in axes.containers:
            if isinstance(bars, BarContainer):
                axes.bar_label(bars, fontsize=6, padding=1)
        axes.set(xlabel="clips", ylabel=who.replace("_id", ""))
        axes.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(STEPS), frameon=False)
    lost = f"{int(funnel['all'].sum())} clips, {int(funnel['judgeable'].sum())} judgeable, {int(funnel['unknown'].sum())} undecided"
    caption = f"Gate funnel by the {judge} judge ({lost}). Each bar counts the clips that passed every step before it."
    return figure, caption


def calibration_figure(tables: dict[str, pd.DataFrame], against: str) -> tuple[Figure, str]:
    """Draw the stated probability against the share of true yes; `tables` holds the `calibration_table` of each judge."""
    with style():
        figure, axes = plt.subplots(figsize=(4, 4))
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="perfect")
        for colour, (judge, table) in zip(PALETTE, tables.items(), strict=False):
            total = int(table["n"].sum())
            axes.plot(table["mean_p_yes"], table["share_yes"], color=colour, linewidth=1, label=f"{judge} (n = {total})")
            axes.scatter(table["mean_p_yes"], table["share_yes"], s=12 + 120 * table["n"] / total, color=colour)
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="probability of yes as stated", ylabel=f"share of yes in {against}")
        axes.legend(fontsize=7, frameon=False, loc="upper left")
    caption = f"Calibration against {against}: points on the diagonal are as right as they say; larger points hold more answers."
    return figure, caption
