"""A case as a card: two clips one above the other, their scores, their frames."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from lookback.clips import Clip
from lookback.figures import style
from lookback.forensics.strips import Span, chosen_frames, read_small, show_strip


@dataclass(frozen=True)
class Side:
    """One of the two clips."""

    clip: Clip
    heading: str
    spans: list[Span]


@dataclass(frozen=True)
class Card:
    """What a card is drawn from."""

    title: str
    sides: tuple[Side, Side]
    caption: str


def card_figure(card: Card, count: int) -> Figure:
    """Evenly spaced frames of both clips; frames in which a failure was found are framed."""
    with style():
        figure = Figure(figsize=(11, 3.2))
        for row, side in enumerate(card.sides):
            axes = figure.add_axes((0.01, 0.44 - 0.44 * row, 0.98, 0.34))
            frames = chosen_frames(side.clip.n_frames or 1, count, side.spans)
            show_strip(axes, read_small(side.clip, frames), frames, side.spans)
            axes.text(0, 1.2, side.heading, transform=axes.transAxes, fontsize=8.5, va="bottom")
        figure.suptitle(card.title, fontsize=10, x=0.01, ha="left", y=1.0)
    return figure
