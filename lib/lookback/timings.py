"""How long each part of the work on a clip took: `timings/<stage>.csv` of a run, with a row per clip and part."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lookback.clips import KEYS
from lookback.files import make_folder, write_text, writing
from lookback.tables.csv_files import guarded


class Timings:
    """The file, to which rows are added as clips are done: a call that is killed leaves what it measured to the next."""

    def __init__(self, path: Path, part: str):
        self.path, self.columns = path, [*KEYS, part, "seconds"]
        self._write(self._read())  # whole lines only: what is added must not continue a line that a kill cut short

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if not rows:
            return
        make_folder(self.path.parent)
        with writing(self.path), self.path.open("a", encoding="utf-8", newline="") as file:
            head = [] if file.tell() else [self.columns]
            file.write(_lines([*head, *([guarded(row[name]) for name in self.columns] for row in rows)]))

    def tidy(self, clips: pd.DataFrame) -> None:
        """Keep the last measurement of each part, and only those of these clips."""
        wanted = {tuple(map(guarded, key)) for key in clips[KEYS].itertuples(index=False, name=None)}
        self._write({key: seconds for key, seconds in self._read().items() if key[: len(KEYS)] in wanted})

    def _read(self) -> dict[tuple[str, ...], str]:
        text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.is_file() else ""
        rows = list(csv.reader(io.StringIO(text, newline="")))[1 : None if text.endswith("\n") else -1]
        return {tuple(row[:-1]): row[-1] for row in rows if len(row) == len(self.columns)}

    def _write(self, seconds: Mapping[tuple[str, ...], str]) -> None:
        if seconds:
            write_text(self.path, _lines([self.columns, *([*key, value] for key, value in seconds.items())]))
        else:
            self.path.unlink(missing_ok=True)


def _lines(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
