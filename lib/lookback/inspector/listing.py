"""The list of clips: what the page sorts and filters by, the values of a metric, and the exported table."""

from __future__ import annotations

import math

import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.errors import UsageError
from lookback.inspector.marks import SELECTED, NoteBook, TagBook
from lookback.inspector.run import RunView
from lookback.scoring.direction import more_is_better

Json = dict[str, object]


def listing(run: RunView, tags: dict[str, list[str]]) -> Json:
    """Every clip with what can be filtered without asking again; a prompt that many clips share is sent once."""
    prompts: dict[str, int] = {}
    failures = _failures(run)
    clips = [
        {
            "label": clip.label,
            "model": clip.model_id,
            "scene": clip.scene,
            "prompt": prompts.setdefault(clip.prompt, len(prompts)),
            "failures": failures.get(clip.key, []),
            "tags": tags.get(clip.label, []),
        }
        for clip in run.clips.values()
    ]
    scores = run.tables["scores"]
    metrics = sorted(scores.loc[scores["value"].notna(), "shown"].unique())
    return {"run": run.name, "clips": clips, "prompts": list(prompts), "metrics": metrics}


def _failures(run: RunView) -> dict[tuple[str, ...], list[list[object]]]:
    """Clip -> [label, confidence, first frame] of its failures, the surest first."""
    rows = run.tables["failures"].sort_values("confidence", ascending=False, kind="stable")
    found: dict[tuple[str, ...], list[list[object]]] = {}
    for *key, label, confidence, frame in rows[[*KEYS, "label", "confidence", "frame_start"]].itertuples(index=False):
        sure = None if pd.isna(confidence) else round(float(confidence), 3)
        found.setdefault(tuple(key), []).append([label, sure, None if pd.isna(frame) else int(frame)])
    return found


def values_of(run: RunView, metric: str) -> list[float | None]:
    """A metric's value for every clip, in the order of the list; None where it has none."""
    scores = run.tables["scores"]
    rows = scores[(scores["shown"] == metric) & scores["value"].notna()]
    if rows.empty:
        raise UsageError(f"There is no value of '{metric}' in '{run.name}'")
    found = dict(zip(map(tuple, rows[KEYS].to_numpy()), rows["value"], strict=True))
    return [round(float(found[key]), 6) if key in found and math.isfinite(found[key]) else None for key in run.clips]


def worst_is_least(run: RunView, metric: str) -> bool:
    """Whether more is better for this metric; asked only when one is chosen, because the declarations take a second to load."""
    scores = run.tables["scores"]
    first = scores[scores["shown"] == metric].iloc[0]
    return more_is_better(str(first["metric"]), str(first["phase"])) is not False


def exported(run: RunView, tags: TagBook, notes: NoteBook, only: str, metrics: list[str]) -> pd.DataFrame:
    """The clips that are selected, that have a tag, or all: keys, tags, note, failures, the metrics' values and the video."""
    given, said, failures = tags.tags(), notes.all(), _failures(run)

    def wanted(clip: Clip) -> bool:
        own = given.get(clip.label, [])
        return only == "all" or (SELECTED in own if only == SELECTED else bool(own))

    rows = [
        {
            **dict(zip(KEYS, clip.key, strict=True)),
            "selected": SELECTED in given.get(clip.label, []),
            "tags": "; ".join(tag for tag in given.get(clip.label, []) if tag != SELECTED),
            "note": str(said.get(clip.label, "")),
            "failures": "; ".join(f"{label} from frame {frame}" for label, _, frame in failures.get(clip.key, [])),
            "video": clip.video,
        }
        for clip in run.clips.values()
    ]
    table = pd.DataFrame(rows).assign(**{metric: values_of(run, metric) for metric in metrics})
    return table[[wanted(clip) for clip in run.clips.values()]]
