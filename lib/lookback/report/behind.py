"""From a cell to the frames: per model and clip, moments of the video, every score, the worst units and the judges' words."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import cv2
import numpy as np
import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.errors import MediaError
from lookback.media import open_video
from lookback.paths import resolve
from lookback.progress import track
from lookback.registry import METRICS

WIDTH = 112  # of a moment in pixels
WORST = 3  # units shown per metric
ANSWERS = 4  # judges' answers shown per clip
DECODERS = 2  # clips read at the same time
MOST = 400  # clips with pictures; a larger run keeps to its first ones, so that the file stays small


def anchor(benchmark: str, model: str) -> str:
    """The id of a model's part, which the cells of the tables lead to."""
    return "behind-" + re.sub(r"[^a-z0-9]+", "-", f"{benchmark}-{model}".lower()).strip("-")


def behind_the_numbers(
    clips: list[Clip], items: pd.DataFrame, units: pd.DataFrame, judgements: pd.DataFrame, run: str, moments: int
) -> list[str]:
    """One fold per model, one per clip in it."""
    scores, worst, answers = (dict(list(frame.groupby(KEYS))) for frame in (items, units, judgements))
    order = sorted(clips, key=lambda clip: (clip.benchmark, clip.model_id, clip.setting, clip.clip_id))
    parts: dict[tuple[str, str], list[str]] = {}
    with ThreadPoolExecutor(max_workers=DECODERS) as pool:  # decoding lets go of the interpreter
        pictured = pool.map(lambda clip: _strip(clip, moments), order[:MOST] if moments else [])
        strips = dict(zip([clip.key for clip in order], track(pictured, "clip cards", total=min(len(order), MOST)), strict=False))
    for clip in order:
        scored, measured, said = (
            frames.get(clip.key, whole.head(0)) for frames, whole in ((scores, items), (worst, units), (answers, judgements))
        )
        card = _card(clip, scored, measured, said, run, strips.get(clip.key, ""))
        parts.setdefault((clip.benchmark, clip.model_id), []).append(card)
    folds = [
        f'<details class="model" id="{anchor(*key)}"><summary>{html.escape(key[0])} · {html.escape(key[1])} '
        f"({len(cards)} clips)</summary>{''.join(cards)}</details>"
        for key, cards in parts.items()
    ]
    left = len(order) - MOST
    return ([f'<p class="reading">The last {left} clips are listed without pictures.</p>'] if left > 0 else []) + folds


def _card(clip: Clip, items: pd.DataFrame, units: pd.DataFrame, answers: pd.DataFrame, run: str, strip: str) -> str:
    link = f"?run={quote(run)}&clip={quote(clip.label)}"
    return (
        f'<div class="clip"><b>{html.escape(clip.label)}</b> <small>inspector: <code>{html.escape(link)}&amp;frame=0</code></small>'
        f"{strip}{_scores(items, units)}{_answers(answers)}</div>"
    )


def _strip(clip: Clip, moments: int) -> str:
    try:
        with open_video(resolve(clip.video)) as reader:
            indices = np.linspace(0, reader.info.n_frames - 1, moments).round().astype(int)
            frames = reader.read(indices)
    except MediaError as error:
        return f"<p>{html.escape(str(error))}</p>"
    height = max(1, round(WIDTH * frames.shape[1] / frames.shape[2]))
    row = np.hstack([cv2.resize(frame, (WIDTH, height), interpolation=cv2.INTER_AREA) for frame in frames])
    data = cv2.imencode(".jpg", cv2.cvtColor(row, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 70])[1].tobytes()
    text = f"frames {', '.join(map(str, indices))} of {clip.label}"
    return f'<img loading="lazy" alt="{html.escape(text)}" src="data:image/jpeg;base64,{base64.b64encode(data).decode()}">'


def _scores(items: pd.DataFrame, units: pd.DataFrame) -> str:
    parts = dict(list(units[units["value"].notna()].groupby(["metric", "phase"])))
    rows = "".join(
        f"<tr><td>{html.escape(row['metric'])}{' ' + html.escape(row['phase']) if row['phase'] else ''}</td>"
        f"<td>{'' if pd.isna(row['value']) else format(row['value'], '.4g')}</td>"
        f"<td>{html.escape(row['reason'] or row['detail'])}</td>"
        f"<td>{', '.join(_worst(parts.get((row['metric'], row['phase'])), row['metric']))}</td></tr>"
        for row in items.to_dict("records")
    )
    if not rows:
        return ""
    head = "".join(f"<th>{name}</th>" for name in ("metric", "value", "note", "worst units"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _worst(units: pd.DataFrame | None, metric: str) -> Iterator[str]:
    if units is not None:
        worst = units.nsmallest if METRICS.get(metric).higher_is_better else units.nlargest
        for unit in worst(WORST, "value").to_dict("records"):
            yield f"{html.escape(unit['unit_id'])}: {unit['value']:.3g}"


def _answers(answers: pd.DataFrame) -> str:
    shown = answers[answers["verbatim"] != ""].drop_duplicates("task").head(ANSWERS)
    return "".join(
        f"<p><small>{html.escape(row['judge'])}{' (simulated)' if row['simulated'] else ''}, "
        f"{html.escape(row['question'])}</small> <b>{html.escape(row['answer'])}</b> <q>{html.escape(row['verbatim'])}</q></p>"
        for row in shown.to_dict("records")
    )
