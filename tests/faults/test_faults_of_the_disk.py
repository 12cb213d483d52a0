"""A full disk, read-only outputs and damaged entries: one sentence, nothing half-written, and damage is noticed and mended."""

import errno
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from lookback.cli import init
from lookback.errors import CannotWrite, LookbackError, Reason
from lookback.files import copy_folder, sha256_json, write_json, write_text
from lookback.hashcache import HashCache
from lookback.judging.recording import Recording
from lookback.pipeline.lock import run_lock
from lookback.reasons import not_scorable
from lookback.store import ArtifactStore, Producer
from lookback.tables import empty_table, write_table

PRODUCER = Producer(role="pose", backend="classical", version="1")
FULL = """
import resource, signal, sys
from pathlib import Path
import numpy as np
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from lookback.errors import LookbackError
folder = Path(sys.argv[1])
def store():
    from lookback.store import ArtifactStore, Producer
    ArtifactStore(folder).save(Producer("pose", "classical", "1"), "input", {"a": np.random.default_rng(0).random(100_000)}, {})
def table():
    import pandas as pd
    from lookback.tables import write_table
    noise = np.random.default_rng(0).bytes(200_000).hex()  # does not compress below the limit
    same = {"layout": "l", "field": "f", "reason": "decode_failed", "remedy": ""}
    rows = [{**same, "path": str(i), "problem": noise[200 * i : 200 * i + 200]} for i in range(2000)]
    write_table(folder, "rejected", pd.DataFrame(rows))
def text():
    from lookback.files import write_text
    write_text(folder / "page.html", "x" * 100_000)
for write in (store, table, text):
    try:
        write()
    except LookbackError as error:
        print(error)
"""


def test_a_disk_that_takes_no_more_bytes_is_one_sentence_and_leaves_nothing(tmp_path: Path):
    """The limit on a file's size stands for the full disk: the kernel refuses the write in the middle of the file."""
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sentences = done.stdout.splitlines()
    assert len(sentences) == 3
    assert all(sentence.startswith("Cannot write ") and sentence.endswith("free space") for sentence in sentences)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_no_space_left_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(LookbackError, match=r"No space left on device, \d+\.\d MB free; make room there and start again"):
        ArtifactStore(tmp_path).save(PRODUCER, "input", {"a": np.zeros(3)}, {})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert ArtifactStore(tmp_path).load(PRODUCER, "input") is None


def test_a_disk_that_takes_no_more_is_no_clips_reason():
    """As a reason it would be stored, and served when there is room again."""
    for error in (CannotWrite("Cannot write a.npz"), OSError(errno.ENOSPC, "full"), OSError(errno.EDQUOT, "full")):
        with pytest.raises(type(error)):
            not_scorable(error)
    assert not_scorable(OSError(errno.EIO, "broken")).reason == Reason.BACKEND_FAILED


def test_read_only_outputs_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Root may write anywhere, so the kernel's answer is played."""

    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", read_only)
    for write in (
        lambda: write_text(tmp_path / "a.txt", "x"),
        lambda: write_json(tmp_path / "a.json", {}),
        lambda: write_table(tmp_path, "rejected", empty_table("rejected")),
    ):
        with pytest.raises(LookbackError, match="Read-only file system; check the folder's permissions"):
            write()


def test_an_output_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("")
    inside = tmp_path / "file" / "run"
    with pytest.raises(LookbackError, match=r"a\.txt: .*file is a file; name a folder"):
        write_text(inside / "a.txt", "x")
    for folder in (inside, inside.parent):
        with pytest.raises(LookbackError, match="file is a file; name a folder"), run_lock(folder):
            pass
        with pytest.raises(LookbackError, match="file is a file; name a folder"):
            Recording(folder)


def test_a_damaged_recording_of_answers_is_one_sentence(tmp_path: Path):
    (tmp_path / "replies.sqlite").write_bytes(b"SQLite format 3\0" + os.urandom(5000))
    with pytest.raises(LookbackError, match="move the file away"):
        Recording(tmp_path)


