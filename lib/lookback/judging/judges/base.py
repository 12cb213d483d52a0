"""What every judge offers the asker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import pandas as pd

from lookback.artifacts import Artifact
from lookback.clips import Clip
from lookback.judging.frames import Encoding, FrameSource
from lookback.judging.question import Question, Reply
from lookback.judging.recording import Identity
from lookback.params.stages import Judging


@dataclass(frozen=True)
class JudgeContext:
    """What a judge is built with: the run's parameters and the evidence it may look at."""

    params: Judging
    model: str = ""  # which model, where a judge can be several
    seed: int = 0
    device: str = "cpu"  # or auto: chosen where the model runs, which may be another machine
    allow_download: bool = False
    artifacts: Callable[[Clip], Mapping[str, Artifact]] = lambda clip: {}
    truth: pd.DataFrame | None = None
    frames: FrameSource = field(default_factory=lambda: FrameSource(Encoding()))


class Judge(Protocol):
    """Answers questions one call at a time."""

    identity: Identity
    costs: bool  # a call costs time or money: count it, read the recording first, record the reply at once

    def unable(self, question: Question) -> str:
        """Why this judge cannot answer this kind of question, in words; empty when it can. Static: a replay asks the class."""

    def samples(self, question: Question, first: Reply | None) -> int:
        """How many sampled calls the answer needs: `first` is the reply to the plain call, None before it was made.

        0 before the plain call means "make it"; 0 after it means that it decides the answer.
        """

    async def ask(self, question: Question, sample: int, repeat: int) -> Reply:
        """One call; `sample` 0 is the plain one. Raises JudgeError when there is no reply."""

    async def close(self) -> None: ...
