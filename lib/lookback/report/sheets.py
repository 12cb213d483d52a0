"""Contact sheets: eight frames of a faithful clip above eight frames of a failing one, so that the failure is easy to see."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.errors import MediaError
from lookback.paths import resolve
from lookback.strips import jpeg_html, read_strip

CELL = (200, 120)  # width, height of one frame
MOMENTS = 8  # frames per clip
TITLES = {
    "background_hallucination": "the surroundings are another place on return",
    "camera_drift": "the camera drifts off the requested path",
    "camera_inactivity": "the camera does not move as asked",
    "duplicate": "the subject comes back twice",
    "event_never_starts": "the event that should happen unseen never starts",
    "geometric_melt": "shapes melt",
    "ghosting": "frames blend into each other",
    "hard_cut": "the view jumps",
    "identity_drift": "another person or thing comes back",
    "lighting_shift": "the light has changed on return",
    "object_vanishes": "the subject is gone on return",
    "state_reset": "the event is silently undone",
    "style_shift": "the rendering style changes",
    "subject_dragged": "the subject moves with the camera instead of leaving the view",
    "teleport": "the subject comes back in another place",
    "texture_drift": "the subject's surface changes",
    "wrong_direction": "the camera turns the other way",
}


def all_sheets(clips: Mapping[Any, Clip], truth: pd.DataFrame) -> list[str]:
    """One contact sheet per injected failure, folded; nothing in a run without injected failures."""
    sheets = [
        sheet_html(name, [("faithful", _clip(clips, right)), (f"{name}, severity {wrong['severity']:g}", _clip(clips, wrong))])
        for name, right, wrong in failure_examples(truth)
    ]
    summary = f"What the injected failures look like ({len(sheets)})"
    return [f"<details><summary>{summary}</summary>{''.join(sheets)}</details>"] if sheets else []


def failure_examples(truth: pd.DataFrame) -> list[tuple[str, pd.Series, pd.Series]]:
    """(failure, faithful row, failing row): per failure the most severe clip that has a faithful counterpart."""
    task = ["benchmark", "setting", "clip_id"]
    faithful = truth[truth["severity"] == 0].drop_duplicates(task).set_index(task)
    examples = []
    for failure, group in truth[truth["severity"] > 0].groupby("failure", sort=True):
        for _, row in group.sort_values(["severity", "returns"], ascending=False).iterrows():
            key = tuple(row[name] for name in task)
            if key in faithful.index:
                right = faithful.loc[key].copy()
                right["benchmark"], right["setting"], right["clip_id"] = key
                examples.append((str(failure), right, row))
                break
    return examples


def sheet_html(failure: str, rows: list[tuple[str, Clip]]) -> str:
    """The contact sheet as an HTML figure. If a clip cannot be read, the error message stands there instead."""
    try:
        strips = [
            read_strip(resolve(clip.video), MOMENTS).resized(*CELL).numbered().joined(gap=4, title=label) for label, clip in rows
        ]
    except MediaError as error:
        return f'<p class="remark">{html.escape(failure)}: {html.escape(str(error))}</p>'
    name = failure.replace("_", " ")
    caption = f"{name}: {TITLES.get(failure, '')}. Above the faithful clip, below the failing one ({rows[-1][1].label})."
    image = jpeg_html(np.vstack(strips), caption, quality=85)
    return (
        f'<figure id="sheet-{html.escape(failure)}"><h3>{html.escape(name)}</h3>{image}'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def _clip(clips: Mapping[Any, Clip], row: pd.Series) -> Clip:
    return clips[tuple(row[name] for name in KEYS)]
