"""What a judge is, and what it is built with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import pandas as pd

from lookback.artifacts import Artifact, RunArtifacts, kind_of
from lookback.clips import Clip
from lookback.devices import Devices
from lookback.judging.frames import Encoding, FrameSource
from lookback.judging.question import Question, Reply
from lookback.judging.recording import Identity
from lookback.params.stages import Judging


@dataclass(frozen=True)
class JudgeContext:
    """What a judge is built with: the parameters of the run and the evidence that it may use."""

    params: Judging
    model: str = ""  # for judges that can run several models
    seed: int = 0
    device: Devices = "cpu"  # `auto` is decided where the model runs, which may be another machine
    allow_download: bool = False
    artifacts: Callable[[Clip], Mapping[str, Artifact]] = lambda clip: {}
    truth: pd.DataFrame | None = None
    frames: FrameSource = field(default_factory=lambda: FrameSource(Encoding()))


def chosen_settings(params: Judging, *names: str) -> dict[str, object]:
    """Those of the named parameters that a run has set. One left at its default is left out, so that old recordings stay valid."""
    return {name: getattr(params, name) for name in names if getattr(params, name)}


class Judge(Protocol):
    """Answers questions, one call at a time. Subclasses define `identity` and `ask`; the other methods have defaults."""

    identity: Identity
    costs: bool  # whether a call costs time or money: if so, the recording is read first and the budget counts the call

    def unable(self, question: Question) -> str:
        """Why this judge cannot answer this kind of question; empty when it can.

        A judge that is registered with `tasks` makes this a static method, because a replay asks its class.
        """
        return ""

    def samples(self, question: Question, first: Reply | None) -> int:
        """How many sampled calls the answer needs. `first` is the reply to the plain call, or None before that call.

        0 before the plain call means: make it. 0 after it means: its reply is the answer.
        """
        return 0

    async def ask(self, question: Question, sample: int, repeat: int) -> Reply:
        """Make one call; `sample` 0 is the plain call. Raises JudgeError when there is no reply."""
        raise NotImplementedError

    async def close(self) -> None:
        """Release connections; the judge may be asked again later."""
        return None


class ClipArtifacts(Mapping[str, Artifact]):
    """A clip's artifacts by role. An artifact is read from the store when a judge asks for it."""

    def __init__(self, stored: RunArtifacts, clip: Clip):
        self.stored, self.clip = stored, clip

    def __getitem__(self, role: str) -> Artifact:
        found = self.stored.load(self.clip, kind_of(role))
        if found is None:
            raise KeyError(role)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored.roles(self.clip))

    def __len__(self) -> int:
        return len(self.stored.roles(self.clip))


def artifact_loader(root: Path, artifacts: pd.DataFrame) -> Callable[[Clip], Mapping[str, Artifact]]:
    """A function from a clip to its artifacts."""
    return partial(ClipArtifacts, RunArtifacts(root, artifacts))
