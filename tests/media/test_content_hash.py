"""Content hashes: known digests, and what must and must not change them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from lookback.errors import MediaError
from lookback.media import content_hash


def test_a_file_hashes_to_its_sha256(tmp_path: Path) -> None:
    data = bytes(range(256)) * 20_000
    (tmp_path / "clip.mp4").write_bytes(data)
    assert content_hash(tmp_path / "clip.mp4") == hashlib.sha256(data).hexdigest()


def test_a_folder_hashes_names_and_bytes_and_not_its_place(tmp_path: Path) -> None:
    def folder(name: str, files: dict[str, bytes]) -> str:
        for file, data in files.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return content_hash(tmp_path / name)

    first = folder("a", {"0.png": b"x", "1.png": b"yz"})
    assert folder("b", {"1.png": b"yz", "0.png": b"x"}) == first
    assert folder("c", {"0.png": b"xy", "1.png": b"z"}) != first, "bytes must not slip from one file to the next"
    assert folder("d", {"0.png": b"x", "2.png": b"yz"}) != first
    assert folder("e", {"0.png": b"x", "sub/1.png": b"yz"}) != first


def test_nothing_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="no such"):
        content_hash(tmp_path / "nowhere")
