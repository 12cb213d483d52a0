"""The votes of one study in an SQLite file. An answer is on disk before the next item is shown, so that no kill loses one.

Beside the votes it keeps what else happened to an item (opened, skipped, commented) and to a person (read the instructions, left),
and who is to rate which item.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from lookback.desk.items import OTHER_SIDE, Item
from lookback.desk.roster import annotator_name
from lookback.errors import LookbackError, UsageError
from lookback.files import raise_if_disk_failed
from lookback.tables import check_table, empty_table

SCHEMA = (
    """CREATE TABLE IF NOT EXISTS votes (
    annotator TEXT NOT NULL, item TEXT NOT NULL, role TEXT NOT NULL, task TEXT NOT NULL, dimension TEXT NOT NULL,
    benchmark TEXT NOT NULL, setting TEXT NOT NULL, clip_a TEXT NOT NULL, model_a TEXT NOT NULL, clip_b TEXT NOT NULL,
    model_b TEXT NOT NULL, scene TEXT NOT NULL, label TEXT NOT NULL, expected TEXT NOT NULL, time REAL NOT NULL,
    PRIMARY KEY (annotator, item, task, dimension))""",
    """CREATE TABLE IF NOT EXISTS events (
    annotator TEXT NOT NULL, item TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, time REAL NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS events_of ON events (annotator, kind, item)",
    "CREATE TABLE IF NOT EXISTS assigned (annotator TEXT NOT NULL, item TEXT NOT NULL, PRIMARY KEY (annotator, item))",
)
COLUMNS = "task, benchmark, setting, dimension, clip_a, model_a, clip_b, model_b, scene, annotator, label, time"
OPENED, SKIPPED, COMMENT, READ, LEFT, BACK = "opened", "skipped", "comment", "read", "left", "back"
MOST_TEXT = 2000  # characters of a comment


