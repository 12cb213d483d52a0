"""Cards that show what a judge saw and said: the frames beside its words, as HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from lookback.clips import KEYS, Clip, clips_from_frame
from lookback.errors import MediaError, NotScorable
from lookback.judging.frames import Encoding, FrameSource, data_url
from lookback.judging.tasks import Footage, Sampling, footage

CARD = "border:1px solid #d0d7de;border-radius:6px;padding:8px;margin:8px 0"
CARD_SIDE, MOST_CARDS = 128, 6
UNIFORM = ("trigger", "state_progress", "progress_correctness")  # tasks that show evenly spread frames; others a fixed rate


class Cards:
    """HTML that a notebook displays."""

    def __init__(self, text: str):
        self.text = text

    def _repr_html_(self) -> str:
        return self.text


def reply_cards(clips: pd.DataFrame, judgements: pd.DataFrame, sampling: Sampling) -> Cards:
    """One card per row of `judgements`, at most six: clip, question, shown frames, answer and the judge's words.

    Pass the rows of interest, for example the first of each task, and the sampling of the run, `Sampling.of(params.judging)`.
    """
    by_key = {clip.key: clip for clip in clips_from_frame(clips)}
    source = FrameSource(Encoding(CARD_SIDE, 80))
    chosen = judgements.head(MOST_CARDS).to_dict("records")
    cards = [_card(by_key[tuple(row[name] for name in KEYS)], row, sampling, source) for row in chosen]
    return Cards("".join(cards) or "<p>No answers to show.</p>")


def _card(clip: Clip, row: dict[str, Any], sampling: Sampling, source: FrameSource) -> str:
    said = row["answer"] or f"no answer: {row['reason']}"
    number = "" if pd.isna(row["value"]) else f" ({row['value']:.2f}, {row['value_from']})"
    simulated = " <b>simulated</b>" if row["simulated"] else ""
    return (
        f'<div style="{CARD}"><b>{_text(clip.label)}</b> · {_text(row["task"])} · {_text(row["judge"])}{simulated}'
        f"<br>{_text(row['question'])}<br>{_strip(clip, row, sampling, source)}"
        f"<b>{_text(said + number)}</b><blockquote>{_text(row['verbatim'])}</blockquote></div>"
    )


def _strip(clip: Clip, row: dict[str, Any], sampling: Sampling, source: FrameSource) -> str:
    try:
        shown = footage(clip)
        frames = _frames(shown, row["task"], sampling)
        images: Iterable[bytes] = source.jpegs(clip.video, frames)
    except (NotScorable, MediaError) as error:
        return f"<i>{_text(str(error))}</i><br>"
    labels: Sequence[str] = shown.labels(frames)
    named = [(data_url(jpeg), _text(label)) for jpeg, label in zip(images, labels, strict=True)]
    pictures = [f'<img src="{url}" alt="{label}" title="{label}">' for url, label in named]
    return f"<div>{' '.join(pictures)}</div>"


def _frames(shown: Footage, task: str, sampling: Sampling) -> tuple[int, ...]:
    return shown.uniform(sampling) if task in UNIFORM else shown.timed(sampling)


def _text(value: object) -> str:
    return html.escape(str(value))
