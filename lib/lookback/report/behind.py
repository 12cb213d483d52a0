"""What is behind a number: for every model and clip some frames, every score, the worst units and the judges' answers."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.errors import MediaError
from lookback.files import sha256_json
from lookback.judging.question import SECOND
from lookback.paths import resolve
from lookback.progress import track
from lookback.registry import BENCHMARKS, METRICS
from lookback.scoring.aggregate import TRIGGER_DETAIL
from lookback.scoring.direction import more_is_better
from lookback.strips import jpeg_html, read_strip

WIDTH = 112  # of one frame, in pixels
WORST = 3  # units shown per metric
DECODERS = 2  # clips read at the same time
MOST = 400  # clips with pictures: further clips get none, so that the file stays small


def anchor(benchmark: str, model: str) -> str:
    """The HTML id of a model's part, to which table cells link. It is readable, and no two models share one."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{benchmark}-{model}".lower()).strip("-")
    return f"behind-{words}-{sha256_json([benchmark, model])[:10]}"


def behind_the_numbers(
    clips: list[Clip], items: pd.DataFrame, units: pd.DataFrame, judgements: pd.DataFrame, run: str, moments: int
) -> list[str]:
    """The HTML: one part that can be opened per model, with one card per clip."""
    scores, worst, answers = (dict(list(frame.groupby(KEYS))) for frame in (items, units, judgements))
    frames = worst_frames(units)
    order = sorted(clips, key=lambda clip: (clip.benchmark, clip.model_id, clip.setting, clip.clip_id))
    parts: dict[tuple[str, str], list[str]] = {}
    with ThreadPoolExecutor(max_workers=DECODERS) as pool:  # decoding releases the interpreter lock
        pictured = pool.map(lambda clip: _strip(clip, moments), order[:MOST] if moments else [])
        strips = dict(zip([clip.key for clip in order], track(pictured, "clip cards", total=min(len(order), MOST)), strict=False))
    for clip in order:
        scored, measured, said = (
            frames.get(clip.key, whole.head(0)) for frames, whole in ((scores, items), (worst, units), (answers, judgements))
        )
        link = f"?run={quote(run)}&clip={quote(clip.label)}&frame={frames.get(clip.key, 0)}"
        card = _card(clip, scored, measured, said, link, strips.get(clip.key, ""))
        parts.setdefault((clip.benchmark, clip.model_id), []).append(card)
    folds = [
        f'<details class="model" id="{anchor(*key)}"><summary>{html.escape(key[0])} · {html.escape(key[1])} '
        f"({len(cards)} clips)</summary>{''.join(cards)}</details>"
        for key, cards in parts.items()
    ]
    left = len(order) - MOST
    return ([f'<p class="remark">The last {left} clips are listed without pictures.</p>'] if left > 0 else []) + folds


def worst_frames(units: pd.DataFrame) -> dict[tuple[str, ...], int]:
    """For every clip the frame of its worst unit: the one that is farthest below the same unit in the other clips."""
    told = units[units["value"].notna() & units["frame"].notna()]
    if told.empty:
        return {}
    sign = [1.0 if more_is_better(metric, phase) else -1.0 for metric, phase in zip(told["metric"], told["phase"], strict=True)]
    part = ["metric", "variant", "phase"]
    usual = told.groupby([*part, "unit_id"])["value"].transform("median")
    spread = told.groupby(part)["value"].transform("std")
    apart = (told["value"] - usual) * sign / spread.where(spread > 0)
    worst = told.loc[apart.fillna(0.0).groupby([told[name] for name in KEYS]).idxmin()]
    return {tuple(key): int(frame) for key, frame in zip(worst[KEYS].to_numpy(), worst["frame"], strict=True)}


def _card(clip: Clip, items: pd.DataFrame, units: pd.DataFrame, answers: pd.DataFrame, link: str, strip: str) -> str:
    return (
        f'<div class="clip"><b>{html.escape(clip.label)}</b> <small>inspector, at its worst unit: '
        f"<code>{html.escape(link)}</code></small>{strip}{_scores(items, units)}{_answers(items, answers)}</div>"
    )


