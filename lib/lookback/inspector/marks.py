"""What people say of clips: notes and tags, kept beside the run's tables so that they survive a new run."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from lookback.errors import ContractError, LookbackError, UsageError
from lookback.files import locked, write_json

SELECTED = "selected"  # the tag of the clips that are chosen by hand
MOST_TAGS, LONGEST = 40, 60


class ChangedMeanwhile(LookbackError):
    """Somebody else saved another note first."""


class LabelBook:
    """One JSON file: clip label -> what is said of it.

    Every write takes a lock and reads the file again, so that two inspectors do not overwrite each other's entries.
    """

    def __init__(self, path: Path):
        self.path = path

    def all(self) -> dict[str, object]:
        if not self.path.is_file():
            return {}
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError:
            kept = None
        if not isinstance(kept, dict):
            raise ContractError(f"{self.path} holds no JSON object; move it away to start a new one")
        return kept


class NoteBook(LabelBook):
    """A note for each clip."""

    def read(self, label: str) -> str:
        return str(self.all().get(label, ""))

    def write(self, label: str, text: str, instead_of: Collection[str] | None = None) -> None:
        """Save a note. An empty note is removed. With `instead_of`, any other note than these raises `ChangedMeanwhile`."""
        with locked(self.path):
            now = self.read(label)
            if instead_of is not None and now not in {text if text.strip() else "" for text in (text, *instead_of)}:
                happened = f"saved “{now}”" if now else "removed the note"
                raise ChangedMeanwhile(f"Your note is not saved: another window {happened} meanwhile.")
            kept = {**self.all(), label: text if text.strip() else ""}
            write_json(self.path, {label: entry for label, entry in kept.items() if entry})


class TagBook(LabelBook):
    """The tags of each clip. The selection is the tag `selected`."""

    def tags(self) -> dict[str, list[str]]:
        return {label: [str(tag) for tag in tags] for label, tags in self.all().items() if isinstance(tags, list)}

    def set(self, labels: list[str], tag: str, on: bool) -> None:
        """Give a tag to clips, or take it away."""
        tag = " ".join(tag.split())
        if not tag or len(tag) > LONGEST:
            raise UsageError(f"A tag has 1 to {LONGEST} characters, not {len(tag)}; choose another word")
        with locked(self.path):
            kept = self.tags()
            for label in labels:
                rest = [each for each in kept.get(label, []) if each != tag]
                if on and len(rest) >= MOST_TAGS:
                    raise UsageError(f"{label} has {MOST_TAGS} tags already; remove one first")
                kept[label] = sorted([*rest, tag] if on else rest)
            write_json(self.path, {label: tags for label, tags in kept.items() if tags})
