"""The artifacts a judge may look at, from the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from lookback.artifacts import Artifact, RunArtifacts, kind_of
from lookback.clips import Clip


class ClipArtifacts(Mapping[str, Artifact]):
    """A clip's artifacts by role; one is read from the store when a judge asks for it."""

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
