"""What a dataset holds, as tables: MBench's table 4, MemoBench's table S2, WRBench's event factors, prompts and durations."""

from __future__ import annotations

import pandas as pd

from lookback.clips import KEYS
from lookback.benchmarks.wrbench.natural25 import LEVELS

MBENCH_SUBSETS = ("human", "object", "environment", "causal")


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


def mbench_composition(clips: pd.DataFrame) -> pd.DataFrame:
    """MBench table 4: number of evaluation samples per subset in A and in T, with totals."""
    samples = clips[clips["benchmark"] == "mbench"].drop_duplicates(["setting", "subset", "sample_id"])
    counts = pd.crosstab(samples["subset"], samples["setting"]).reindex(
        index=list(MBENCH_SUBSETS), columns=["A", "T"], fill_value=0
    )
    counts["total"] = counts.sum(axis=1)
    counts.loc["total"] = counts.sum()
    return counts.rename_axis(columns=None).reset_index(names="subset")


def trajectory_statistics(clips: pd.DataFrame, screen: pd.DataFrame) -> pd.DataFrame:
    """MemoBench table S2: clips, mean total camera rotation (deg) and mean gap (frames) by subset and trajectory class.

    A clip counts once, however many models generated it. `n_rotation` and `n_gap` say how many clips carry the value.
    """
    rows = screen[screen["benchmark"] == "memobench"].drop_duplicates(["setting", "clip_id"])
    rows = rows.assign(trajectory=rows["trajectory"].replace("", "no poses"), gap=rows["gap_frames"].astype("float64"))
    table = rows.groupby(["setting", "trajectory"], sort=True).agg(
        n_clips=("clip_id", "size"),
        rotation_deg=("total_rotation_deg", "mean"),
        gap_frames=("gap", "mean"),
        n_rotation=("total_rotation_deg", "count"),
        n_gap=("gap", "count"),
    )
    return table.reset_index().rename(columns={"setting": "subset"})


def event_factor_coverage(clips: pd.DataFrame) -> pd.DataFrame:
    """WRBench's 2x2 of spatial displacement and state change by action and camera: clips, scenes and models in every cell.

    Cells without a clip stay in with 0, so that a hole in the design is seen.
    """
    rows = clips[(clips["benchmark"] == "wrbench") & (clips["event_level"] != "")]
    cells = rows.groupby(["event_level", "event_action", "camera"], sort=True).agg(
        n_clips=("clip_id", "size"), n_scenes=("scene", "nunique"), n_models=("model_id", "nunique")
    )
    axes = [list(LEVELS), sorted(rows["event_action"].unique()), sorted(rows["camera"].unique())]
    full = cells.reindex(pd.MultiIndex.from_product(axes, names=cells.index.names), fill_value=0).reset_index()
    full.insert(1, "spatial", full["event_level"].isin(["spatial", "full"]))
    full.insert(2, "state", full["event_level"].isin(["state", "full"]))
    return full


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