class VoteBook:
    """All votes and events of one study. `swapped` says of an annotator and an item whether the sides were exchanged."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time, swapped: Callable[[str, str], bool] = lambda *_: False):
        self.path, self.clock, self.swapped = path, clock, swapped
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as book:
            for part in SCHEMA:
                book.execute(part)  # no WAL: switching to it fails while another process opens the file

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
            raise_if_disk_failed(self.path, error)
            raise LookbackError(f"The vote book {self.path} cannot be used: {error}; move it away to start a new one") from None

    def _all(self, question: str, *values: str) -> list[tuple[str, ...]]:
        with self._open() as book:
            return book.execute(question, values).fetchall()

    # -- answers ----------------------------------------------------------------------------------------------------------------
    def add(self, annotator: str, item: Item, answers: Mapping[str, str], comment: str = "") -> None:
        """Store the answers (question id -> stored label) to a whole item, all or none."""
        annotator_name(annotator)  # raises an error if the name cannot be used
        item.check(answers)
        about = (item.benchmark, item.setting, *item.sides, item.scene)
        with self._open() as book:
            now = self._now(book, annotator)
            rows = [
                (
                    annotator,
                    item.id,
                    item.role,
                    asked.task,
                    asked.dimension,
                    *about,
                    answers[asked.id],
                    item.right.get(asked.id, ""),
                    now,
                )
                for asked in item.asked(answers)
            ]
            try:
                book.executemany(f"INSERT INTO votes VALUES ({', '.join('?' * 15)})", rows)
            except sqlite3.IntegrityError:
                raise UsageError(f"{annotator} has already answered this item; take the answer back first") from None
            self._note(book, annotator, item.id, COMMENT, comment, now)

    def skip(self, annotator: str, item: Item, why: str = "") -> None:
        with self._open() as book:
            now = self._now(book, annotator)
            book.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (annotator, item.id, SKIPPED, why[:MOST_TEXT], now))

    def undo(self, annotator: str) -> str | None:
        """Take back the annotator's last answer or skip of the study proper or of gold; returns the item's id."""
        last = (
            "SELECT item FROM (SELECT item, time, rowid AS place FROM votes WHERE annotator = ?1 AND role != 'practice' UNION ALL "
            "SELECT item, time, rowid FROM events WHERE annotator = ?1 AND kind = 'skipped') ORDER BY time DESC, place DESC"
        )
        with self._open() as book:
            found = book.execute(last, (annotator,)).fetchone()
            if found is None:
                return None
            book.execute("DELETE FROM votes WHERE annotator = ? AND item = ?", (annotator, found[0]))
            book.execute(
                "DELETE FROM events WHERE annotator = ? AND item = ? AND kind IN ('skipped', 'comment')", (annotator, found[0])
            )
        return str(found[0])

    def _now(self, book: sqlite3.Connection, annotator: str) -> float:
        """The time of an answer or skip: later than all that is stored of the annotator, also after the clock was set back."""
        last = (
            "SELECT MAX(time) FROM (SELECT time FROM votes WHERE annotator = ?1 UNION ALL "
            "SELECT time FROM events WHERE annotator = ?1)"
        )
        (stored,) = book.execute(last, (annotator,)).fetchone()
        return self.clock() if stored is None else max(self.clock(), stored + 1e-6)

    def _note(self, book: sqlite3.Connection, annotator: str, item: str, kind: str, text: str, now: float) -> None:
        if text.strip():
            book.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (annotator, item, kind, text.strip()[:MOST_TEXT], now))

    # -- events -----------------------------------------------------------------------------------------------------------------
    def happened(self, annotator: str, kind: str, item: str = "") -> None:
        """Note that something happened to a person or an item; the first opening of an item is the one that counts."""
        with self._open() as book:
            book.execute("INSERT INTO events VALUES (?, ?, ?, '', ?)", (annotator, item, kind, self.clock()))

    def opened(self, annotator: str, item: Item) -> float:
        """When the annotator first saw this item; now, if it is the first time."""
        found = self._all("SELECT MIN(time) FROM events WHERE annotator = ? AND kind = ? AND item = ?", annotator, OPENED, item.id)
        if found[0][0] is not None:
            return float(found[0][0])
        self.happened(annotator, OPENED, item.id)
        return self.clock()

    def has_opened(self, annotator: str, item: str) -> bool:
        return bool(self._all("SELECT 1 FROM events WHERE annotator = ? AND kind = ? AND item = ?", annotator, OPENED, item))

    def has_read(self, annotator: str) -> bool:
        return bool(self._all("SELECT 1 FROM events WHERE annotator = ? AND kind = ? LIMIT 1", annotator, READ))

    def gone(self) -> set[str]:
        """The people who left: their last event of leaving or coming back was leaving."""
        rows = self._all("SELECT annotator, kind FROM events WHERE kind IN (?, ?) ORDER BY rowid", LEFT, BACK)
        last = {row[0]: row[1] for row in rows}
        return {name for name, kind in last.items() if kind == LEFT}

    # -- who has done what ------------------------------------------------------------------------------------------------------
    def answered(self, annotator: str) -> set[str]:
        return {row[0] for row in self._all("SELECT DISTINCT item FROM votes WHERE annotator = ?", annotator)}

    def skipped(self, annotator: str) -> set[str]:
        return {
            row[0] for row in self._all("SELECT DISTINCT item FROM events WHERE annotator = ? AND kind = ?", annotator, SKIPPED)
        }

    def answered_pairs(self) -> set[tuple[str, str]]:
        """(annotator, item) of every item of the study proper that has an answer."""
        return {(row[0], row[1]) for row in self._all("SELECT DISTINCT annotator, item FROM votes WHERE role = 'study'")}

    def event_pairs(self, kind: str) -> set[tuple[str, str]]:
        return {(row[0], row[1]) for row in self._all("SELECT DISTINCT annotator, item FROM events WHERE kind = ?", kind)}

    # -- who is to do what ------------------------------------------------------------------------------------------------------
    def assign(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Replace the whole assignment, in one step."""
        with self._open() as book:
            book.execute("DELETE FROM assigned")
            book.executemany("INSERT INTO assigned VALUES (?, ?)", sorted(pairs))

    def assigned(self) -> set[tuple[str, str]]:
        """(annotator, item) of the whole assignment."""
        return {(row[0], row[1]) for row in self._all("SELECT annotator, item FROM assigned")}

    def assigned_to(self, annotator: str) -> set[str]:
        return {row[0] for row in self._all("SELECT item FROM assigned WHERE annotator = ?", annotator)}

    # -- out --------------------------------------------------------------------------------------------------------------------
    def ratings(self) -> pd.DataFrame:
        """All votes of the study proper in the ratings schema, A on the left as it was shown; gold and practice are left out."""
        frame = self.table(f"SELECT item, {COLUMNS} FROM votes WHERE role = 'study' ORDER BY annotator, item, task, dimension")
        if frame.empty:
            return empty_table("ratings")
        turned = [self.swapped(str(name), str(item)) for name, item in zip(frame["annotator"], frame.pop("item"), strict=True)]
        sides = ["clip_a", "model_a", "clip_b", "model_b"]
        frame.loc[turned, sides] = frame.loc[turned, sides[2:] + sides[:2]].to_numpy()
        frame.loc[turned, "label"] = frame.loc[turned, "label"].replace(OTHER_SIDE)
        return check_table("ratings", frame.assign(simulated=False))

    def known(self) -> pd.DataFrame:
        """Every answer to a question with a known answer: gold and practice."""
        frame = self.table(
            "SELECT annotator, role, item, task, dimension, clip_a, model_a, label, expected, time FROM votes WHERE expected != '' "
            "ORDER BY annotator, time, item, task, dimension"
        )
        return frame.assign(right=frame["label"] == frame["expected"])

    def notes(self) -> pd.DataFrame:
        """Comments and skipped items with what was written."""
        return self.table(
            "SELECT annotator, item, kind, text, time FROM events WHERE kind IN ('comment', 'skipped') ORDER BY rowid"
        )

    def times(self) -> pd.DataFrame:
        """When each answered item of the study proper was first opened and when it was answered, by annotator."""
        return self.table(
            "SELECT v.annotator AS annotator, v.item AS item, MIN(e.time) AS opened, MAX(v.time) AS answered FROM votes v "
            "JOIN events e ON e.annotator = v.annotator AND e.item = v.item AND e.kind = 'opened' WHERE v.role = 'study' "
            "GROUP BY v.annotator, v.item"
        )

    def last_seen(self) -> dict[str, float]:
        rows = self._all(
            "SELECT annotator, MAX(time) FROM (SELECT annotator, time FROM votes UNION ALL SELECT annotator, time FROM events) "
            "GROUP BY annotator"
        )
        return {row[0]: float(row[1]) for row in rows}

    def table(self, question: str) -> pd.DataFrame:
        with self._open() as book:
            return pd.read_sql_query(question, book)
