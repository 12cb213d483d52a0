"""The judge `first-and-last`: it answers Flipbook's question from the pixels, by a rule that anyone can check."""

from __future__ import annotations

import asyncio

import cv2
import numpy as np
from lookback.errors import Reason
from lookback.judging.judges.base import JudgeContext
from lookback.judging.question import Question, Reply, Stated
from lookback.judging.recording import Identity
from lookback.registry import Availability, judge
from numpy.typing import NDArray

from lookback_flipbook.colours import page_distance
from lookback_flipbook.judging import QUESTION, TASK

LEFT = 0.10  # a frame at least this far from the first one has left it
RETURNED = 0.05  # a last frame at most this far from the first one is back


@judge(name="first-and-last", title="a rule on the pixels of the shown frames, no model", tasks=(TASK,))
class FirstAndLast:
    """Yes where a frame in between is at least LEFT away from the first one and the last is at most RETURNED away."""

    costs = False

    def __init__(self, context: JudgeContext):
        self.frames = context.frames
        self.identity = Identity("first-and-last", "first-and-last", settings={"left": LEFT, "returned": RETURNED})

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    @staticmethod
    def unable(question: Question) -> str:
        return "" if question.task == TASK else f"the judge first-and-last answers only '{TASK}'"

    def samples(self, question: Question, first: Reply | None) -> int:
        return 0

    async def ask(self, question: Question, sample: int, repeat: int) -> Reply:
        jpegs = await asyncio.to_thread(self.frames.jpegs, question.video, question.frames)
        if len(jpegs) < 3:
            return Reply("", stated={}, refused={QUESTION: (str(Reason.TOO_SHORT), "it needs a first, a middle and a last frame")})
        stated = decide([cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR) for jpeg in jpegs])
        return Reply(stated.because, stated={QUESTION: stated})

    async def close(self) -> None:
        return None


def decide(frames: list[NDArray[np.uint8]]) -> Stated:
    """The rule on three frames or more; a rule is sure of itself, so the probability is 0 or 1."""
    away = max(page_distance(frame, frames[0]) for frame in frames[1:-1])
    back = page_distance(frames[-1], frames[0])
    yes = away >= LEFT and back <= RETURNED
    because = (
        f"the farthest frame is away from the first one by {away:.3f} (left from {LEFT:g} on), "
        f"the last one by {back:.3f} (back up to {RETURNED:g})"
    )
    return Stated("yes" if yes else "no", float(yes), 1.0, "stated", because)
