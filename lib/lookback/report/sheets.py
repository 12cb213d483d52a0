"""Contact sheets: a failing clip below the faithful one, eight moments each, so that a failure is recognised at a glance."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.errors import MediaError
from lookback.media import open_video
from lookback.paths import resolve

CELL = (200, 120)  # width, height of one frame
MOMENTS = 8
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
    """The sheet as an HTML figure; a clip that cannot be read is named instead."""
    strips = []
    for label, clip in rows:
        try:
            strips.append(_strip(label, clip))
        except MediaError as error:
            return f'<p class="reading">{html.escape(failure)}: {html.escape(str(error))}</p>'
    picture = np.vstack(strips)
    data = base64.b64encode(
        cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes()
    ).decode()
    name = failure.replace("_", " ")
    caption = html.escape(
        f"{name}: {TITLES.get(failure, '')}. Above the faithful clip, below the failing one ({rows[-1][1].label})."
    )
    image = f'<img src="data:image/jpeg;base64,{data}" alt="{caption}" loading="lazy">'
    return (
        f'<figure id="sheet-{html.escape(failure)}"><h3>{html.escape(name)}</h3>{image}<figcaption>{caption}</figcaption></figure>'
    )


def _strip(label: str, clip: Clip) -> np.ndarray:
    """Eight moments of a clip side by side, a line of text above them."""
    with open_video(resolve(clip.video)) as reader:
        indices = np.linspace(0, reader.info.n_frames - 1, MOMENTS).round().astype(int)
        frames = reader.read(indices)
    cells = [cv2.resize(frame, CELL, interpolation=cv2.INTER_AREA) for frame in frames]
    for cell, index in zip(cells, indices, strict=True):
        cv2.putText(cell, str(index), (5, CELL[1] - 7), cv2.FONT_HERSHEY_SIMPLEX, 0.42, (0, 0, 0), 3, cv2.LINE_AA)
        cv2.putText(cell, str(index), (5, CELL[1] - 7), cv2.FONT_HERSHEY_SIMPLEX, 0.42, (255, 255, 255), 1, cv2.LINE_AA)
    gap = np.full((CELL[1], 4, 3), 255, np.uint8)
    row = np.hstack([part for cell in cells for part in (cell, gap)])
    head = np.full((22, row.shape[1], 3), 255, np.uint8)
    cv2.putText(head, label, (4, 16), cv2.FONT_HERSHEY_SIMPLEX, 0.48, (27, 31, 36), 1, cv2.LINE_AA)
    return np.vstack([head, row])


def clip_of(clips: Mapping[Any, Clip], row: pd.Series) -> Clip:
    return clips[tuple(row[name] for name in KEYS)]
