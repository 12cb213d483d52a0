"""Votes in an SQLite file. A vote is on disk before the next question is shown; several annotators can write at once."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from lookback.desk.roster import annotator_name
from lookback.desk.tasks import DeskTask
from lookback.errors import LookbackError, UsageError
from lookback.files import write_text
from lookback.tables import check_table, csv_text, empty_table

LABELS = {"trigger": ("yes", "no"), "pairwise": ("-1", "0", "1"), "judgeability": ("yes", "no")}
TABLE = """CREATE TABLE IF NOT EXISTS votes (
    annotator TEXT NOT NULL, task_id TEXT NOT NULL, task TEXT NOT NULL, benchmark TEXT NOT NULL, setting TEXT NOT NULL,
    dimension TEXT NOT NULL, clip_a TEXT NOT NULL, model_a TEXT NOT NULL, clip_b TEXT NOT NULL, model_b TEXT NOT NULL,
    scene TEXT NOT NULL, label TEXT NOT NULL, time REAL NOT NULL,
    PRIMARY KEY (annotator, task_id, task))"""
COLUMNS = "annotator, task_id, task, benchmark, setting, dimension, clip_a, model_a, clip_b, model_b, scene, label, time"


class VoteBook:
    """All votes of one run."""

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as book:
            book.execute(TABLE)  # no WAL: switching to it fails while another process opens the file

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            book = sqlite3.connect(self.path, timeout=30)
            book.execute("PRAGMA synchronous=FULL")
            try:
                with book:
                    yield book
            finally:
                book.close()
        except sqlite3.DatabaseError as error:
            raise LookbackError(f"The vote book {self.path} cannot be used: {error}; move it away to start a new one") from None

    def add(self, annotator: str, task: DeskTask, label: str, kind: str | None = None) -> None:
        """Store one vote. `kind` is "judgeability" for the question that comes before some preferences."""
        kind = kind or task.task
        annotator_name(annotator)  # raises an error if the name cannot be used
        if label not in LABELS[kind]:
            raise UsageError(f"'{label}' is not an answer to a {kind} question; possible answers: {', '.join(LABELS[kind])}")
        row = (
            annotator,
            task.id,
            kind,
            task.benchmark,
            task.setting,
            task.dimension,
            task.clip_a,
            task.model_a,
            task.clip_b,
            task.model_b,
        )
        with self._open() as book:
            try:
                book.execute(
                    f"INSERT INTO votes ({COLUMNS}) VALUES ({', '.join('?' * 13)})", (*row, task.scene, label, time.time())
                )
            except sqlite3.IntegrityError:
                raise UsageError(f"{annotator} has already answered this {kind} question; undo it first") from None

    def undo(self, annotator: str) -> str | None:
        """Delete the votes on the annotator's last task, with its judgeability answer; returns the task's id."""
        with self._open() as book:
            last = book.execute(
                "SELECT task_id FROM votes WHERE annotator = ? ORDER BY time DESC, rowid DESC LIMIT 1", (annotator,)
            ).fetchone()
            if last is None:
                return None
            book.execute("DELETE FROM votes WHERE annotator = ? AND task_id = ?", (annotator, last[0]))
        return str(last[0])

    def answered(self, annotator: str) -> dict[str, set[str]]:
        """For every task id, the kinds of questions that this annotator has answered."""
        with self._open() as book:
            rows = book.execute("SELECT task_id, task FROM votes WHERE annotator = ?", (annotator,)).fetchall()
        found: dict[str, set[str]] = {}
        for task_id, kind in rows:
            found.setdefault(task_id, set()).add(kind)
        return found

    def not_judgeable(self, annotator: str) -> set[str]:
        """Tasks that this annotator called not judgeable; their preference is not asked."""
        with self._open() as book:
            rows = book.execute(
                "SELECT task_id FROM votes WHERE annotator = ? AND task = 'judgeability' AND label = 'no'", (annotator,)
            ).fetchall()
        return {row[0] for row in rows}

    def ratings(self) -> pd.DataFrame:
        """All votes in the ratings schema."""
        with self._open() as book:
            frame = pd.read_sql_query(f"SELECT {COLUMNS} FROM votes ORDER BY annotator, task_id, task", book)
        if frame.empty:
            return empty_table("ratings")
        return check_table("ratings", frame.drop(columns="task_id").assign(simulated=False))

    def export(self, path: Path) -> int:
        """Write the ratings as CSV in one atomic step; returns their number."""
        ratings = self.ratings()
        write_text(path, csv_text(ratings))
        return len(ratings)
