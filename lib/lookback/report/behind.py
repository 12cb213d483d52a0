"""What is behind a number: for every model and clip some frames, every score, the worst units and the judges' answers."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import numpy as np
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
PICTURED = 400  # clips with pictures and
SCORED = 2000  # clips with scores, over all models together: the others are named, so that the page still opens
Key = tuple[str, ...]


def anchor(benchmark: str, model: str) -> str:
    """The HTML id of a model's part, to which table cells link. It is readable, and no two models share one."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{benchmark}-{model}".lower()).strip("-")
    return f"behind-{words}-{sha256_json([benchmark, model])[:10]}"


def behind_the_numbers(
    clips: list[Clip], items: pd.DataFrame, units: pd.DataFrame, judgements: pd.DataFrame, run: str, moments: int
) -> list[str]:
    """The HTML: one part that can be opened per model, with one card per clip."""
    order = sorted(clips, key=lambda clip: (clip.benchmark, clip.model_id, clip.setting, clip.clip_id))
    pictured, scored = (_first_of_each_model(order, most) for most in (PICTURED if moments else 0, SCORED))
    strips, told, frames = _strips(pictured, moments), _told(scored, items, units, judgements), worst_frames(units)
    parts: dict[tuple[str, str], list[str]] = {}
    for clip in order:
        link = f"?run={quote(run)}&clip={quote(clip.label)}&frame={frames.get(clip.key, 0)}"
        card = _card(clip, link, strips.get(clip.key, "") + told.get(clip.key, ""))
        parts.setdefault((clip.benchmark, clip.model_id), []).append(card)
    folds = [
        f'<details class="model" id="{anchor(*key)}"><summary>{html.escape(key[0])} · {html.escape(key[1])} '
        f"({len(cards)} clips)</summary>{''.join(cards)}</details>"
        for key, cards in parts.items()
    ]
    left = {"pictures": len(order) - len(pictured) if moments else 0, "scores": len(order) - len(scored)}
    remarks = [
        f'<p class="remark">{count:,} clips are listed without {what}. The inspector shows all.</p>'
        for what, count in left.items()
        if count
    ]
    return remarks + folds


def _first_of_each_model(order: list[Clip], most: int) -> list[Clip]:
    """At most so many clips, the same number of each model (at least one)."""
    models: dict[tuple[str, str], list[Clip]] = {}
    for clip in order:
        models.setdefault((clip.benchmark, clip.model_id), []).append(clip)
    share = max(1, most // max(1, len(models))) if most else 0
    return [clip for own in models.values() for clip in own[:share]]


def _strips(clips: list[Clip], moments: int) -> dict[Key, str]:
    if not clips:
        return {}
    with ThreadPoolExecutor(max_workers=DECODERS) as pool:  # decoding releases the interpreter lock
        drawn = pool.map(lambda clip: _strip(clip, moments), clips)
        return {clip.key: strip for clip, strip in zip(clips, track(drawn, "clip cards", total=len(clips)), strict=True)}


def _told(clips: list[Clip], items: pd.DataFrame, units: pd.DataFrame, judgements: pd.DataFrame) -> dict[Key, str]:
    """The scores, their worst units and the judges' answers of each clip, in HTML."""
    keys: set[Key] = {clip.key for clip in clips}
    items, units, judgements = (_of_clips(frame, keys) for frame in (items, units, judgements))
    scores, answers = (dict(list(frame.groupby(KEYS))) for frame in (items, judgements))
    worst = worst_units(units)
    found: dict[Key, str] = {}
    for key in keys:
        own = scores.get(key, items.head(0))
        found[key] = _scores(own, key, worst) + _answers(own, answers.get(key, judgements.head(0)))
    return found


def _of_clips(frame: pd.DataFrame, keys: set[Key]) -> pd.DataFrame:
    return frame.loc[np.array([key in keys for key in zip(*(frame[name] for name in KEYS), strict=True)], bool)]


def worst_units(units: pd.DataFrame) -> dict[tuple[Key, str, str], str]:
    """(clip, metric, phase) -> its worst units in words. The phase "" stands for all units of the metric."""
    told = units[units["value"].notna()]
    found: dict[tuple[Key, str, str], list[str]] = {}
    for phase in (told["phase"], pd.Series("", told.index)):
        rows = told.assign(phase=phase, order=told["value"] * _signs(told["metric"], phase)).sort_values("order", kind="stable")
        named = rows.groupby([*KEYS, "metric", "phase"], sort=False).head(WORST)
        fresh: dict[tuple[Key, str, str], list[str]] = {}
        for *key, metric, part, unit, value in named[[*KEYS, "metric", "phase", "unit_id", "value"]].itertuples(index=False):
            fresh.setdefault((tuple(key), metric, part), []).append(f"{html.escape(unit)}: {value:.3g}")
        found |= fresh
    return {place: ", ".join(words) for place, words in found.items()}


def _signs(metric: pd.Series, phase: pd.Series) -> list[float]:
    """1 where more is better, else -1."""
    kinds = {kind: 1.0 if more_is_better(*kind) else -1.0 for kind in set(zip(metric, phase, strict=True))}
    return [kinds[kind] for kind in zip(metric, phase, strict=True)]


def worst_frames(units: pd.DataFrame) -> dict[tuple[str, ...], int]:
    """For every clip the frame of its worst unit: the one that is farthest below the same unit in the other clips."""
    told = units[units["value"].notna() & units["frame"].notna()]
    if told.empty:
        return {}
    sign = _signs(told["metric"], told["phase"])
    part = ["metric", "variant", "phase"]
    usual = told.groupby([*part, "unit_id"])["value"].transform("median")
    spread = told.groupby(part)["value"].transform("std")
    apart = (told["value"] - usual) * sign / spread.where(spread > 0)
    worst = told.loc[apart.fillna(0.0).groupby([told[name] for name in KEYS]).idxmin()]
    return {tuple(key): int(frame) for key, frame in zip(worst[KEYS].to_numpy(), worst["frame"], strict=True)}


def _card(clip: Clip, link: str, said: str) -> str:
    return (
        f'<div class="clip"><b>{html.escape(clip.label)}</b> <small>inspector, at its worst unit: '
        f"<code>{html.escape(link)}</code></small>{said}</div>"
    )


def _strip(clip: Clip, moments: int) -> str:
    try:
        strip = read_strip(resolve(clip.video), moments).resized(WIDTH)
    except MediaError as error:
        return f"<p>{html.escape(str(error))}</p>"
    return jpeg_html(strip.joined(), f"frames {', '.join(map(str, strip.frames))} of {clip.label}", quality=70)


def _scores(items: pd.DataFrame, key: Key, worst: Mapping[tuple[Key, str, str], str]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(row['metric'])}{' ' + html.escape(row['phase']) if row['phase'] else ''}</td>"
        f"<td>{'' if pd.isna(row['value']) else format(row['value'], '.4g')}</td>"
        f"<td>{html.escape(': '.join(filter(None, (row['reason'], row['detail']))))}</td>"
        f"<td>{worst.get((key, row['metric'], row['phase']), '')}</td></tr>"
        for row in items.to_dict("records")
    )
    if not rows:
        return ""
    head = "".join(f"<th>{name}</th>" for name in ("metric", "value", "note", "worst units"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _answers(items: pd.DataFrame, answers: pd.DataFrame) -> str:
    """The judges' answers behind every judged metric, and behind the trigger gate."""
    if answers.empty:
        return ""
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
