"""Cases worth looking at: pairs of clips whose scores show something that a mean hides, as in WRBench's appendix E.

The standing of a clip on an axis is its rank among all clips with that metric in that setting, from 0 (worst) to 1 (best).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TypedDict

import numpy as np
import pandas as pd

from lookback.agreement.plan import load_plan
from lookback.clips import KEYS
from lookback.errors import LookbackError
from lookback.registry import METRICS
from lookback.scoring.direction import better_sign

TOP_PER_KIND = 2
MIN_SPREAD = 0.03  # standard deviation divided by the metric's scale: with a smaller spread, all clips score the same
MIN_CLIPS = 4  # with fewer scores there is no standing
OPPOSITE = ("yaw_LR", "yaw_RL")
TASK = ["benchmark", "setting", "clip_id"]
SCALE = "(0 worst, 1 best)"


class Case(TypedDict):
    """Two clips and what their scores show. `axis` is the score they differ in, `other_axis` one they are compared with."""

    kind: str
    benchmark: str
    setting: str
    clip_a: str
    model_a: str
    clip_b: str
    model_b: str
    axis: str
    score_a: float | None
    score_b: float | None
    other_axis: str
    other_a: float | None
    other_b: float | None
    strength: float
    words: str


def standings(gated: pd.DataFrame) -> pd.DataFrame:
    """Score and standing of every clip on every axis. Default variants only, and the return phase if a metric has phases."""
    frame = gated[gated["value"].notna() & gated["phase"].isin(["", "R"])].copy()
    frame = frame[frame["variant"] == frame["metric"].map({spec.name: spec.default_variant for spec in METRICS})]
    frame["axis"] = frame["metric"].str.split(".").str[-1]
    sign = frame["metric"].map(better_sign).astype(float)
    frame = frame.assign(oriented=frame["value"] * sign)[sign != 0]
    groups = frame.groupby(["benchmark", "setting", "metric", "phase"])["oriented"]
    frame = frame[groups.transform("size") >= MIN_CLIPS].copy()
    ranks = frame.groupby(["benchmark", "setting", "metric", "phase"])["oriented"]
    size = ranks.transform("size")
    frame["standing"] = (ranks.rank(method="average") - 1) / (size - 1)
    scale = frame["metric"].map(_scale).astype("float64").fillna(ranks.transform("mean").abs())
    frame = frame[ranks.transform("std") >= MIN_SPREAD * scale]
    return frame[[*KEYS, "metric", "axis", "value", "standing"]].reset_index(drop=True)


def _scale(metric: str) -> float | None:
    """Width of a metric's declared range; None if it is unbounded (the mean then sets the scale)."""
    low, high = METRICS.get(metric).range
    return float(high - low) if low is not None and high is not None and np.isfinite([low, high]).all() else None


def mine_cases(tables: dict[str, pd.DataFrame], plan: str) -> pd.DataFrame:
    """The strongest case of every kind, then the second strongest."""
    stands = standings(tables["gated"])
    kinds = [
        _top(matched_contrasts(stands)),
        _top(direction_cases(stands, tables["clips"])),
        _top(paradoxes(stands)),
        _top(hardest(stands)),
        _top(disagreements(stands, tables["ratings"], plan)),
    ]
    ranked = [kind[place] for place in range(TOP_PER_KIND) for kind in kinds if place < len(kind)]
    return pd.DataFrame(ranked, columns=list(Case.__annotations__))


def _top(cases: list[Case]) -> list[Case]:
    """The strongest cases, at most one per task."""
    chosen: list[Case] = []
    for case in sorted(cases, key=lambda case: (-case["strength"], case["clip_a"], case["model_a"], case["model_b"])):
        if all(case["clip_a"] != other["clip_a"] for other in chosen):
            chosen.append(case)
    return chosen[:TOP_PER_KIND]


def matched_contrasts(stands: pd.DataFrame) -> list[Case]:
    """Two models on the same task that differ clearly on one axis and hardly on the others."""
    cases = []
    for key, task in stands.groupby(TASK):
        wide = task.pivot_table(index="model_id", columns="axis", values="standing")
        for a, b in combinations(wide.index, 2):
            gap = (wide.loc[a] - wide.loc[b]).dropna()
            if len(gap) < 3:
                continue
            axis = str(gap.abs().idxmax())
            others = gap.drop(axis)
            strength = abs(float(gap[axis])) - float(others.abs().max())
            better, worse = (a, b) if gap[axis] > 0 else (b, a)
            nearest = str(others.abs().idxmin())
            words = (
                f"same task, standings on {len(others)} other axes within {others.abs().max():.2f}, but {axis}: {_apart(gap[axis])}"
            )
            cases.append(_case("matched contrast", key, (key[2], worse), (key[2], better), axis, nearest, task, strength, words))
    return cases


def paradoxes(stands: pd.DataFrame) -> list[Case]:
    """A clip that is good on one axis and bad on another, with the best other clip of the task on the bad axis."""
    cases = []
    for key, task in stands.groupby(TASK):
        for model, clip in task.groupby("model_id"):
            best, worst = clip.loc[clip["standing"].idxmax()], clip.loc[clip["standing"].idxmin()]
            rivals = task[(task["axis"] == worst["axis"]) & (task["model_id"] != model)]
            if rivals.empty or best["axis"] == worst["axis"]:
                continue
            rival = rivals.loc[rivals["standing"].idxmax(), "model_id"]
            words = f"standing {best['standing']:.2f} on {best['axis']} but {worst['standing']:.2f} on {worst['axis']} {SCALE}"
            strength = float(best["standing"] - worst["standing"])
            cases.append(
                _case(
                    "metric paradox",
                    key,
                    (key[2], str(model)),
                    (key[2], str(rival)),
                    worst["axis"],
                    best["axis"],
                    task,
                    strength,
                    words,
                )
            )
    return cases


