"""What a dataset holds, as tables: composition, prompts and durations; each benchmark adds the tables of its paper."""

from __future__ import annotations

import pandas as pd

from lookback.benchmark import ContentTable
from lookback.clips import KEYS
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


def prompt_statistics(clips: pd.DataFrame) -> pd.DataFrame:
    """Per benchmark and setting: tasks with and without a prompt, distinct prompts, and the number of words in them."""
    tasks = clips.drop_duplicates(["benchmark", "setting", "clip_id"])
    tasks = tasks.assign(words=prompt_words(tasks).where(tasks["prompt"] != ""))
    groups = tasks.groupby(["benchmark", "setting"], sort=True)
    table = groups.agg(
        tasks=("clip_id", "size"),
        with_prompt=("words", "count"),
        words_min=("words", "min"),
        words_median=("words", "median"),
        words_max=("words", "max"),
    )
    table.insert(2, "distinct", groups["prompt"].agg(lambda texts: texts[texts != ""].nunique()))
    return table.reset_index()


def prompt_words(clips: pd.DataFrame) -> pd.Series:
    """Number of words of every clip's prompt."""
    return clips["prompt"].str.split().str.len().astype("float64")


def duration_statistics(clips: pd.DataFrame, screen: pd.DataFrame) -> pd.DataFrame:
    """Per benchmark, setting and model: frames, seconds, rate and size of the videos; frame folders carry no rate."""
    merged = clips.merge(screen[[*KEYS, "duration_s", "n_cuts"]], on=KEYS, validate="one_to_one")
    merged = merged.assign(
        size=merged["width"].astype(str) + "x" + merged["height"].astype(str), frames=merged["n_frames"].astype("float64")
    )
    return (
        merged.groupby(["benchmark", "setting", "model_id"], sort=True)
        .agg(
            clips=("clip_id", "size"),
            frames_min=("frames", "min"),
            frames_median=("frames", "median"),
            frames_max=("frames", "max"),
            seconds_median=("duration_s", "median"),
            fps=("fps", _listed),
            sizes=("size", _listed),
            clips_with_cuts=("n_cuts", lambda cuts: int((cuts > 0).sum())),
        )
        .reset_index()
    )


def _listed(values: pd.Series) -> str:
    """The distinct values in words; 'none' for frame folders without a rate."""
    distinct = sorted(values.dropna().unique())
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in distinct) or "none"
