"""A run's artifacts by clip and role, from the table and the store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.store import ArtifactStore, Entry, Producer


def entry_of(store: ArtifactStore, row: Mapping[str, Any]) -> Entry | None:
    """The entry that a row of the artifacts table names, or None when it is gone or damaged."""
    producer = Producer(row["role"], row["backend"], row["version"], row["params_hash"], row["weights"])
    return store.load(producer, row["input_hash"])


class RunArtifacts:
    """Looks artifacts up; loads one only when it is asked for."""

    def __init__(self, root: Path, table: pd.DataFrame):
        self.store = ArtifactStore(root)
        self._rows = {(*(row[name] for name in KEYS), row["role"]): row for row in table.to_dict("records")}

    def row(self, clip: Clip, role: str) -> dict[str, Any] | None:
        return self._rows.get((*clip.key, role))

    def load(self, clip: Clip, role: str) -> Entry | None:
        """The artifact, or None when there is none."""
        row = self.row(clip, role)
        return entry_of(self.store, row) if row is not None and row["stored"] else None