def _strip(clip: Clip, moments: int) -> str:
    try:
        strip = read_strip(resolve(clip.video), moments).resized(WIDTH)
    except MediaError as error:
        return f"<p>{html.escape(str(error))}</p>"
    return jpeg_html(strip.joined(), f"frames {', '.join(map(str, strip.frames))} of {clip.label}", quality=70)


def _scores(items: pd.DataFrame, units: pd.DataFrame) -> str:
    told = units[units["value"].notna()]
    parts = dict(list(told.groupby(["metric", "phase"]))) | {(metric, ""): own for metric, own in told.groupby("metric")}
    rows = "".join(
        f"<tr><td>{html.escape(row['metric'])}{' ' + html.escape(row['phase']) if row['phase'] else ''}</td>"
        f"<td>{'' if pd.isna(row['value']) else format(row['value'], '.4g')}</td>"
        f"<td>{html.escape(': '.join(filter(None, (row['reason'], row['detail']))))}</td>"
        f"<td>{', '.join(_worst(parts.get((row['metric'], row['phase'])), row['metric'], row['phase']))}</td></tr>"
        for row in items.to_dict("records")
    )
    if not rows:
        return ""
    head = "".join(f"<th>{name}</th>" for name in ("metric", "value", "note", "worst units"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _worst(units: pd.DataFrame | None, metric: str, phase: str) -> Iterator[str]:
    if units is not None:
        worst = units.nsmallest if more_is_better(metric, phase) else units.nlargest
        for unit in worst(WORST, "value").to_dict("records"):
            yield f"{html.escape(unit['unit_id'])}: {unit['value']:.3g}"


def _answers(items: pd.DataFrame, answers: pd.DataFrame) -> str:
    """The judges' answers behind every judged metric, and behind the trigger gate."""
    parts = [
        (row["metric"], answers_behind(row["metric"], row["backend"], answers))
        for row in items.drop_duplicates("metric").to_dict("records")
        if row["metric"] in METRICS and METRICS.get(row["metric"]).judge_tasks
    ]
    parts.append(("trigger", _trigger(items, answers)))
    return "".join(
        f"<p><b>{html.escape(name)}</b></p><ul>{''.join(_lines(own.to_dict('records')))}</ul>" for name, own in parts if len(own)
    )


def answers_behind(metric: str, backend: str, answers: pd.DataFrame) -> pd.DataFrame:
    """The answers that a judged score was made from: the metric's own questions, answered by the judges that the item names."""
    asked = answers["task"].isin(METRICS.get(metric).judge_tasks) & answers["judge"].isin(backend.split(","))
    prefixes = BENCHMARKS.get(METRICS.get(metric).benchmark).question_prefixes(metric)
    own = answers["question_id"].str.startswith(prefixes)
    return answers[asked & own & (answers["verbatim"] != "")]


def _trigger(items: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """The answers about the trigger: of the judge who closed the gate, or of all judges if it stayed open."""
    asked = answers[(answers["task"] == "trigger") & (answers["verbatim"] != "")]
    closed = items.loc[items["detail"].str.startswith(TRIGGER_DETAIL), "detail"]
    judges = set(closed.str.removeprefix(TRIGGER_DETAIL).str.split(":").str[0])
    return asked[asked["judge"].isin(judges)] if judges else asked


def _lines(answers: Iterable[dict[str, Any]]) -> Iterator[str]:
    """One line per answer. Answers about single seconds are joined into one line per judge."""
    seconds: dict[str, list[str]] = {}
    for row in answers:
        judge = html.escape(row["judge"]) + (" (simulated)" if row["simulated"] and row["judge"] != "simulated" else "")
        if row["question_id"].startswith(SECOND):
            seconds.setdefault(judge, []).append(html.escape(row["answer"] or row["reason"]))
            continue
        yield (
            f"<li><small>{judge}, {html.escape(row['question_id'])}: {html.escape(row['question'])}</small> "
            f"<b>{html.escape(row['answer'] or row['reason'])}</b> <q>{html.escape(row['verbatim'])}</q></li>"
        )
    for judge, given in seconds.items():
        yield f"<li><small>{judge}, judgeable second by second:</small> <b>{' '.join(given)}</b></li>"
