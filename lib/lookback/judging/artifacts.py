"""The artifacts a judge may look at, from the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.store import ArtifactStore, Entry, Producer

ROLES = ("pose", "masks", "people")


def artifact_loader(root: Path, artifacts: pd.DataFrame) -> Callable[[Clip], Mapping[str, Entry]]:
    """A function from a clip to those of its pose, mask and people artifacts that exist."""
    store = ArtifactStore(root)
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in artifacts[artifacts["role"].isin(ROLES) & (artifacts["stored"] != "")].to_dict("records"):
        rows.setdefault(tuple(row[name] for name in KEYS), []).append(row)

    def load(clip: Clip) -> Mapping[str, Entry]:
        found = {}
        for row in rows.get(clip.key, []):
            producer = Producer(row["role"], row["backend"], row["version"], row["params_hash"], row["weights"])
            entry = store.load(producer, row["input_hash"])
            if entry is not None:
                found[row["role"]] = entry
        return found

    return load
