"""Which model is best: duels on the same task, a leaderboard per benchmark, and the mean rank over benchmarks.

A duel is two models on one task; who is better on more of the benchmark's metrics wins, a draw counts half. So models that did
different tasks are compared only on what both did. A clip in which the challenge did not happen, or whose video lacks what a metric
looks for, loses that metric. What a simulated judge answered counts for nothing here.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from lookback.clips import KEYS
from lookback.errors import NotScorable, Reason
from lookback.names import counted
from lookback.report.places import anchor
from lookback.report.table import PaperTable, bounds_text
from lookback.scoring.aggregate import TRIGGER_DETAIL, UNMEASURABLE, excluded_note, is_short, without_short
from lookback.scoring.direction import better_sign, parts_are_measures
from lookback.stats.comparisons import ranking_with_ties, strength_comparisons, win_ratio_comparisons
from lookback.stats.rankings import win_ratios

TASK = ["setting", "clip_id"]
REAL = "real video"  # stands in the place of a model's name
LOST = {str(reason) for reason in (Reason.NOT_TRIGGERED, *UNMEASURABLE)}
SHORT = "every scored clip lacks a part of its task"
ALPHA = 0.05
CLUSTERS = re.compile(r"(\d+) clusters?")  # in the reasons of `lookback.stats`; here a cluster is a scene
WON = "duels won %"
DUEL = "A duel is two models on one task; who is better on more of the metrics wins, a draw counts half."
HOW = "Brackets: 95 % interval over scenes. Models that share a letter are not told apart (every pair tested, Holm)."


@dataclass(frozen=True)
class Leaderboard:
    """The models of one benchmark, best first; models with one clip come last and have no rank."""

    benchmark: str
    title: str
    rows: pd.DataFrame  # model, rank, win_ratio, low, high, clips, scenes, letters
    metrics: list[str]
    left_out: list[str]  # metrics that only a simulated judge answered
    untested: str  # why no two models are told apart; empty where the test could be made
    measured: dict[str, int]  # of how many of the metrics each model has a value
    ceiling: pd.DataFrame | None = None  # the row of the real videos
    unscored: Mapping[str, str] = field(default_factory=dict)  # the models without a score, and the most common reason
    short: Mapping[str, int] = field(default_factory=dict)  # clips of each model that are excluded: they lack a part of their task

    @property
    def ranked(self) -> pd.DataFrame:
        """The models with a rank."""
        return self.rows[self.rows["rank"].notna()]

    @property
    def separated(self) -> bool:
        """Whether the first is shown to be better than the second."""
        return len(self.ranked) > 1 and not set(self.rows["letters"].iloc[0]) & set(self.rows["letters"].iloc[1])

    @property
    def first(self) -> list[str]:
        """The models that share the first place."""
        return list(self.ranked.loc[np.isclose(self.ranked["win_ratio"], self.ranked["win_ratio"].max()), "model"])

    @property
    def lead(self) -> str:
        """Who is best and by how much, in a sentence."""
        if len(self.ranked) < 2:
            several = (self.rows["clips"] > 1).sum() > 1
            why = self.untested if several else "fewer than two models have more than one clip"
            if len(self.rows) == 1:
                why = self._alone if self.unscored else "one model"
            return f"{self.title}: {why}, so there is nothing to rank."
        first, second = self.rows.iloc[0], self.rows.iloc[1]
        untested = f" ({self.untested})" if self.untested else ""
        if len(level := self.first) > 1:
            clips = _listed([str(count) for count in self.rows["clips"].iloc[: len(level)]])
            won = f"each wins {100 * first['win_ratio']:.0f} % of its duels ({clips} clips)"
            return f"{self.title}: {_listed(level)} share the first place; {won}; nothing separates them{untested}."
        margin = 100 * (first["win_ratio"] - second["win_ratio"])
        words = (
            f"{self.title}: {first['model']} wins {100 * first['win_ratio']:.0f} % of its duels, "
            f"{margin:.0f} points before {second['model']} ({first['clips']} and {second['clips']} clips)"
        )
        if self.separated:
            return f"{words}; the two are told apart."
        return f"{words}; nothing separates the two{untested}."

    @property
    def _alone(self) -> str:
        """That one model has scores, and why the others have none."""
        none = _listed([f"{model} has none ({reason})" for model, reason in self.unscored.items()])
        return f"only {self.rows['model'].iloc[0]} has scores; {none}"

    def standing(self) -> dict[str, str]:
        """Where each model stands, in a sentence."""
        places = {str(row["model"]): self._place(row) for row in self.rows.to_dict("records")}
        return places | {model: f"No rank: it has no score ({reason})." for model, reason in self.unscored.items()}

    def _place(self, row: dict[Hashable, Any]) -> str:
        clips = ", ".join(f"{row[name]} {name[:-1] if row[name] == 1 else name}" for name in ("clips", "scenes"))
        if pd.isna(row["win_ratio"]):
            why = self._alone if len(self.rows) == 1 and self.unscored else "no other model has a score of the same tasks"
            return f"No rank ({clips}): {why}."
        rank = f"Rank {row['rank']:g} of {len(self.ranked)}" if pd.notna(row["rank"]) else "No rank"
        return f"{rank}: {100 * row['win_ratio']:.0f} % of its duels won ({clips})."

    def table(self) -> PaperTable:
        """The leaderboard below its ceiling. Best is marked only where it is told from the second."""
        rows = self.rows if self.ceiling is None else pd.concat([self.ceiling, self.rows], ignore_index=True)
        top = len(rows) - len(self.rows)
        frame = pd.DataFrame(
            {
                "model": rows["model"],
                "rank": ["" if pd.isna(rank) else f"{rank:g}" for rank in rows["rank"]],
                WON: 100 * rows["win_ratio"],
                "clips": rows["clips"],
                "scenes": rows["scenes"],
                "tie": rows["letters"],
            }
        )
        marks = pd.DataFrame("", index=frame.index, columns=[WON])
        if self.separated:
            marks.loc[top, WON] = "best"
        bounds = [bounds_text(100 * low, 100 * high, 0) for low, high in zip(rows["low"], rows["high"], strict=True)]
        places = [f"ceiling-{self.benchmark}"] * top + [anchor(self.benchmark, model) for model in self.rows["model"]]
        return PaperTable(
            f"leaderboard-{self.benchmark}", f"{self.title}: leaderboard", frame, ["model", "rank", "tie"], {WON: 0}, marks,
            suffixes=pd.DataFrame({WON: bounds}), links=pd.DataFrame({WON: [f"#{place}" for place in places]}), notes=self._notes(),
        )  # fmt: skip

    def _notes(self) -> list[str]:
        notes = [HOW, f"Metrics: {', '.join(_short(self.metrics))}."]
        if self.left_out:
            notes.append(f"Left out, because only a simulated judge answered: {', '.join(_short(self.left_out))}.")
        if self.short:
            notes.append(excluded_note(self.short))
        if any(count < len(self.metrics) for count in self.measured.values()):
            told = ", ".join(f"{model} {count}" for model, count in self.measured.items())
            notes.append(f"Metrics with a value, of {len(self.metrics)}: {told}.")
        if (self.rows["clips"] < 2).any():
            notes.append("A model with one clip has no rank.")
        if self.unscored:
            notes.append(f"Without a score: {', '.join(f'{model} ({reason})' for model, reason in self.unscored.items())}.")
        return [*notes, f"No test: {self.untested}."] if self.untested else notes


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _short(metrics: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name.rpartition(".")[2] for name in metrics))


def without_simulated(
    gated: pd.DataFrame, ungated: pd.DataFrame, answers: pd.DataFrame, judges: Collection[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Scores that no simulated judge (one of `judges`) made, and the names of the metrics that are lost so.

    Where a simulated judge closed the trigger gate, the other judges' answers decide.
    """
    if not judges:
        return gated, []
    judged = gated["backend"].map(lambda backend: bool(set(backend.split(",")) & set(judges)))
    kept = gated[~judged]
    lost = sorted(set(gated.loc[judged, "metric"]) - set(kept["metric"]))
    closed = kept["detail"].map(lambda detail: any(detail.startswith(f"{TRIGGER_DETAIL}{judge}:") for judge in judges))
    if closed.any() and len(ungated):
        by = [*KEYS, "metric", "variant", "phase"]
        opened = kept.loc[closed, by].merge(ungated, on=by, how="left")
        kept = pd.concat([kept[~closed], opened[[name for name in kept if name in opened]]], ignore_index=True)
    return _gated(kept, answers[~answers["judge"].isin(judges)]), lost


