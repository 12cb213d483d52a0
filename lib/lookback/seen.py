"""What one sees in the tables of a stage, in sentences: each number in them is counted from the table that it is about."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from lookback.clips import KEYS
from lookback.curation.contents import refusals
from lookback.errors import Reason
from lookback.names import counted

TASK = ["benchmark", "setting", "subset"]
FEWEST_SCENES = 5  # with fewer, models differ by their scenes alone


def curation(clips: pd.DataFrame, screen: pd.DataFrame, rejected: pd.DataFrame) -> Iterator[str]:
    """Of the clips: how many there are, whether they test memory, and where there are too few scenes."""
    models, benchmarks = clips["model_id"].nunique(), clips["benchmark"].nunique()
    whose = f"{counted(models, 'model')} from {counted(benchmarks, 'benchmark')}"
    yield f"{_n(clips, 'clip')} of {whose} can be used; {refusals(rejected) if len(rejected) else 'no clip rejected'}."
    known = screen[screen["departs"].notna()]
    if len(known):
        tests = int((known["departs"].astype(bool) & known["returns"].fillna(False).astype(bool)).sum())
        others = len(known) - tests
        yield (
            f"What the camera is asked to do is known for {_n(known, 'clip')}. {tests} of them belong{'s' * (tests == 1)} to "
            f"{'a task that asks' if tests == 1 else 'tasks that ask'} for a look away and back, so that memory is tested if the "
            f"model follows; {others} do{'es' * (others == 1)} not."
        )
    scenes = clips.groupby(TASK)["scene"].nunique()
    single = int((scenes < 2).sum())
    if single:
        have, their = ("has", "its") if single == 1 else ("have", "their")
        yield f"{single} of {counted(len(scenes), 'subset')} {have} a single scene: {their} means get no interval over scenes."


def extraction(artifacts: pd.DataFrame) -> Iterator[str]:
    """Of the artifacts: how many were made, by what, and what is missing most."""
    made = artifacts[artifacts["reason"] == ""]
    yield f"{len(made)} of {_n(artifacts, 'artifact')} {_were(made)} made ({_share(made, artifacts)})."
    for role, rows in made.groupby("role"):
        if rows["backend"].nunique() > 1:
            counts = rows["backend"].value_counts()
            parts = ", ".join(f"{name} for {counted(count, 'clip')}" for name, count in counts.items())
            yield f"The role {role} comes from more than one source: {parts}. Scores from two sources are not the same measure."
    yield from _reasons(artifacts, "artifact")


def scoring(items: pd.DataFrame) -> Iterator[str]:
    """Of the scores: how many have a value, why others have none, and which metric tells the models apart best."""
    valued = items[items["reason"] == ""]
    has = "has" if len(valued) == 1 else "have"
    yield f"{len(valued)} of {_n(items, 'score')} {has} a value ({_share(valued, items)})."
    yield from _reasons(items, "score")
    empty = sorted(set(items["metric"]) - set(valued["metric"]))
    if empty:
        yield f"{counted(len(empty), 'metric')} gave no value at all: {', '.join(empty)}."
    for benchmark, rows in valued.groupby("benchmark"):
        explained = {key: _explained(each) for key, each in rows.groupby(["metric", "phase"])}
        best = max(((share, key) for key, share in explained.items() if share is not None), default=None)
        if best is not None:
            name = " ".join(part for part in best[1] if part)
            share = f"the model explains {best[0]:.0%} of the variance between clips"
            yield f"In {benchmark}, {name} tells the models apart best: {share}."


def judging(judgements: pd.DataFrame, gated: pd.DataFrame, right: pd.DataFrame) -> Iterator[str]:
    """Of the answers: who gave them, what the gate removed, and how often a judge was right where the truth is known."""
    simulated = int(judgements["simulated"].sum())
    yield f"{_n(judgements, 'answer')} {_were(judgements)} given, {simulated} of them by a simulated judge."
    removed = gated[gated["reason"] == Reason.NOT_TRIGGERED]
    if len(removed):
        yield f"The gate removed {_n(removed, 'score')} of {_clips(removed)}: the memory challenge did not happen there."
    for row in right[right["decision"] == "both"].to_dict("records"):
        decided = f"{row['right']} of {counted(row['clips'], 'decision')} whose answer is known ({row['share']:.0%})"
        yield f"The judge {row['judge']} is right in {decided}."


def forensics(failures: pd.DataFrame, clips: pd.DataFrame, abstentions: pd.DataFrame) -> Iterator[str]:
    """Of the findings: how many clips have one, the most common and the surest, and what was not decided."""
    hit = failures[KEYS].drop_duplicates()
    yield f"{_n(failures, 'failure')} {_were(failures)} found in {len(hit)} of {_n(clips, 'clip')}."
    if len(failures):
        labels, most = _most_common(failures["label"])
        is_in = f"is {_words(labels[0])}, in" if len(labels) == 1 else f"are {_words(', '.join(labels))}, each in"
        yield f"The most common {is_in} {counted(most, 'clip')}."
        surest = failures.loc[failures["confidence"].astype(float).idxmax()]
        yield (
            f"The surest is {_words(surest['label'])} in {surest['clip_id']} of {surest['model_id']}, "
            f"frames {surest['frame_start']} to {surest['frame_end']} "
            f"(probability {surest['confidence']:.2f}): {surest['evidence']}."
        )
    yield from _reasons(abstentions, "decision")


def audit(failures: pd.DataFrame) -> Iterator[str]:
    """Of the injected failures: how many are noticed by a metric that is meant for them, and which are not."""
    if failures.empty:
        return
    for verdict, rows in failures.groupby("verdict", sort=False):
        yield f"{len(rows)} of {len(failures)} injected failures: {verdict} ({', '.join(map(_words, rows['failure']))})."
    smallest = failures["n"][failures["n"] > 0].min()
    if pd.notna(smallest):
        yield f"The smallest number of compared clips behind a verdict is {int(smallest)}: read verdicts on so few as examples."


def _reasons(rows: pd.DataFrame, what: str) -> Iterator[str]:
    """The most common reason why something is missing, or the reasons that share this place."""
    given = rows["reason"][rows["reason"] != ""]
    if len(given):
        are = "is" if len(given) == 1 else "are"
        reasons, most = _most_common(given)
        which = f"reason is {reasons[0]} ({most})" if len(reasons) == 1 else f"reasons are {', '.join(reasons)} ({most} each)"
        yield f"{counted(len(given), what)} {are} missing; the most common {which}."


def _most_common(values: pd.Series) -> tuple[list[str], int]:
    """The values that are there most often, and how often each."""
    counts = values.value_counts()
    return sorted(counts.index[counts == counts.iloc[0]]), int(counts.iloc[0])


def _explained(rows: pd.DataFrame) -> float | None:
    """The share of the variance of a metric's scores that the model explains (eta squared); None where a model has too few scenes.

    Without the column `scene`, tasks are counted: there are at least as many tasks as scenes.
    """
    values = rows["value"].astype(float)
    scenes = rows["scene"] if "scene" in rows else rows["setting"] + "/" + rows["clip_id"]
    seen = scenes.groupby(rows["model_id"]).nunique()
    total = ((values - values.mean()) ** 2).sum()
    if len(seen) < 2 or (seen < FEWEST_SCENES).any() or not total > 0:
        return None
    means = values.groupby(rows["model_id"]).transform("mean")
    return float(((means - values.mean()) ** 2).sum() / total)


def _n(rows: pd.DataFrame, what: str) -> str:
    return counted(len(rows), what)


def _were(rows: pd.DataFrame) -> str:
    return "was" if len(rows) == 1 else "were"


def _clips(rows: pd.DataFrame) -> str:
    return _n(rows[KEYS].drop_duplicates(), "clip")


def _share(part: pd.DataFrame, whole: pd.DataFrame) -> str:
    return f"{len(part) / len(whole):.0%}" if len(whole) else "nothing was asked for"


def _words(name: str) -> str:
    return str(name).replace("_", " ")
