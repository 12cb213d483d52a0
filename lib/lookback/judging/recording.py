"""Store every reply of a judge under a key of everything it depends on. A rerun costs nothing, and `replay` needs no judge.

The store is one SQLite file in write-ahead mode. A reply is committed before the next question is asked, so a killed run loses
none. Failed calls are stored for the replay; a live run asks them again.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from lookback import json_text
from lookback.errors import ContractError, LookbackError, Reason
from lookback.files import raise_if_disk_failed, sha256_json, writing
from lookback.hiding import hide_all
from lookback.judging.frames import Encoding, frame_hashes
from lookback.judging.question import Question, Reply, Stated
from lookback.params import RunParams
from lookback.paths import resolve
from lookback.registry import JUDGES

CACHE = "judge_cache"  # the folder of a run's recording
FILE_NAME = "replies.sqlite"
DAMAGES = (ValueError, TypeError, LookupError, AttributeError, OverflowError)  # what a damaged entry raises
TABLES = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, judge TEXT NOT NULL, clip TEXT NOT NULL, task TEXT NOT NULL, question_ids TEXT NOT NULL,
    prompt_version TEXT NOT NULL, sample INTEGER NOT NULL, repeat INTEGER NOT NULL,
    reason TEXT NOT NULL, body TEXT NOT NULL, usage TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS judges (role TEXT PRIMARY KEY, identity TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Identity:
    """Which judge answers, with its settings. It is part of every key and fills the provenance columns of every row."""

    name: str  # the registry's name
    label: str  # the tables' `judge` column
    model: str = ""
    version: str = "1"
    simulated: bool = False
    settings: Mapping[str, Any] | None = None  # everything that changes an answer: temperature, seed, token limit ...

    @property
    def settings_hash(self) -> str:
        return sha256_json(self.settings or {})

    def samples(self, question: Question) -> int:
        """How many sampled calls replace the plain call where it gives no log-probabilities."""
        return int((self.settings or {}).get("samples", 0)) if question.expects == "yes_no" else 0


@dataclass(frozen=True)
class Failure:
    """A recorded call that got no reply."""

    reason: Reason
    detail: str
    usage: Mapping[str, Any] = field(default_factory=dict)  # what its calls used, as in a `Reply`


Call = tuple[str, Identity, Question, int, int, Reply | Failure]  # key, judge, question, sample, repeat, outcome


def call_key(identity: Identity, question: Question, encoding: Encoding, sample: int, repeat: int) -> str:
    """A hash of the model, the prompt version, the question, the frames with their labels, and the settings."""
    asked = [question.task, question.expects, question.prompt_version, question.system, question.text]
    parts = [part.question_id for part in question.parts]
    by_clip = JUDGES.get(identity.name).measures  # such a judge knows the clip and looks at no frames
    clip = question.clip.key if by_clip else ()
    hashes = frame_hashes(question.video_hash, question.frames, encoding)
    frames = hashes if by_clip else list(zip(hashes, question.labels, strict=True))
    who = [identity.name, identity.model, identity.version, identity.settings or {}]
    return sha256_json([who, asked, parts, clip, frames, sample, repeat])


class Recording:
    """The recorded replies in one folder."""

    def __init__(self, folder: Path, read_only: bool = False):
        path = folder / FILE_NAME
        if read_only and not path.is_file():
            raise ContractError(f"No recorded answers at {path}; set judging.recordings to the judge_cache folder of a judged run")
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.read_only = read_only
        try:
            self._database = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")  # a kill loses nothing; a power cut may lose the last replies
            self._database.executescript(TABLES)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise_if_disk_failed(path, error)
            raise ContractError(
                f"The recorded answers at {path} cannot be read ({error}); move the file away and run again"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._database.close()

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Report a full disk or a damaged file in one sentence. An unfinished transaction is undone when the file is closed."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise_if_disk_failed(self.path, error)
            raise LookbackError(
                f"The recorded answers at {self.path} cannot be used ({error}); check free space, or move the file away"
            ) from error

    def get(self, key: str) -> Reply | Failure | None:
        """The reply or failure recorded under the key. A live run asks again where the entry is damaged."""
        with self._in_words():
            row = self._database.execute("SELECT reason, body, usage FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            return _outcome(*row)
        except DAMAGES as error:
            if not self.read_only:
                return None
            raise self._damaged(f"answer {key}", error) from None

    def put_all(self, calls: Iterable[Call]) -> None:
        """Record replies and failures in one transaction. A failure never overwrites a reply."""
        if self.read_only:
            return
        rows = [_row(call) for call in calls]
        marks = ", ".join("?" * 11)
        with self._in_words():
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(
                f"INSERT INTO replies VALUES ({marks}) ON CONFLICT (key) DO UPDATE SET reason = excluded.reason, "
                "body = excluded.body, usage = excluded.usage WHERE excluded.reason = '' OR replies.reason <> ''",
                rows,
            )
            self._database.execute("COMMIT")

    def set_judge(self, role: str, identity: Identity) -> None:
        """Record which judge answered in a role (scorer, gate, ...), so that a replay can name it."""
        if self.read_only:
            return
        with self._in_words():
            text = json.dumps(asdict(identity), sort_keys=True)
            self._database.execute("INSERT OR REPLACE INTO judges VALUES (?, ?)", (role, text))

    def judges(self) -> dict[str, Identity]:
        """Which judge answered, by role."""
        with self._in_words():
            rows = self._database.execute("SELECT role, identity FROM judges ORDER BY role").fetchall()
        try:
            return {role: Identity(**json_text.loads(identity)) for role, identity in rows}
        except DAMAGES as error:
            raise self._damaged("name of a judge", error) from None

    def calls(self) -> list[dict[str, Any]]:
        """Every recorded call with its usage, for the tables of cost and latency."""
        names = ["key", "judge", "clip", "task", "question_ids", "prompt_version", "sample", "repeat", "reason", "usage"]
        with self._in_words():
            rows = self._database.execute(f"SELECT {', '.join(names)} FROM replies ORDER BY key").fetchall()
        try:
            return [{**dict(zip(names, row, strict=True)), "usage": dict(json_text.loads(row[-1]))} for row in rows]
        except DAMAGES as error:
            raise self._damaged("usage of an answer", error) from None

    def _damaged(self, entry: str, error: Exception) -> LookbackError:
        return LookbackError(
            f"The recorded answers at {self.path} cannot be used (a damaged entry, the {entry}: {type(error).__name__}); "
            "take an undamaged copy, or move the file away and ask again"
        )


def _row(call: Call) -> tuple[object, ...]:
    key, identity, question, sample, repeat, outcome = call
    if isinstance(outcome, Failure):
        reason, body = str(outcome.reason), json.dumps(hide_all(outcome.detail))
    else:
        stated = None if outcome.stated is None else {name: asdict(said) for name, said in outcome.stated.items()}
        content: dict[str, Any] = {
            "text": outcome.text,
            "logprobs": outcome.logprobs,
            "stated": stated,
            "refused": dict(outcome.refused),
        }
        content |= {"truncated": True} if outcome.truncated else {}
        reason, body = "", json.dumps(hide_all(content, by_name=False), ensure_ascii=False, sort_keys=True)
    ids = json.dumps([part.question_id for part in question.parts])
    who = (key, identity.label, question.clip.label, question.task, ids, question.prompt_version, sample, repeat)
    return (*who, reason, body, json.dumps(hide_all(dict(outcome.usage), by_name=False), sort_keys=True))


def _outcome(reason: str, body: str, usage: str) -> Reply | Failure:
    """A recorded call; an error of DAMAGES where the entry cannot be what was recorded."""
    said, used = json_text.loads(body), dict(json_text.loads(usage))
    if reason:
        return Failure(Reason(reason), _text(said), used)
    stated = None if said["stated"] is None else {name: Stated(**one) for name, one in said["stated"].items()}
    logprobs = None if said["logprobs"] is None else tuple((_text(token), _score(score)) for token, score in said["logprobs"])
    refused = {name: (why, detail) for name, (why, detail) in said["refused"].items()}
    return Reply(_text(said["text"]), logprobs, stated, refused, truncated=said.get("truncated", False), usage=used)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _score(value: float) -> float:
    if math.isnan(value):
        raise ValueError("no score")
    return value


def recordings_folder(params: RunParams) -> Path:
    """The folder of the run's own recording, or of the one that a replay reads."""
    named = params.judging.recordings if params.judging.judge == "replay" else ""
    return resolve(named) if named else params.paths.root / CACHE


def scorer(params: RunParams) -> str:
    """The judge whose answers count (`backend` of its rows). A replay counts as the scorer that made the recording."""
    if params.judging.judge != "replay":
        return params.judging.judge
    with Recording(recordings_folder(params), read_only=True) as recording:
        return recording.judges()["scorer"].name
