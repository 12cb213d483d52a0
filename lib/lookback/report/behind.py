"""What is behind a number: one page per model with the worst clip and frame of every metric, and a card per clip."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lookback.clips import KEYS, Clip
from lookback.errors import MediaError
from lookback.judging.question import SECOND
from lookback.paths import resolve
from lookback.progress import track
from lookback.registry import BENCHMARKS, METRICS
from lookback.report.page import Section
from lookback.report.places import Key, anchor, clip_anchor, inspector_link, model_page, number_anchor
from lookback.scoring.aggregate import TRIGGER_DETAIL
from lookback.scoring.direction import better_sign
from lookback.strips import FilmStrip, jpeg_html, read_strip

WIDTH = 112  # of one frame in a strip, in pixels
LARGE = 240  # of the frame that a number leads to
WORST = 3  # units shown per metric
DECODERS = 2  # clips read at the same time
PICTURED = 400  # clips with pictures and
SCORED = 2000  # clips with scores, over all models together: the others are named, so that the pages still open
MODELS = "Models"
Number = tuple[str, str, str, str]  # benchmark, model, metric, phase


@dataclass(frozen=True)
class Worst:
    """The worst clip of a model's metric, and the frame of its worst unit."""

    key: Key
    value: float
    frame: int
    mean: float
    n: int


@dataclass
class Behind:
    """The clips of a run with their scores, units and answers."""

    clips: Sequence[Clip]
    items: pd.DataFrame
    units: pd.DataFrame
    judgements: pd.DataFrame
    failures: pd.DataFrame
    run: str
    moments: int

    def __post_init__(self) -> None:
        self.frames = worst_frames(self.units)
        self.worst = worst_numbers(self.items, self.units, self.frames)
        self.order = sorted(self.clips, key=lambda clip: (clip.model_id, clip.benchmark, clip.setting, clip.clip_id))

    def worst_model(self, benchmark: str, metric: str) -> str:
        """The model with the worst clip of a metric; empty where none has a score."""
        sign = better_sign(metric)
        found = {
            model: sign * one.value
            for (name, model, own, phase), one in self.worst.items()
            if (name, own, phase) == (benchmark, metric, "")
        }
        return min(found, key=found.__getitem__, default="")

    def pages(self, standing: Mapping[tuple[str, str], str]) -> list[Section]:
        """One page per model. `standing` has a sentence for (benchmark, model)."""
        pictured, scored = (_first_of_each_model(self.order, most) for most in (PICTURED if self.moments else 0, SCORED))
        pictures = self._pictures(pictured)
        told = _told(scored, self.items, self.units, self.judgements)
        models: dict[str, dict[str, list[Clip]]] = {}
        for clip in self.order:
            models.setdefault(clip.model_id, {}).setdefault(clip.benchmark, []).append(clip)
        numbers: dict[tuple[str, str], list[tuple[Number, Worst]]] = {}
        for number, worst in self.worst.items():
            numbers.setdefault(number[:2], []).append((number, worst))
        return [
            Section(
                model_page(model),
                model,
                "Every number of the tables leads to the worst clip and frame behind it.",
                [
                    self._part(benchmark, model, clips, numbers.get((benchmark, model), []), pictures, told, standing)
                    for benchmark, clips in parts.items()
                ],
                MODELS,
            )
            for model, parts in models.items()
        ]

    def _part(
        self,
        benchmark: str,
        model: str,
        clips: Sequence[Clip],
        numbers: Sequence[tuple[Number, Worst]],
        pictures: Mapping[Key, Pictures],
        told: Mapping[Key, str],
        standing: Mapping[tuple[str, str], str],
    ) -> str:
        labels: dict[Key, str] = {clip.key: clip.label for clip in clips}
        worst = "".join(self._number(number, one, labels, pictures) for number, one in numbers)
        shown = sum(clip.key in told for clip in clips)
        left = f'<p class="remark">{len(clips) - shown:,} clips are listed without scores. The inspector shows all.</p>'
        cards = "".join(
            _card(clip, inspector_link(self.run, clip.label, self.frames.get(clip.key, 0)), pictures, told) for clip in clips
        )
        title = BENCHMARKS.get(benchmark).title if benchmark in BENCHMARKS else benchmark
        sentence = standing.get((benchmark, model), "")
        return (
            f'<h2 id="{anchor(benchmark, model)}">{html.escape(title)}: {html.escape(model)}</h2>'
            f"{f'<p>{html.escape(sentence)}</p>' if sentence else ''}{self._failures(benchmark, model)}"
            f"{f'<h3>The worst frame behind each number</h3><div class=worst>{worst}</div>' if worst else ''}"
            f"<details><summary>All clips ({len(clips)})</summary>{left if shown < len(clips) else ''}{cards}</details>"
        )

    def _failures(self, benchmark: str, model: str) -> str:
        own = self.failures[(self.failures["benchmark"] == benchmark) & (self.failures["model_id"] == model)]
        if own.empty:
            return ""
        counts = own["label"].value_counts()
        said = ", ".join(f"{html.escape(str(label).replace('_', ' '))} ({count})" for label, count in counts.items())
        return f'<p>Failures found: {said}. <a href="#failures">All failures</a></p>'

    def _number(self, number: Number, worst: Worst, labels: Mapping[Key, str], pictures: Mapping[Key, Pictures]) -> str:
        _, _, metric, phase = number
        name, said = f"{metric} {phase}".strip(), "Worst" if better_sign(metric, phase) else "For example"
        label = labels.get(worst.key, "/".join(worst.key))
        picture = pictures[worst.key].frame(worst.frame, label) if worst.key in pictures else ""
        return (
            f'<figure id="{number_anchor(*number)}">{picture}<figcaption><b>{html.escape(name)}</b>: {worst.mean:.4g} on average '
            f'(n {worst.n}). {said}: {worst.value:.4g}, <a href="#{clip_anchor(worst.key)}">{html.escape(label)}</a>, frame '
            f"{worst.frame}. {inspector_link(self.run, label, worst.frame)}</figcaption></figure>"
        )

    def _pictures(self, pictured: Sequence[Clip]) -> dict[Key, Pictures]:
        """The strips of these clips, and the worst frame of every number, each clip decoded once."""
        wanted: dict[Key, set[int]] = {clip.key: set() for clip in pictured}
        if self.moments:
            for worst in self.worst.values():
                wanted.setdefault(worst.key, set()).add(worst.frame)
        clips = [clip for clip in self.order if clip.key in wanted]
        strips = {clip.key for clip in pictured}
        with ThreadPoolExecutor(max_workers=DECODERS) as pool:  # decoding releases the interpreter lock
            drawn = pool.map(
                lambda clip: read_pictures(clip, self.moments if clip.key in strips else 0, sorted(wanted[clip.key])), clips
            )
            return {clip.key: made for clip, made in zip(clips, track(drawn, "clip pictures", total=len(clips)), strict=True)}


