"""Load the artifacts that a judge may use from the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from lookback.artifacts import RunArtifacts
from lookback.clips import Clip
from lookback.store import Entry

ROLES = ("pose", "masks", "people")


def artifact_loader(root: Path, artifacts: pd.DataFrame) -> Callable[[Clip], Mapping[str, Entry]]:
    """A function that returns the pose, mask and people artifacts of a clip, as far as they exist."""
    stored = RunArtifacts(root, artifacts)

    def load(clip: Clip) -> Mapping[str, Entry]:
        found = {role: stored.load(clip, role) for role in ROLES}
        return {role: entry for role, entry in found.items() if entry is not None}

    return load
