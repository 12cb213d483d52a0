"""Notes on clips, saved with the run."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

from lookback.errors import ContractError
from lookback.files import write_json


class NoteBook:
    """One JSON file: clip label -> note. Written under a lock after reading anew: two inspectors keep each other's notes."""

    def __init__(self, path: Path):
        self.path = path

    def _all(self) -> dict[str, str]:
        if not self.path.is_file():
            return {}
        try:
            notes = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError:
            raise ContractError(f"{self.path} is no valid JSON; move it away to start new notes") from None
        return dict(notes)

    def read(self, label: str) -> str:
        return self._all().get(label, "")

    def write(self, label: str, text: str) -> None:
        """Save a note; an empty one is removed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_name(f".{self.path.name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            notes = self._all()
            if text.strip():
                notes[label] = text
            else:
                notes.pop(label, None)
            write_json(self.path, notes)
