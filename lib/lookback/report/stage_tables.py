"""Tables of other stages, prepared for the page: text columns, counts, and what the audit covered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from lookback.clips import KEYS
from lookback.forensics.score import macro_f1
from lookback.registry import METRICS
from lookback.tables import read_csv

ROWS = 30  # shown of a long agreement table
COUNT = re.compile(r"(^|_)n(_|$)")  # names of columns with counts
NAMES = (  # columns of the agreement tables that hold names
    *("family", "benchmark", "setting", "dimension", "subset", "question", "scene", "cluster", "item", "annotator"),
    *("model", "model_id", "model_a", "model_b", "first", "second", "clip_a", "clip_b"),
)
AUDIT = {
    "failures": (
        "Who catches what",
        ("failure", "verdict", "n", "detected_from", "meant_and_best", "meant_correlation"),
        (
            "n: failing clips that the metric in meant_and_best scored; below two, a failure is not measured.",
            "detected_from: the smallest severity whose mean drop exceeds what nuisances do to that metric; a dash where none "
            "does, or where no nuisance was tried on it.",
        ),
    ),
    "metrics": (
        "What to trust a metric for",
        ("measure", "sees", "misses", "also_reacts_to", "worst_nuisance"),
        (
            "In brackets the number of failing clips. Seen: the drop follows severity (rank correlation 0.5 or more) and exceeds "
            "the spread of the sound clips.",
        ),
    ),
}

FOUND = (
    ("counts", "Failures by model and split (one clip can show several)", ["benchmark", "setting", "model_id"]),
    ("cases", "Cases", ["kind", "benchmark", "setting", "clip_a", "model_a", "clip_b", "model_b", "axis", "other_axis", "words"]),
)
TRUSTED = (
    (
        "validity",
        "How far a finding can be trusted: precision and recall on the demo world and on labelled real clips (95 % intervals)",
        ["failure", "demo_precision", "demo_recall", "real_precision", "real_recall", "real_state"],
    ),
    ("scores", "Precision and recall by label; thresholds were chosen on these clips", ["label"]),
    ("confusion", "Injected failures (severity 0.5 or more) against failures found", ["injected"]),
    ("rules", "The rules", ["failure", "label", "domain", "when"]),
)


def read_named(path: Path, names: Iterable[str] = NAMES) -> pd.DataFrame:
    """A stage's table with these columns as text: a model may be called "007" or "NA"."""
    return read_csv(path, dtype=dict.fromkeys(names, str), keep_default_na=False, na_values=[""])


def without_truth(clips: pd.DataFrame, items: pd.DataFrame) -> int:
    """How many tasks lack the ground truth that a metric of their benchmark, of those in the run, needs."""
    needs = items["metric"].map(lambda name: name in METRICS and "ground_truth" in METRICS.get(name).needs).astype(bool)
    lacking = clips[clips["benchmark"].isin(items.loc[needs, "benchmark"]) & clips["ground_truth"].isna()]
    return len(lacking.drop_duplicates(["benchmark", "setting", "clip_id"]))


def text_columns(frame: pd.DataFrame) -> list[str]:
    return [str(name) for name in frame.columns if frame[name].dtype == object or str(frame[name].dtype) == "str"]


def whole_counts(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn counts back into whole numbers: a missing cell had made their column decimal."""
    numbers = frame.select_dtypes("float")
    counts = [name for name in numbers if _is_count(str(name), numbers[name].dropna())]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def with_content(frame: pd.DataFrame, labels: list[str]) -> pd.DataFrame:
    """The table without number columns that are zero or missing everywhere; empty when only the row labels and totals are left."""
    numbers = [name for name in frame if name not in labels and pd.api.types.is_numeric_dtype(frame[name])]
    idle = [name for name in numbers if not frame[name].fillna(0).astype(bool).any()]
    kept = frame.drop(columns=idle)
    return kept.head(0) if idle and not set(numbers) - set(idle) - {"clips"} else kept


def counts_in_words(frame: pd.DataFrame, labels: list[str]) -> pd.DataFrame:
    """A wide table of counts as one column of words: what was counted, the most frequent first."""
    numbers = [name for name in frame if name not in (*labels, "clips")]
    told = [
        ", ".join(f"{name} {int(count)}" for name, count in sorted(row.items(), key=lambda part: -part[1]) if count) or "none found"
        for row in frame[numbers].fillna(0).to_dict("records")
    ]
    return frame[[name for name in (*labels, "clips") if name in frame]].assign(failures=told)


def judged_failures(folder: Path, clips: int) -> pd.DataFrame:
    """A row per failure: in how many of the clips it was looked for, and why not in the others; empty without the stage's tables.

    A clip without a failure is sound only as far as it was judged.
    """
    files = [folder / f"{name}.csv" for name in ("rules", "abstentions")]
    if not all(file.is_file() for file in files):
        return pd.DataFrame()
    (rules, abstentions), rows = map(read_csv, files), []
    for rule in rules.to_dict("records"):
        reasons = abstentions.loc[abstentions["label"] == rule["label"], "reason"].value_counts()
        why = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
        rows.append({"failure": rule["failure"], "clips judged": clips - int(reasons.sum()), "not judged because": why})
    return pd.DataFrame(rows).sort_values("clips judged", ascending=False, kind="stable")


def _is_count(name: str, told: pd.Series) -> bool:
    return len(told) > 0 and bool((told % 1 == 0).all()) and (told.max() > 1 or COUNT.search(name) is not None)


def audit_reach(folder: Path) -> str:
    """A sentence about how many measures, failures and clips the audit covers."""
    names = ("failures", "sensitivity", "drops", "reactions")
    if not all((folder / f"{name}.csv").is_file() for name in names):
        return ""
    failures, table, drops, reacted = (read_csv(folder / f"{name}.csv") for name in names)
    told = table[table["rank_correlation"].notna()]
    parts = []
    if len(failures):
        clips = drops.loc[drops["drop"].notna(), KEYS].drop_duplicates()
        parts.append(
            f"{told['measure'].nunique()} measures against {told['failure'].nunique()} of {len(failures)} injected failures, on "
            f"{len(clips)} failing clips and the faithful clips of the same tasks."
        )
    if len(reacted):
        sound = reacted[["benchmark", "setting", "clip_id"]].drop_duplicates()
        parts.append(
            "Controls that break memory, and nuisances that should not matter: "
            f"{reacted['measure'].nunique()} measures on {len(sound)} sound clips."
        )
    return " ".join(parts)


def macro_f1_note(scores: pd.DataFrame) -> str:
    return f"Macro-F1 {macro_f1(scores):.2f}: the mean of F1 over the {len(scores)} labels."
