"""The failures that were found: ranked, with a short video of each of the surest ones in which the evidence frames are marked."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lookback.clips import KEYS, Clip
from lookback.errors import MediaError
from lookback.media import encode, open_video
from lookback.paths import resolve
from lookback.progress import track
from lookback.report.places import clip_anchor, inspector_link, model_page, words_of
from lookback.strips import FilmStrip, jpeg_html

LIKELY = 0.5  # a less probable failure is called possible
SHOWN = 18  # failures with a video
OF_EACH = 3  # of these at most so many of one kind, while there are other kinds
LISTED = 400  # rows of the table
BEFORE_S, AFTER_S = 1.0, 0.5  # of the clip around the evidence
MOST_FRAMES = 56
WIDTH = 320
CRF = 30
DECODERS = 2
EVIDENCE = (214, 40, 30)  # red, RGB
FPS = 16.0  # where the clip does not say


def ranked(failures: pd.DataFrame) -> pd.DataFrame:
    """The failures, the surest first, with their `place` (1, 2, ...). One without frames gets the first."""
    start = failures["frame_start"].fillna(0).astype(int)
    framed = failures.assign(frame_start=start, frame_end=failures["frame_end"].fillna(start).astype(int))
    order = framed.sort_values(["confidence", *KEYS], ascending=[False, *[True] * len(KEYS)], kind="stable")
    return order.reset_index(drop=True).assign(place=lambda rows: np.arange(len(rows)) + 1)


def pictured(rows: pd.DataFrame, most: int = SHOWN) -> pd.DataFrame:
    """The failures that get a video: the surest of each kind first, then the surest of what is left."""
    turn = rows.groupby("label").cumcount()
    chosen = rows[turn < OF_EACH].assign(turn=turn).sort_values(["turn", "place"]).head(most)
    rest = rows.drop(chosen.index).head(most - len(chosen))
    return pd.concat([chosen.drop(columns="turn"), rest]).sort_values("place")


@dataclass(frozen=True)
class Excerpt:
    """A short video of a failure: its file name, its frames as a strip, its first picture, or why there is none."""

    name: str = ""
    strip: str = ""
    poster: str = ""
    problem: str = ""


def excerpt_frames(start: int, end: int, n_frames: int, fps: float) -> NDArray[np.int64]:
    """The frames around the evidence: about `MOST_FRAMES` at most, evenly spaced, with its first and its last frame."""
    low, high = max(0, start - round(BEFORE_S * fps)), min(n_frames - 1, end + round(AFTER_S * fps))
    step = -(-(high - low + 1) // MOST_FRAMES)
    return np.unique([*range(low, high + 1, step), min(start, n_frames - 1), min(end, n_frames - 1)])


def marked(picture: NDArray[np.uint8], frame: int, evidence: bool) -> NDArray[np.uint8]:
    """The picture with its frame number; a red border and the word "evidence" where the failure shows."""
    numbered = FilmStrip((frame,), picture[None]).numbered().pictures[0]
    if evidence:
        height, width = numbered.shape[:2]
        cv2.rectangle(numbered, (0, 0), (width - 1, height - 1), EVIDENCE, 4)
        cv2.putText(numbered, "evidence", (8, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (0, 0, 0), 3, cv2.LINE_AA)
        cv2.putText(numbered, "evidence", (8, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (255, 255, 255), 1, cv2.LINE_AA)
    return numbered


def write_excerpt(clip: Clip, label: str, start: int, end: int, folder: Path) -> Excerpt:
    """Write the video of one failure into the folder."""
    fps = float(clip.fps or FPS)
    wanted = excerpt_frames(start, end, clip.n_frames or 1, fps)
    try:
        with open_video(resolve(clip.video)) as reader:
            pictures = FilmStrip(tuple(wanted.tolist()), reader.read(wanted)).shrunk(WIDTH).pictures
        height, width = (side - side % 2 for side in pictures.shape[1:3])
        shown = [
            marked(picture[:height, :width], int(frame), start <= frame <= end)
            for frame, picture in zip(wanted, pictures, strict=True)
        ]
        name = f"{words_of(label, *clip.key)}.mp4"
        step = max(1, int(np.median(np.diff(wanted)))) if len(wanted) > 1 else 1
        encode(folder / name, shown, min(60.0, max(1.0, fps / step)), crf=CRF)
    except MediaError as error:
        return Excerpt(problem=str(error))
    inside = np.flatnonzero((wanted >= start) & (wanted <= end))
    few = [0, int(inside[0]), int(inside[len(inside) // 2]), int(inside[-1])]
    strip = FilmStrip(tuple(int(wanted[place]) for place in few), np.stack([shown[place] for place in few])).shrunk(170)
    words = f"frames {', '.join(map(str, strip.frames))} of {clip.label}"
    poster = re.search(r"data:[^\"]+", jpeg_html(shown[few[2]], "", quality=75))
    return Excerpt(name, jpeg_html(strip.joined(gap=3), words, quality=75), poster[0] if poster else "")


def failures_html(failures: pd.DataFrame, clips: Mapping[tuple[str, ...], Clip], run: str, folder: Path) -> list[str]:
    """Filters, the cards with videos, and the table of all failures."""
    rows = ranked(failures)
    shown = pictured(rows).to_dict("records")
    with ThreadPoolExecutor(max_workers=DECODERS) as pool:
        made = pool.map(
            lambda row: write_excerpt(clips[_key(row)], row["label"], int(row["frame_start"]), int(row["frame_end"]), folder), shown
        )
        videos = list(track(made, "failure excerpts", total=len(shown)))
    cards = "".join(_card(row, clips[_key(row)], video, run, folder.name) for row, video in zip(shown, videos, strict=True))
    listed = rows.head(LISTED)
    left = len(rows) - len(listed)
    notes = f'<p class="remark">{left:,} more in tables/failures.parquet.</p>' if left else ""
    with_video = {row["place"] for row in shown}
    body = "".join(_row(row, clips[_key(row)], run, row["place"] in with_video) for row in listed.to_dict("records"))
    names = ("#", "failure", "model", "clip", "frames", "sure", "look")
    head = "".join(f'<th scope="col" class="label">{name}</th>' for name in names)
    return [
        _filters(rows),
        f'<div class="failures">{cards}</div>',
        f"<h2>All failures, the surest first ({len(rows)})</h2>{notes}"
        f'<figure class="table" id="failure-list"><div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></figure>",
    ]


def _key(row: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in KEYS)


def failure_anchor(row: Mapping[str, object]) -> str:
    return f"failure-{words_of(str(row['label']), *_key(row))}"


def _filters(rows: pd.DataFrame) -> str:
    """One list per thing to filter by, where there is a choice."""
    names = {"label": "failure", "model_id": "model", "benchmark": "benchmark"}
    parts = []
    for column, name in names.items():
        values = sorted(rows[column].unique())
        if len(values) > 1:
            options = "".join(f'<option value="{html.escape(str(value))}">{_plain(value)}</option>' for value in values)
            key = "model" if column == "model_id" else column
            parts.append(f'<label>{name}<select name="{key}"><option value="">all</option>{options}</select></label>')
    return f'<div class="filters">{"".join(parts)}<output></output></div>' if parts else ""


def _plain(text: object) -> str:
    return html.escape(str(text).replace("_", " "))


def _data(row: Mapping[str, object]) -> str:
    names = {"label": "label", "model": "model_id", "benchmark": "benchmark"}
    return " ".join(f'data-{name}="{html.escape(str(row[column]))}"' for name, column in names.items())


def _card(row: Mapping[str, object], clip: Clip, excerpt: Excerpt, run: str, folder: str) -> str:
    start, end, sure = int(str(row["frame_start"])), int(str(row["frame_end"])), float(str(row["confidence"]))
    title = f"{row['place']}. {_plain(row['label'])}{' (possible)' if sure < LIKELY else ''}"
    source = f"site:{folder}/{excerpt.name}"
    video = (
        f'<video controls muted loop playsinline preload="none" poster="{excerpt.poster}" src="{source}" '
        f'aria-label="excerpt of {html.escape(clip.label)}">'
        f"</video>{excerpt.strip}"
        if excerpt.name
        else f"<p>{html.escape(excerpt.problem)}</p>"
    )
    download = f'<a href="{source}" download>download</a> · ' if excerpt.name else ""
    return (
        f'<article class="failure" id="{failure_anchor(row)}" {_data(row)}><h3>{title}</h3>'
        f'<p><a href="#{model_page(clip.model_id)}">{html.escape(clip.model_id)}</a>, '
        f'<a href="#{clip_anchor(clip.key)}">{html.escape(clip.label)}</a></p>{video}'
        f"<p>{html.escape(str(row['evidence']))}</p><p>Frames {start} to {end}, sure {sure:.2f}. "
        f"{download}{inspector_link(run, clip.label, start)}</p></article>"
    )


def _row(row: Mapping[str, object], clip: Clip, run: str, pictured: bool) -> str:
    start, end = int(str(row["frame_start"])), int(str(row["frame_end"]))
    name = f'<a href="#{failure_anchor(row)}">{_plain(row["label"])}</a>' if pictured else _plain(row["label"])
    return (
        f'<tr {_data(row)}><th scope="row">{row["place"]}</th><th scope="row">{name}</th>'
        f'<th scope="row"><a href="#{model_page(clip.model_id)}">{html.escape(clip.model_id)}</a></th>'
        f'<th scope="row"><a href="#{clip_anchor(clip.key)}">{html.escape(clip.clip_id)}</a></th><td>{start}–{end}</td>'
        f"<td>{float(str(row['confidence'])):.2f}</td><td>{inspector_link(run, clip.label, start, 'inspector')}</td></tr>"
    )
