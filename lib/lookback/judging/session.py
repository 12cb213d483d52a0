"""Ask one judge questions outside a run: the same client, with budget, retries and recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lookback.errors import UsageError
from lookback.judging.asking import Asked, Budget
from lookback.judging.frames import Encoding, FrameSource
from lookback.judging.judges.base import JudgeContext
from lookback.judging.panel import build_panel
from lookback.judging.question import Question
from lookback.judging.recording import Recording
from lookback.judging.run import Session
from lookback.params.load import validate
from lookback.registry import JUDGES


@contextmanager
def asking(judging: Mapping[str, Any], folder: Path) -> Iterator[Callable[[Sequence[Question]], list[Asked]]]:
    """A function that asks the judge of these parameters; its answers are recorded in `folder`."""
    params = validate({"run": "questions", "judging": dict(judging)}, "command line")
    wanted = params.judging
    if wanted.judge != "replay" and not JUDGES.get(wanted.judge).looks:
        looking = ", ".join(spec.name for spec in JUDGES if spec.looks)
        raise UsageError(f"The judge '{wanted.judge}' does not look at frames; name one of {looking}, or replay")
    encoding = Encoding(wanted.image_side, wanted.jpeg_quality)
    context = JudgeContext(wanted, wanted.model, params.seed, params.device, frames=FrameSource(encoding))
    with Recording(folder, read_only=wanted.judge == "replay") as recording:
        session = Session(
            wanted, build_panel(wanted, context, recording, encoding), recording, Budget(wanted.max_calls), encoding, params.seed
        )
        seat = session.panel.judge("scorer")
        assert seat is not None
        yield lambda questions: session.answers(seat, questions, 1)