def direction_cases(stands: pd.DataFrame, clips: pd.DataFrame) -> list[Case]:
    """One model and scene with opposite camera turns: the axis on which the two clips differ most."""
    yaws = clips[clips["condition_id"].isin(OPPOSITE)][[*KEYS, "scene", "event_level", "condition_id"]]
    cases = []
    for (benchmark, setting, model, _), group in yaws.groupby(["benchmark", "setting", "model_id", "scene"]):
        left, right = (group[group["condition_id"] == name] for name in OPPOSITE)
        own = stands[(stands["benchmark"] == benchmark) & (stands["setting"] == setting) & (stands["model_id"] == model)]
        for a, b in ((a, b) for a in left.itertuples() for b in right.itertuples()):
            wide = own.pivot_table(index="axis", columns="clip_id", values="standing")
            if a.clip_id not in wide.columns or b.clip_id not in wide.columns:
                continue
            gap = (wide[a.clip_id] - wide[b.clip_id]).dropna()
            if gap.empty or gap.abs().max() == 0:
                continue
            axis, same = str(gap.abs().idxmax()), a.event_level == b.event_level
            event = f"event {a.event_level}" if same else f"events {a.event_level} and {b.event_level}"
            words = f"one model and scene ({event}), opposite yaw: {axis} {_apart(gap[axis])}"
            strength = abs(float(gap[axis])) + (1.0 if same else 0.0)
            pair = ((a.clip_id, str(model)), (b.clip_id, str(model)))
            cases.append(_case("direction contrast", (benchmark, setting), *pair, axis, "", own, strength, words))
    return cases


def hardest(stands: pd.DataFrame) -> list[Case]:
    """Tasks with a low mean standing over all models, with their best and worst model."""
    cases = []
    for key, task in stands.groupby(TASK):
        means = task.groupby("model_id")["standing"].mean().sort_values(kind="stable")
        if len(means) < 2:
            continue
        apart = task.pivot_table(index="axis", columns="model_id", values="standing")
        axis = str((apart[means.index[-1]] - apart[means.index[0]]).fillna(-1).idxmax())
        words = f"mean standing {means.mean():.2f} over {len(means)} models {SCALE}"
        pair = ((key[2], str(means.index[0])), (key[2], str(means.index[-1])))
        cases.append(_case("hardest task", key, *pair, axis, "", task, 1 - float(means.mean()), words))
    return cases


def disagreements(stands: pd.DataFrame, ratings: pd.DataFrame, plan: str) -> list[Case]:
    """Pairs of clips for which most people prefer one clip and the metric of the plan prefers the other."""
    try:
        families = load_plan(plan).families.values()
    except LookbackError:
        return []
    pairs = ratings[ratings["task"] == "pairwise"]
    columns = ["benchmark", "setting", "dimension", "clip_a", "model_a", "clip_b", "model_b"]
    votes = pairs.assign(vote=pd.to_numeric(pairs["label"], errors="coerce")).dropna(subset=["vote"]).groupby(columns)
    standing = stands.set_index([*KEYS, "metric"])["standing"].to_dict()
    cases = []
    for key, ballots in votes:
        ballot, who = ballots["vote"], "simulated people" if ballots["simulated"].any() else "people"
        benchmark, setting, dimension, clip_a, model_a, clip_b, model_b = key
        metric = next(
            (
                f.dimensions[dimension].metric_of(setting)
                for f in families
                if f.benchmark == benchmark and dimension in f.dimensions
            ),
            None,
        )
        sides = [standing.get((benchmark, setting, model, clip, metric)) for model, clip in ((model_a, clip_a), (model_b, clip_b))]
        preference = float(ballot.mean())
        if None in sides or abs(preference) < 0.5:
            continue
        gap = float(sides[0] - sides[1])
        if np.sign(gap) * np.sign(preference) >= 0:
            continue
        words = (
            f"{len(ballot)} {who} prefer {'the first' if preference > 0 else 'the second'} ({abs(preference):.0%}) for {dimension}"
        )
        task = stands[(stands["benchmark"] == benchmark) & (stands["setting"] == setting)]
        axis = str(metric).split(".")[-1]
        key3 = (benchmark, setting, clip_a)
        strength = abs(gap) * abs(preference)
        cases.append(_case("metric against people", key3, (clip_a, model_a), (clip_b, model_b), axis, "", task, strength, words))
    return cases


def _apart(gap: float) -> str:
    return f"standings apart by {abs(gap):.2f} {SCALE}"


def _case(
    kind: str,
    key: Sequence[str],
    a: tuple[str, str],
    b: tuple[str, str],
    axis: str,
    other: str,
    task: pd.DataFrame,
    strength: float,
    words: str,
) -> Case:
    value = {(row.clip_id, row.model_id, row.axis): row.value for row in task.itertuples()}
    return Case(
        kind=kind,
        benchmark=key[0],
        setting=key[1],
        clip_a=a[0],
        model_a=a[1],
        clip_b=b[0],
        model_b=b[1],
        axis=axis,
        score_a=value.get((*a, axis)),
        score_b=value.get((*b, axis)),
        other_axis=other,
        other_a=value.get((*a, other)),
        other_b=value.get((*b, other)),
        strength=strength,
        words=words,
    )
