"""Flipbook's two metrics: how close the last page is to the first, and whether the video left and came back at all."""

from __future__ import annotations

from lookback.errors import NotScorable, Reason
from lookback.judging.verdicts import JudgedClip
from lookback.registry import metric
from lookback.scoring import Item, Scored, ScoringClip, Unit

from lookback_flipbook.colours import PageColours
from lookback_flipbook.judging import QUESTION, TASK


@metric(
    name="flipbook.colour_return",
    title="Colour return",
    benchmark="flipbook",
    unit="",
    range=(0.0, 1.0),
    higher_is_better=True,
    needs=("video",),
    roles=("page_colours",),
    settings=("return",),
    equation="1 - mean |last - first| / 255 over the cells' colours",
    source="the flipbook example",
)
def colour_return(context: ScoringClip) -> Scored:
    """A video that never leaves its first page scores 1 too: read it beside `flipbook.left_and_returned`."""
    pages = context.artifact(PageColours)
    if pages.n_frames < 2:
        raise NotScorable(Reason.TOO_SHORT, "one frame cannot leave and return")
    likeness = 1 - pages.distance_to_first()
    units = [
        Unit(f"page{frame}", "pair", float(value), frame=0, frame_other=int(frame))
        for frame, value in zip(pages.frame_index[1:], likeness[1:], strict=True)
    ]
    return Scored([Item(float(likeness[-1]), n_units=len(units))], units)


@metric(
    name="flipbook.left_and_returned",
    title="Left and returned",
    benchmark="flipbook",
    unit="",
    range=(0.0, 1.0),
    higher_is_better=True,
    needs=("video",),
    roles=(),
    settings=("return",),
    judge_tasks=(TASK,),
    equation="1 where the judge says yes, else 0",
    source="the flipbook example",
)
def left_and_returned(judged: JudgedClip) -> Item:
    """The judge's answer; the mean over clips is the share of clips that left and came back."""
    probability = judged.value(TASK, QUESTION)
    return Item(float(probability >= 0.5), probability, n_units=1)