@pytest.mark.parametrize("where", [0.02, 0.3, 0.5, 0.7, 0.98])
@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_one_flipped_bit_anywhere_is_noticed(tmp_path: Path, where: float, suffix: str):
    store = ArtifactStore(tmp_path)
    path = store.path(PRODUCER, store.save(PRODUCER, "input", {"a": np.arange(100)}, {"n": 1})).with_suffix(suffix)
    content = bytearray(path.read_bytes())
    content[int(where * len(content))] ^= 4
    path.write_bytes(content)
    assert store.load(PRODUCER, "input") is None
    store.save(PRODUCER, "input", {"a": np.arange(100)}, {"n": 1})
    assert store.load(PRODUCER, "input") is not None


def test_another_entry_under_this_name_is_not_taken_for_it(tmp_path: Path):
    """Each file is whole and its checksum right, yet it speaks of another clip."""
    store = ArtifactStore(tmp_path)
    mine, other = (
        store.path(PRODUCER, store.save(PRODUCER, name, {"a": np.full(3, len(name))}, {})) for name in ("mine", "other one")
    )
    mine.write_bytes(other.read_bytes())
    mine.with_suffix(".npz").write_bytes(other.with_suffix(".npz").read_bytes())
    assert store.load(PRODUCER, "mine") is None
    assert store.record(PRODUCER, "mine") is None


def test_an_entry_that_is_no_mapping_is_forgotten(tmp_path: Path):
    store = ArtifactStore(tmp_path)
    path = store.path(PRODUCER, store.save(PRODUCER, "input", {}, {}))
    body = {"producer": asdict(PRODUCER), "input": "input"}
    for content in ({"checksum": 1}, [1, 2], "text", {**body, "checksum": sha256_json(body)}):
        write_json(path, content)
        assert store.load(PRODUCER, "input") is None


@pytest.mark.parametrize("jump_s", [-10 * 365 * 86400, 10 * 365 * 86400])
def test_time_stamps_of_another_decade_do_not_matter(tmp_path: Path, jump_s: int):
    """The clock jumped between two writes: content decides, whatever the file's times say."""
    path, hashes = tmp_path / "clip.mp4", HashCache(tmp_path / "hashes.json")
    seen = set()
    for content in (b"one", b"two", b"six"):  # as long as each other
        path.write_bytes(content)
        stamp = path.stat().st_mtime + jump_s
        os.utime(path, (stamp, stamp))
        seen.add(hashes.file(path))
        hashes.save()
        hashes = HashCache(tmp_path / "hashes.json")
    assert len(seen) == 3


def test_a_copy_of_a_read_only_folder_can_be_written_again(tmp_path):
    """Datasets and packages lie on disks that only some may write to; a second model's samples are copied over the first one's."""
    file = tmp_path / "source" / "samples" / "one.json"
    for left_behind in (file.parent / ".ipynb_checkpoints", file.parent / "__pycache__"):
        left_behind.mkdir(parents=True)
        (left_behind / "two.json").write_text("2")
    file.write_text("1")
    for path, mode in ((file, 0o444), (file.parent, 0o555), (file.parents[1], 0o555)):
        path.chmod(mode)
    for _ in range(2):
        copy_folder(tmp_path / "source", tmp_path / "copy")
    copied = tmp_path / "copy" / "samples" / "one.json"
    assert copied.read_text() == "1"
    assert all(path.stat().st_mode & 0o200 for path in (copied, copied.parent, copied.parents[1]))
    assert list(copied.parent.iterdir()) == [copied]


def test_a_study_laid_out_from_a_read_only_package_can_be_edited(tmp_path, monkeypatch):
    package = tmp_path / "package"
    for name in ("notebooks/10_score.ipynb", "params/runs/demo.yaml", "docs/faq.md"):
        (package / name).parent.mkdir(parents=True)
        (package / name).write_text("{}")
    for path in sorted(package.rglob("*"), reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    monkeypatch.setattr(init, "SHIPPED", package)
    monkeypatch.setattr(init, "SHIPPED_FOLDERS", ("notebooks", "params"))
    init.init(tmp_path / "study")
    assert all(path.stat().st_mode & 0o200 for path in (tmp_path / "study").rglob("*"))
    assert (tmp_path / "study" / "params" / "runs" / "demo.yaml").is_file()
