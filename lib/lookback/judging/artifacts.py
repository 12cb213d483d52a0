"""The artifacts a judge may look at, from the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from lookback.artifacts import Artifact, Masks, People, PoseTrack, RunArtifacts
from lookback.clips import Clip

KINDS: tuple[type[Artifact], ...] = (PoseTrack, Masks, People)


def artifact_loader(root: Path, artifacts: pd.DataFrame) -> Callable[[Clip], Mapping[str, Artifact]]:
    """A function from a clip to those of its pose, mask and people artifacts that exist."""
    stored = RunArtifacts(root, artifacts)

    def load(clip: Clip) -> Mapping[str, Artifact]:
        found = (stored.load(clip, kind) for kind in KINDS)
        return {artifact.role: artifact for artifact in found if artifact is not None}

    return load
