"""The content-addressed store: one entry per clip and producer, written once, verified when read.

An entry is a folder-sharded pair `<key>.npz` + `<key>.json`. The key hashes everything the content depends on: input, producer,
producer version, parameters, weights. The JSON is written last and holds the payload's hash, so an entry of
a killed writer never looks finished, and a damaged payload is detected and made again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lookback.files import atomic_path, sha256_file, sha256_json, write_json


@dataclass(frozen=True)
class Producer:
    """What made an entry. It is part of the key and of the provenance columns."""

    role: str
    backend: str
    version: str
    params_hash: str = ""
    weights: str = ""  # "name@revision:sha256" of each weight file, joined by ","

    def key(self, input_hash: str) -> str:
        return sha256_json([asdict(self), input_hash])


@dataclass(frozen=True)
class Entry:
    """What the store holds under a key: arrays, and a JSON-able record."""

    arrays: dict[str, np.ndarray]
    record: dict[str, Any]


class ArtifactStore:
    """Entries below one folder."""

    def __init__(self, root: Path):
        self.root = root

    def path(self, producer: Producer, key: str) -> Path:
        return self.root / producer.role / producer.backend / key[:2] / f"{key}.json"

    def save(self, producer: Producer, input_hash: str, arrays: dict[str, np.ndarray], record: dict[str, Any]) -> str:
        """Write an entry; returns its key."""
        key = producer.key(input_hash)
        path = self.path(producer, key)
        payload = ""
        if arrays:
            with atomic_path(path.with_suffix(".npz")) as temporary, temporary.open("wb") as handle:
                np.savez(handle, allow_pickle=False, **arrays)
            payload = sha256_file(path.with_suffix(".npz"))
        body = {"producer": asdict(producer), "input": input_hash, "payload": payload, "record": record}
        write_json(path, {**body, "checksum": sha256_json(body)})
        return key

    def load(self, producer: Producer, input_hash: str) -> Entry | None:
        """The entry, or None when it is absent or damaged (a damaged one is removed)."""
        path = self.path(producer, producer.key(input_hash))
        head = self._head(path, producer, input_hash)
        if head is None:
            return None
        payload = path.with_suffix(".npz")
        if not head["payload"]:
            return Entry({}, head["record"])
        if not payload.is_file() or sha256_file(payload) != head["payload"]:
            self._discard(path)
            return None
        with np.load(payload, allow_pickle=False) as archive:
            return Entry({name: archive[name] for name in archive.files}, head["record"])

    def record(self, producer: Producer, input_hash: str) -> dict[str, Any] | None:
        """Only the record; the arrays are not read."""
        head = self._head(self.path(producer, producer.key(input_hash)), producer, input_hash)
        return None if head is None else head["record"]

    def _head(self, path: Path, producer: Producer, input_hash: str) -> dict[str, Any] | None:
        try:
            head: dict[str, Any] = json.loads(path.read_bytes())
            whole = head.pop("checksum") == sha256_json(head)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, AttributeError, TypeError):
            self._discard(path)
            return None
        mine = head.get("producer") == asdict(producer) and head.get("input") == input_hash  # the file belongs to another entry
        if not whole or not mine or not {"payload", "record"} <= head.keys():
            self._discard(path)
            return None
        return head

    def _discard(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        path.with_suffix(".npz").unlink(missing_ok=True)
