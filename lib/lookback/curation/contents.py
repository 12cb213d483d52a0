"""Tables of a dataset: what it holds, what is missing or double, and how many clips look away and back."""

from __future__ import annotations

import pandas as pd

from lookback.benchmark import ContentTable
from lookback.clips import KEYS
from lookback.errors import Reason
from lookback.registry import BENCHMARKS


def composition(clips: pd.DataFrame) -> pd.DataFrame:
    """Per benchmark, setting and subset: clips, samples, models, conditions, scenes, frames and minutes."""
    groups = clips.assign(minutes=clips["n_frames"].astype("float64") / clips["fps"] / 60).groupby(
        ["benchmark", "setting", "subset"], sort=True
    )
    return groups.agg(
        clips=("clip_id", "size"),
        samples=("sample_id", "nunique"),
        models=("model_id", "nunique"),
        conditions=("condition_id", "nunique"),
        scenes=("scene", "nunique"),
        frames=("n_frames", "sum"),
        minutes=("minutes", "sum"),
    ).reset_index()


def benchmark_contents(clips: pd.DataFrame, screen: pd.DataFrame) -> list[ContentTable]:
    """The tables with which each benchmark's paper describes its dataset."""
    return [
        table
        for benchmark in (BENCHMARKS.get(name) for name in sorted(clips["benchmark"].unique()))
        for table in benchmark.contents(*(frame[frame["benchmark"] == benchmark.name] for frame in (clips, screen)))
    ]


def prompt_words(clips: pd.DataFrame) -> pd.Series:
    """Number of words of every clip's prompt."""
    return clips["prompt"].str.split().str.len().astype("float64")


GROUP = ["benchmark", "setting"]


def missing_counterparts(clips: pd.DataFrame) -> pd.DataFrame:
    """A row for every clip that a model should have and does not have.

    A clip is expected from every model of its benchmark and setting. Where all settings are one task list, it is expected from
    every model of the benchmark.
    """
    rows = []
    for (benchmark, setting), group in clips.groupby(GROUP, sort=True):
        everything = set(group["clip_id"])
        for model in expected_models(clips, str(benchmark), str(setting)):
            own = set(group.loc[group["model_id"] == model, "clip_id"])
            rows += [(benchmark, setting, model, clip) for clip in sorted(everything - own)]
    return pd.DataFrame(rows, columns=KEYS)


def expected_models(clips: pd.DataFrame, benchmark: str, setting: str) -> list[str]:
    """The models that should have every clip of a setting."""
    rows = clips[clips["benchmark"] == benchmark]
    rows = rows if BENCHMARKS.get(benchmark).one_task_list else rows[rows["setting"] == setting]
    return sorted(rows["model_id"].unique())


def model_coverage(clips: pd.DataFrame) -> pd.DataFrame:
    """Per model: how many clips of its setting it has, and how many are missing."""
    rows = []
    for (benchmark, setting), group in clips.groupby(GROUP, sort=True):
        total = group["clip_id"].nunique()
        for model in expected_models(clips, str(benchmark), str(setting)):
            have = int((group["model_id"] == model).sum())
            rows.append((benchmark, setting, model, have, total, total - have))
    return pd.DataFrame(rows, columns=[*GROUP, "model_id", "clips", "clips_in_setting", "missing"])


def duplicates(screen: pd.DataFrame) -> pd.DataFrame:
    """Clips whose videos are the same bytes: one row per copy, with the clip (first in key order) it repeats."""
    return screen.loc[screen["duplicate_of"] != "", [*KEYS, "duplicate_of"]].reset_index(drop=True)


def ground_truth_mismatches(screen: pd.DataFrame) -> pd.DataFrame:
    """Clips whose length, rate or size differs from the ground truth or from the request, with a description."""
    return screen.loc[screen["mismatch"] != "", [*KEYS, "mismatch"]].reset_index(drop=True)


def challenge_screen(screen: pd.DataFrame) -> pd.DataFrame:
    """Per benchmark, setting and model: clips that leave their view, that come back, that are unknown, and the median gap.

    A memory benchmark measures nothing when its clips never look away. This table shows it before anything is scored.
    """
    rows = screen.assign(
        left=screen["departs"].fillna(False).astype(bool),
        back=screen["returns"].fillna(False).astype(bool),
        unknown=screen["departs"].isna(),
        gap=screen["gap_frames"].astype("float64").where(screen["returns"].fillna(False).astype(bool)),
    )
    return (
        rows.groupby([*GROUP, "model_id"], sort=True)
        .agg(
            clips=("clip_id", "size"),
            departs=("left", "sum"),
            returns=("back", "sum"),
            unknown=("unknown", "sum"),
            gap_median=("gap", "median"),
        )
        .reset_index()
    )


def refusals(rejected: pd.DataFrame) -> str:
    """The rejected items in words: clips, tasks whose ground truth is not there (their clips stay), and other files."""
    video = rejected["field"] == "video"
    truth = (rejected["field"] == "ground_truth") & (rejected["reason"] == Reason.MISSING_INPUT)
    counts = {
        "clip{} rejected": rejected.loc[video, "path"].nunique(),
        "task{} without ground truth": len(rejected[truth].drop_duplicates(["path", "problem"])),
        "file{} that cannot be used": rejected.loc[~video & ~truth, "path"].nunique(),
    }
    said = [f"{count:,} {words.format('' if count == 1 else 's')}" for words, count in counts.items() if count]
    return ", ".join(said) or "no clip rejected"