@dataclass(frozen=True)
class Pictures:
    """A clip's strip as HTML, and single frames of it; or the sentence that says why there are none."""

    strip: str = ""
    frames: Mapping[int, NDArray[np.uint8]] = field(default_factory=dict)
    problem: str = ""

    def frame(self, number: int, label: str) -> str:
        if number not in self.frames:
            return f"<p>{html.escape(self.problem)}</p>" if self.problem else ""
        return jpeg_html(self.frames[number], f"frame {number} of {label}", quality=72)


def read_pictures(clip: Clip, moments: int, frames: Sequence[int]) -> Pictures:
    """Evenly spaced frames of a clip as a strip, and the given frames."""
    last = (clip.n_frames or 1) - 1
    even = [int(frame) for frame in np.linspace(0, last, moments).round()] if moments else []
    inside = [frame for frame in frames if 0 <= frame <= last]
    wanted = sorted({*even, *inside})
    if not wanted:
        return Pictures()
    try:
        read = read_strip(resolve(clip.video), wanted)
    except MediaError as error:
        return Pictures(f"<p>{html.escape(str(error))}</p>", problem=str(error))
    of = dict(zip(read.frames, read.pictures, strict=True))
    strip = ""
    if even:
        small = FilmStrip(tuple(even), np.stack([of[frame] for frame in even])).resized(WIDTH)
        strip = jpeg_html(small.joined(), f"frames {', '.join(map(str, even))} of {clip.label}", quality=70)
    large = {frame: FilmStrip((frame,), of[frame][None]).shrunk(LARGE).numbered().pictures[0] for frame in inside}
    return Pictures(strip, large)


def worst_numbers(items: pd.DataFrame, units: pd.DataFrame, frames: Mapping[Key, int]) -> dict[Number, Worst]:
    """For every model, metric and phase: its worst clip, the frame of the clip's worst unit, mean and n."""
    told = items[items["value"].notna()]
    if told.empty:
        return {}
    signed = told["value"].astype(float) * _signs(told["metric"], told["phase"])
    by = ["benchmark", "model_id", "metric", "phase"]
    groups = told.assign(signed=signed).groupby(by, sort=False)
    worst = told.loc[groups["signed"].idxmin()]
    means = groups["value"].agg(["mean", "size"])
    own = _unit_frames(units, worst)
    found = {}
    for row in worst.to_dict("records"):
        key, number = tuple(row[name] for name in KEYS), tuple(row[name] for name in by)
        place = own.get((key, row["metric"], row["phase"]), own.get((key, row["metric"], None), frames.get(key, 0)))
        mean, n = means.loc[number]
        found[number] = Worst(key, float(row["value"]), int(place), float(mean), int(n))
    return dict(sorted(found.items()))


def _unit_frames(units: pd.DataFrame, worst: pd.DataFrame) -> dict[tuple[Key, str, str | None], int]:
    """The frame of the worst unit of each of these clips and metrics: of its phase, and of any phase (None)."""
    told = units[units["value"].notna() & units["frame"].notna()].merge(worst[[*KEYS, "metric"]].drop_duplicates())
    found: dict[tuple[Key, str, str | None], int] = {}
    if told.empty:
        return found
    told = told.assign(signed=told["value"].astype(float) * _signs(told["metric"], told["phase"]))
    for by in ([*KEYS, "metric"], [*KEYS, "metric", "phase"]):
        rows = told.loc[told.groupby(by, sort=False)["signed"].idxmin()]
        for row in rows.to_dict("records"):
            phase = row["phase"] if "phase" in by else None
            found[tuple(row[name] for name in KEYS), row["metric"], phase] = int(row["frame"])
    return found


def _first_of_each_model(order: Sequence[Clip], most: int) -> list[Clip]:
    """At most so many clips, the same number of each model (at least one)."""
    models: dict[tuple[str, str], list[Clip]] = {}
    for clip in order:
        models.setdefault((clip.benchmark, clip.model_id), []).append(clip)
    share = max(1, most // max(1, len(models))) if most else 0
    return [clip for own in models.values() for clip in own[:share]]


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
    kinds = {kind: better_sign(*kind) for kind in set(zip(metric, phase, strict=True))}
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


def _card(clip: Clip, link: str, pictures: Mapping[Key, Pictures], told: Mapping[Key, str]) -> str:
    strip = pictures[clip.key].strip if clip.key in pictures else ""
    name = f"<b>{html.escape(clip.label)}</b> <small>{link}</small>"
    return f'<div class="clip" id="{clip_anchor(clip.key)}">{name}{strip}{told.get(clip.key, "")}</div>'


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