def _gated(items: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """The scores without those of clips in which one of these judges saw no challenge."""
    said_no = answers[(answers["task"] == "trigger") & (answers["answer"] == "no")]
    closed = set(zip(*(said_no[name] for name in KEYS), strict=True))
    shut = pd.Series([key in closed for key in zip(*(items[name] for name in KEYS), strict=True)], items.index, dtype=bool)
    gated = items.copy()
    gated.loc[shut, "value"] = np.nan
    gated.loc[shut, "reason"] = str(Reason.NOT_TRIGGERED)
    return gated


def leaderboard(
    benchmark: str,
    title: str,
    items: pd.DataFrame,
    metrics: Sequence[str],
    left_out: Sequence[str] = (),
    seed: int = 0,
    resamples: int = 2000,
    real: pd.DataFrame | None = None,
) -> Leaderboard | None:
    """The leaderboard of one benchmark's items (with `scene`); None where no model has a score of these metrics.

    `real` has the items of the real videos, for the row of the ceiling.
    """
    own, cut = without_short(items[items["metric"].isin(metrics)])
    scores = _signed(benchmark, own)
    if scores.empty:
        return None
    tasks = scores.drop_duplicates(["model_id", *TASK]).groupby("model_id")
    counts = tasks.agg(clips=("clip_id", "size"), scenes=("scene", "nunique"))
    rows, untested = _ratios(_duels(scores), sorted(counts.index), seed, resamples)
    rows = rows.merge(counts, left_on="model", right_index=True)
    several = rows["clips"] > 1
    rows["rank"] = rows["win_ratio"].where(several).rank(ascending=False)
    rows = pd.concat([rows[several], rows[~several]], ignore_index=True)
    shown = [name for name in metrics if name in set(scores["metric"])]
    measured = scores[np.isfinite(scores["score"])].groupby("model_id")["metric"].nunique().reindex(rows["model"], fill_value=0)
    top = None if real is None else _ceiling(benchmark, own, real[real["metric"].isin(metrics)])
    without = own[~own["model_id"].isin(scores["model_id"]) & (own["reason"] != "")]
    reasons = {str(model): str(each.mode().iloc[0]) for model, each in without.groupby("model_id")["reason"]}
    reasons |= {model: SHORT for model in cut if model not in {*scores["model_id"]}}
    lost = sorted(set(left_out) & set(metrics))
    return Leaderboard(benchmark, title, rows, shown, lost, untested, measured.to_dict(), top, reasons, cut)


def _ratios(duels: pd.DataFrame, models: Sequence[str], seed: int, resamples: int) -> tuple[pd.DataFrame, str]:
    """Model, win_ratio, low, high and letters, best first; and why nothing could be tested."""
    if duels.empty:
        empty = dict.fromkeys(("win_ratio", "low", "high"), np.nan)
        return pd.DataFrame({"model": list(models), **empty, "letters": "a"}), "no two models have a score of the same task"
    ratios = win_ratios(duels, cluster="scene", resamples=resamples, seed=seed)
    try:
        tested = _compared(duels)
        untested = "" if tested["p"].notna().any() else _about_scenes(str(tested["reason"].iloc[0]))
    except NotScorable as error:
        tested, untested = pd.DataFrame(columns=["first", "second", "p_holm"]), str(error)
    places = ranking_with_ties(ratios.set_index("model")["win_ratio"], tested, alpha=ALPHA)
    return ratios[["model", "win_ratio", "low", "high"]].merge(places[["model", "letters"]], on="model"), untested


def _compared(duels: pd.DataFrame) -> pd.DataFrame:
    """By log strengths, or by win ratios where a model won or lost everything; these tell equal models apart too often."""
    try:
        return strength_comparisons(duels, "scene")
    except NotScorable:
        return win_ratio_comparisons(duels, "scene")


def _about_scenes(reason: str) -> str:
    """ "1 scene only" for "1 clusters only"."""
    return CLUSTERS.sub(lambda found: counted(int(found[1]), "scene"), reason)


def no_boards_html(titles: Mapping[str, str], items: pd.DataFrame) -> str:
    """A sentence for each of these benchmarks, which have no leaderboard, with a link to what is missing."""
    told = []
    for benchmark, title in titles.items():
        own = items[items["benchmark"] == benchmark]
        link = ' <a href="#missing">What is missing</a>' if own["value"].isna().any() else ""
        told.append(f'<p class="lead">{html.escape(no_board(title, own))}{link}</p>')
    return "".join(told)


def no_board(title: str, items: pd.DataFrame) -> str:
    """A sentence that says why a benchmark with these items has no leaderboard."""
    scored = items["value"].notna()
    if scored.any() and is_short(items)[scored].all():
        return f"{title}: {SHORT}, so there is nothing to rank."
    if scored.any():
        return f"{title}: none of its scores says which model is better, so there is nothing to rank."
    reasons = items.loc[items["reason"] != "", "reason"].value_counts()
    if reasons.empty:
        return f"{title}: no score, so there is nothing to rank."
    often = f"{str(reasons.index[0]).replace('_', ' ')} ({reasons.iloc[0]:,} of {len(items):,})"
    return f"{title}: no score, so there is nothing to rank; the commonest reason: {often}."


def _ceiling(benchmark: str, items: pd.DataFrame, real: pd.DataFrame) -> pd.DataFrame | None:
    """The row of the real videos: the share of duels with the models that they win."""
    known = real.merge(items.drop_duplicates(TASK)[[*TASK, "scene"]], on=TASK)
    duels = _duels(_signed(benchmark, pd.concat([items, known], ignore_index=True)))
    own = duels[(duels["model_a"] == REAL) | (duels["model_b"] == REAL)]
    if own.empty:
        return None
    sign = own["label"].where(own["model_a"] == REAL, -own["label"])
    tasks = own.drop_duplicates(TASK)
    row = {"model": f"{REAL} (ceiling)", "rank": np.nan, "win_ratio": ((sign + 1) / 2).mean(), "low": np.nan, "high": np.nan}
    return pd.DataFrame([{**row, "clips": len(tasks), "scenes": tasks["scene"].nunique(), "letters": ""}])


def _signed(benchmark: str, items: pd.DataFrame) -> pd.DataFrame:
    """One row per clip and measure with `score`: more is better, and a clip that fails the measure has minus infinity."""
    rows = items[items["value"].notna() | items["reason"].isin(LOST)]
    if not parts_are_measures(benchmark):
        whole = set(rows.loc[rows["phase"] == "", "metric"])
        rows = rows[(rows["phase"] == "") | ~rows["metric"].isin(whole)]
    kinds = {kind: better_sign(*kind) for kind in set(zip(rows["metric"], rows["phase"], strict=True))}
    sign = np.array([kinds[kind] for kind in zip(rows["metric"], rows["phase"], strict=True)], float)
    rows, sign = rows[sign != 0], sign[sign != 0]
    score = np.where(rows["value"].notna(), rows["value"].astype(float) * sign, -np.inf)
    return rows.assign(score=score)[["model_id", *TASK, "scene", "metric", "phase", "score"]]


def _duels(scores: pd.DataFrame) -> pd.DataFrame:
    """One row per task and pair of models: model_a, model_b, scene, and label 1, 0 or -1."""
    pairs = scores.merge(scores, on=[*TASK, "metric", "phase"], suffixes=("_a", "_b"))
    pairs = pairs[pairs["model_id_a"] < pairs["model_id_b"]]
    with np.errstate(invalid="ignore"):
        apart = np.sign(np.nan_to_num(pairs["score_a"].to_numpy() - pairs["score_b"].to_numpy(), nan=0.0))
    keys = [*TASK, "model_id_a", "model_id_b", "scene_a"]
    won = pairs.assign(apart=apart).groupby(keys, sort=True)["apart"].sum().reset_index()
    names = {"model_id_a": "model_a", "model_id_b": "model_b", "scene_a": "scene"}
    return won.rename(columns=names).assign(label=np.sign(won["apart"]).astype(int))


def mean_ranks(boards: Sequence[Leaderboard]) -> PaperTable | None:
    """The mean rank of each model over the benchmarks; None where there is only one benchmark to rank in."""
    ranked = [board for board in boards if len(board.ranked) > 1]
    if len(ranked) < 2:
        return None
    ranks = pd.DataFrame({board.title: board.ranked.set_index("model")["rank"] for board in ranked})
    clips = pd.concat([board.ranked.set_index("model")["clips"] for board in ranked]).groupby(level=0).sum()
    frame = pd.DataFrame({"mean rank": ranks.mean(axis=1), "in": ranks.notna().sum(axis=1), "clips": clips}).join(ranks)
    frame = frame.sort_values(["in", "mean rank"], ascending=[False, True]).rename_axis("model").reset_index()
    everywhere = int((frame["in"] == len(ranked)).sum())
    links = pd.DataFrame(
        {
            board.title: [
                f"#{anchor(board.benchmark, model)}" if pd.notna(rank) else ""
                for model, rank in zip(frame["model"], frame[board.title], strict=True)
            ]
            for board in ranked
        }
    )
    notes = [
        "in: benchmarks in which the model has a rank. Models that are in more benchmarks come first; mean ranks over different "
        "benchmarks cannot be compared.",
        f"{everywhere} of {len(frame)} models are in all {len(ranked)} benchmarks.",
    ]
    digits = dict.fromkeys(ranks, 1)
    return PaperTable("mean-ranks", "Mean rank over all benchmarks", frame, ["model"], digits, links=links, notes=notes)
