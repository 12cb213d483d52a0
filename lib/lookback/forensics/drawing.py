"""Choose the pictures of a run, write their captions and draw them in several processes."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lookback.clips import KEYS, Clip, clips_from_frame
from lookback.figures import save_figure
from lookback.forensics.collect import ProbeTask, tasks_of
from lookback.forensics.evidence import Evidence
from lookback.forensics.pictures import MAX_CURVES, Card, Side, Span, Timeline, card_figure, phases, timeline_figure
from lookback.forensics.rules import LABELS, TITLES
from lookback.params import RunParams
from lookback.progress import track
from lookback.registry import METRICS
from lookback.workers import run_tasks

Tables = dict[str, pd.DataFrame]
ClipKey = tuple[str, ...]
FIGURES_PER_WORKER = 10  # for fewer figures another process is not worth its start-up time


@dataclass(frozen=True)
class DrawTask:
    """One picture: a timeline of one clip, or a card of two."""

    folder: Path
    name: str
    count: int
    card: Card | None = None
    seen: Evidence | None = None
    source: ProbeTask | None = None
    spans: tuple[Span, ...] = ()
    curves: pd.DataFrame | None = None
    heading: str = ""
    caption: str = ""


def draw(params: RunParams, tables: Tables, seen: list[Evidence], cases: pd.DataFrame) -> list[Path]:
    """Draw timelines of the clearest failures (label by label) and cards of the cases; delete older pictures."""
    folder = params.paths.figures / "forensics"
    tasks = [*timeline_tasks(params, tables, seen, folder), *card_tasks(params, tables, cases, folder)]
    for old in folder.glob("*"):
        if old.stem not in {task.name for task in tasks}:
            old.unlink()
    workers = min(params.workers, len(tasks) // FIGURES_PER_WORKER)
    for _ in track(run_tasks(draw_task, tasks, workers), "drawing", total=len(tasks), unit="figure"):
        pass
    return [folder / f"{task.name}.png" for task in tasks]


def draw_task(task: DrawTask) -> None:
    """Draw and save one picture."""
    if task.card is not None:
        save_figure(card_figure(task.card, task.count), task.folder, task.name, task.card.caption)
        return
    assert task.seen is not None and task.source is not None and task.curves is not None
    what = Timeline(task.seen, task.source.inputs(), list(task.spans), task.curves, task.heading, task.caption)
    save_figure(timeline_figure(what, task.count), task.folder, task.name, task.caption)


def chosen_failures(failures: pd.DataFrame, most: int) -> list[dict[str, Any]]:
    """Up to `most` failures: the surest of each label, then the second surest of each, and so on. No clip comes twice."""
    waiting = {label: list(rows.to_dict("records")) for label, rows in failures.sort_values([*KEYS]).groupby("label")}
    for rows in waiting.values():
        rows.sort(key=lambda row: -row["confidence"])
    chosen: list[dict[str, Any]] = []
    while len(chosen) < most and any(waiting.values()):
        for label in LABELS:
            rows = waiting.get(label, [])
            while rows and any(all(rows[0][name] == other[name] for name in KEYS) for other in chosen):
                rows.pop(0)
            if rows and len(chosen) < most:
                chosen.append({str(name): value for name, value in rows.pop(0).items()})
    return chosen


def timeline_tasks(params: RunParams, tables: Tables, seen: list[Evidence], folder: Path) -> list[DrawTask]:
    evidence = {clip.clip.key: clip for clip in seen}
    curves = frame_curves(tables["units"])
    sources = {task.clip.key: task for task in tasks_of([clip.clip for clip in seen], tables["artifacts"], params.paths.artifacts)}
    tasks = []
    for number, row in enumerate(chosen_failures(tables["failures"], params.forensics.max_cases), start=1):
        key = tuple(row[name] for name in KEYS)
        clip = evidence[key]
        own = tables["failures"][(tables["failures"][KEYS] == list(key)).all(axis=1)]
        spans = tuple(_spans(own))
        names = f"timeline_{number:02d}_{row['label']}"
        heading = f"{TITLES[row['label']]}: {clip.clip.model_id}, {clip.clip.benchmark} {clip.clip.clip_id}"
        tasks.append(
            DrawTask(
                folder,
                names,
                params.forensics.frames_per_montage,
                seen=clip,
                source=sources[key],
                spans=spans,
                curves=curves.get(key, pd.DataFrame(columns=["metric", "frame", "value"])),
                heading=heading,
                caption=_timeline_caption(clip, row, own),
            )
        )
    return tasks


def _spans(failures: pd.DataFrame) -> list[Span]:
    return [Span(int(row.frame_start), int(row.frame_end), TITLES[row.label]) for row in failures.itertuples()]


def _timeline_caption(seen: Evidence, row: dict[str, Any], own: pd.DataFrame) -> str:
    spans = phases(seen)
    where = ", ".join(f"{name} {start} to {end - 1}" for name, start, end in spans) or "no mask"
    others = [TITLES[label] for label in own["label"] if label != row["label"]]
    also = f" Also found: {', '.join(others)}." if others else ""
    return (
        f"{seen.clip.label}: {TITLES[row['label']]} (confidence {row['confidence']:.2f}, frames {row['frame_start']} to "
        f"{row['frame_end']}, "
        f"framed and hatched): {row['evidence']}. Phases by the subject's mask: {where}.{also} "
        "Yellow outlines the subject's mask, pink its track over the last frames. Below: a late frame against its reference, "
        "in the reference's view."
    )


def frame_curves(units: pd.DataFrame) -> dict[ClipKey, pd.DataFrame]:
    """Per clip, up to three metrics with values per frame: default variants, the longest curves first."""
    default = {spec.name: spec.default_variant for spec in METRICS}
    rows = units[units["kind"].isin(["frame", "pair"]) & units["value"].notna() & units["frame"].notna()]
    rows = rows[rows["variant"] == rows["metric"].map(default)]
    rows = rows.groupby([*KEYS, "metric", "frame"])["value"].mean().reset_index()
    curves = {}
    for key, clip in rows.groupby(KEYS):
        longest = clip["metric"].value_counts(sort=False).sort_values(ascending=False, kind="stable").index[:MAX_CURVES]
        curves[key] = clip[clip["metric"].isin(longest)][["metric", "frame", "value"]]
    return curves


def card_tasks(params: RunParams, tables: Tables, cases: pd.DataFrame, folder: Path) -> list[DrawTask]:
    clips = {clip.key: clip for clip in clips_from_frame(tables["clips"])}
    failures = dict(list(tables["failures"].groupby(KEYS)))
    tasks = []
    for number, case in enumerate(cases.head(params.forensics.max_cases).to_dict("records"), start=1):
        first, second = (_side(case, end, clips, failures) for end in ("a", "b"))
        name = f"case_{number:02d}_{re.sub(r'[^a-z]+', '_', str(case['kind']))}"
        title = f"{str(case['kind']).capitalize()}: {case['words']}"
        caption = f"{title}. Above {first.heading}; below {second.heading}. Frames in which a failure was found are framed."
        tasks.append(DrawTask(folder, name, params.forensics.frames_per_montage, card=Card(title, (first, second), caption)))
    return tasks


def _side(case: Mapping[Hashable, Any], end: str, clips: Mapping[Any, Clip], failures: Mapping[ClipKey, pd.DataFrame]) -> Side:
    clip = clips[case["benchmark"], case["setting"], case[f"model_{end}"], case[f"clip_{end}"]]
    own = failures.get(clip.key)
    found = ", ".join(TITLES[label] for label in own["label"]) if own is not None else "no failure found"
    scores = [
        f"{axis} {case[f'{name}_{end}']:.3g}"
        for name, axis in (("score", case["axis"]), ("other", case["other_axis"]))
        if pd.notna(case[f"{name}_{end}"])
    ]
    heading = f"{clip.model_id} on {clip.clip_id}: {', '.join(scores)}; {found}"
    return Side(clip, heading, _spans(own) if own is not None else [])
