"""The findings on the first page: up to three sentences that the data support, each with a pair of frames."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import pandas as pd

from lookback.clips import Clip
from lookback.errors import MediaError
from lookback.paths import resolve
from lookback.registry import METRICS
from lookback.report.behind import Behind
from lookback.report.failures import LIKELY, failure_anchor, ranked
from lookback.report.leaderboard import Leaderboard
from lookback.report.places import Key, anchor, inspector_link, number_anchor
from lookback.scoring.direction import better_sign
from lookback.strips import jpeg_html, read_strip

MOST = 3
WIDTH = 320


@dataclass(frozen=True)
class Seen:
    """A frame of a clip, and what to see in it."""

    clip: Clip
    frame: int
    words: str


@dataclass(frozen=True)
class Finding:
    """A sentence, the place of its evidence, and two frames that show it."""

    sentence: str
    place: str
    pair: tuple[Seen, Seen]

    def to_html(self, run: str) -> str:
        shown = "".join(f"<div>{_picture(seen)}<figcaption>{html.escape(seen.words)}</figcaption></div>" for seen in self.pair)
        last = self.pair[1]
        sentence = re.sub(r"(?<=[a-z])([._:])(?=[a-z])", r"\1<wbr>", html.escape(self.sentence))  # long names break between words
        return (
            f'<div class="finding"><p>{sentence} <a href="#{self.place}">Evidence</a> · '
            f'{inspector_link(run, last.clip.label, last.frame, "inspector")}</p><figure class="pair">{shown}</figure></div>'
        )


def findings_html(boards: Sequence[Leaderboard], behind: Behind) -> str:
    """At most three findings, the most important kind first; empty where the data support none."""
    clips: dict[Key, Clip] = {clip.key: clip for clip in behind.clips}
    told = islice(_all(boards, behind, clips), MOST)
    cards = "".join(finding.to_html(behind.run) for finding in told)
    return f'<h2>What the data support</h2><div class="findings">{cards}</div>' if cards else ""


def _all(boards: Sequence[Leaderboard], behind: Behind, clips: Mapping[Key, Clip]) -> Iterator[Finding]:
    contrasts = _contrasts(boards, behind, clips)
    yield from islice(contrasts, 1)
    yield from _failures(behind.failures, clips)
    yield from contrasts
    yield from _weakest(behind, clips)


def _contrasts(boards: Sequence[Leaderboard], behind: Behind, clips: Mapping[Key, Clip]) -> Iterator[Finding]:
    """The best and the last model of a benchmark on the task where they are farthest apart; the widest margin first.

    None where all models share the first place.
    """
    compared = [board for board in boards if len(board.ranked) > 1]
    for board in sorted(compared, key=lambda each: (not each.separated, -float(each.rows["clips"].iloc[0]))):
        best, last = board.ranked["model"].iloc[0], board.ranked["model"].iloc[-1]
        if last in board.first:
            continue
        metrics = behind.items[(behind.items["benchmark"] == board.benchmark) & behind.items["metric"].isin(board.metrics)]
        widest = _widest(metrics, best, last)
        if widest is None:
            continue
        high, low = (clips[board.benchmark, widest["setting"], model, widest["clip_id"]] for model in (best, last))
        frame = min(behind.frames.get(low.key, 0), (high.n_frames or 1) - 1, (low.n_frames or 1) - 1)
        name = f"{widest['metric']} {widest['phase']}".strip() + _unit(widest["metric"])
        yield Finding(
            f"{board.lead} The widest gap to {last}, the last, is {name} on {widest['clip_id']}: "
            f"{widest['value_x']:.3g} against {widest['value_y']:.3g}.",
            number_anchor(board.benchmark, last, widest["metric"], widest["phase"]),
            (Seen(high, frame, f"{best}, frame {frame}"), Seen(low, frame, f"{last}, frame {frame}")),
        )


def _widest(items: pd.DataFrame, best: str, last: str) -> pd.Series | None:
    """The task and metric of two models that differ most, in units of the metric's spread."""
    told = items[items["value"].notna()]
    by = ["setting", "clip_id", "metric", "phase"]
    one, other = (told.loc[told["model_id"] == model, [*by, "value"]] for model in (best, last))
    both = one.merge(other, on=by)
    if both.empty:
        return None
    spread = told.groupby(["metric", "phase"])["value"].std()
    signs = [better_sign(metric, phase) for metric, phase in zip(both["metric"], both["phase"], strict=True)]
    unit = pd.Series([spread[key] for key in zip(both["metric"], both["phase"], strict=True)], both.index)
    apart = ((both["value_x"] - both["value_y"]) * signs / unit.where(unit > 0)).fillna(0.0)
    return both.loc[apart.idxmax()] if apart.max() > 0 else None


def _unit(metric: str) -> str:
    """The unit of a metric in brackets; empty where it has none, or where its parts have several."""
    unit = METRICS.get(metric).unit if metric in METRICS else ""
    return f" ({unit})" if unit not in ("", "score") and ";" not in unit else ""


def _failures(failures: pd.DataFrame, clips: Mapping[Key, Clip]) -> Iterator[Finding]:
    """The kinds of failures that most clips show, each with its surest clip before and during the failure; kinds that are more
    likely absent than present in every clip are left to their own page."""
    if failures.empty:
        return
    rows, total = ranked(failures), len(clips)
    keys = ["benchmark", "setting", "model_id", "clip_id"]
    counts = rows.drop_duplicates([*keys, "label"])["label"].value_counts()
    for label, count in counts.items():
        own = rows[rows["label"] == label]
        row, models = own.iloc[0], own["model_id"].nunique()
        if row["confidence"] < LIKELY:
            continue
        clip = clips[tuple(row[name] for name in keys)]
        middle = (int(row["frame_start"]) + int(row["frame_end"])) // 2
        name = str(label).replace("_", " ")
        yield Finding(
            f"{name.capitalize()}: found in {count} of {total} clips, of {models} model{'s' if models > 1 else ''}. Surest in "
            f"{clip.model_id} (probability {row['confidence']:.2f}): {row['evidence']}.",
            failure_anchor(row),
            (Seen(clip, 0, "frame 0, before"), Seen(clip, middle, f"frame {middle}, {name}")),
        )


def _weakest(behind: Behind, clips: Mapping[Key, Clip]) -> Iterator[Finding]:
    """For a run with nothing to compare and no failure: each metric's worst clip beside its first frame."""
    for (benchmark, model, metric, phase), worst in behind.worst.items():
        if better_sign(metric, phase) * (worst.value - worst.mean) >= 0:
            continue  # all clips are alike, or no value is better than another
        clip = clips[worst.key]
        yield Finding(
            f"{f'{metric} {phase}'.strip()}{_unit(metric)} of {model} is weakest in {clip.clip_id}: {worst.value:.3g}, "
            f"{worst.mean:.3g} on average over {worst.n} clips.",
            number_anchor(benchmark, model, metric, phase) if worst.n else anchor(benchmark, model),
            (Seen(clip, 0, "frame 0"), Seen(clip, worst.frame, f"frame {worst.frame}, its worst unit")),
        )


def _picture(seen: Seen) -> str:
    try:
        strip = read_strip(resolve(seen.clip.video), [seen.frame]).shrunk(WIDTH).numbered()
    except MediaError as error:
        return f"<p>{html.escape(str(error))}</p>"
    return jpeg_html(strip.pictures[0], f"{seen.words} of {seen.clip.label}", quality=78)
