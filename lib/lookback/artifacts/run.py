"""The artifacts of a run by clip and role, from the table and the store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import pandas as pd

from lookback.artifacts.base import Artifact
from lookback.clips import KEYS, Clip
from lookback.store import ArtifactStore, Entry, Producer

A = TypeVar("A", bound=Artifact)
Row = Mapping[str, str]  # a row of the artifacts table


def entry_of(store: ArtifactStore, row: Row) -> Entry | None:
    """The entry of the store that a row of the artifacts table names; None when it is missing or damaged."""
    producer = Producer(row["role"], row["backend"], row["version"], row["params_hash"], row["weights"])
    return store.load(producer, row["input_hash"])


class RunArtifacts:
    """Finds artifacts, and loads each only when it is needed."""

    def __init__(self, root: Path, table: pd.DataFrame):
        self.store = ArtifactStore(root)
        self._rows: dict[tuple[str, ...], Row] = {
            (*(row[name] for name in KEYS), row["role"]): {str(name): value for name, value in row.items()}
            for row in table.to_dict("records")
        }
        self._roles = list(dict.fromkeys(table["role"])) if len(table) else []

    def row(self, clip: Clip, role: str) -> Row | None:
        return self._rows.get((*clip.key, role))

    def stored(self, clip: Clip, role: str) -> bool:
        """Whether the table says that the store holds it."""
        row = self.row(clip, role)
        return row is not None and bool(row["stored"])

    def roles(self, clip: Clip) -> list[str]:
        """The roles that the clip has a stored artifact of."""
        return [role for role in self._roles if self.stored(clip, role)]

    def load(self, clip: Clip, kind: type[A]) -> A | None:
        """The artifact, or None when there is none; a ContractError when the entry of the store does not fit the role."""
        row = self.row(clip, kind.role)
        entry = entry_of(self.store, row) if row is not None and row["stored"] else None
        return None if entry is None else kind.unpack(entry)
