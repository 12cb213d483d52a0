"""What killed processes leave: temporary files and folders go at the next start, and never those of a process at work."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from lookback.files import atomic_path, write_text
from lookback.pipeline.lock import run_lock
from lookback.scratch import LEFT, part_folder, scratch_folder, sweep

BUSY = """
import sys, time
from contextlib import ExitStack
from pathlib import Path
import numpy as np
from lookback.files import atomic_path
from lookback.media import encode
from lookback.scratch import part_folder, scratch_folder
run = Path(sys.argv[1])

def frames():
    yield np.zeros((32, 32, 3), np.uint8)
    print("busy", flush=True)
    time.sleep(600)

with ExitStack() as stack:
    for target in (run / "tables" / "clips.parquet", run / "artifacts" / "pose" / "classical" / "ab" / "abc.npz"):
        stack.enter_context(atomic_path(target)).write_bytes(b"half")
    (stack.enter_context(part_folder(run / "datasets")) / "mind").mkdir()
    (stack.enter_context(scratch_folder()) / "scratch.txt").write_text("half")
    encode(run / "audit" / "clip.mp4", frames(), 8)
"""


def left_below(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in folder.rglob("*") if LEFT.match(path.name)]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A run's folder, and a place of its own for the system's temporary files."""
    temporary = tmp_path / "system"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path / "run", temporary


def busy(run: Path) -> subprocess.Popen:
    """A process in the middle of five writes: four in the run's folder, one in the system's."""
    process = subprocess.Popen([sys.executable, "-c", BUSY, str(run)], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"busy\n"
    return process


def kill(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_nothing_of_a_killed_process_is_left_after_the_next_start(places: tuple[Path, Path]):
    process = busy(places[0])
    assert len(left_below(*places)) == 5
    assert all(f".{process.pid}-" in path.name for path in left_below(*places))
    kill(process)
    assert len(left_below(*places)) == 5
    with run_lock(places[0]):
        assert left_below(*places) == []
    assert sorted(path.name for path in places[0].rglob("*") if path.is_file()) == [".lock"]


def test_a_process_at_work_keeps_its_own_beside_a_dead_one(places: tuple[Path, Path]):
    alive, dead = busy(places[0]), busy(places[0])
    try:
        kill(dead)
        sweep(places[0])
        left = left_below(*places)
        assert len(left) == 5
        assert all(f".{alive.pid}-" in path.name for path in left)
    finally:
        kill(alive)


def test_a_number_that_was_given_to_another_process_does_not_keep_a_left_file(tmp_path: Path):
    (tmp_path / f".clips.parquet.{os.getpid()}-01234567.part.parquet").write_bytes(b"half")
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_only_what_is_named_as_a_temporary_is_removed(tmp_path: Path):
    kept = [".hidden", "clip.part", ".clip.mp4.part", "table.1-01234567.part", ".x.12-0123456.part", ".lock"]
    for name in kept:
        (tmp_path / name).write_text("")
    (tmp_path / ".link.1-01234567.part").symlink_to(tmp_path / ".hidden")
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*kept, ".link.1-01234567.part"}


def test_work_that_ends_removes_its_own(places: tuple[Path, Path]):
    run, temporary = places
    write_text(run / "a.txt", "whole")
    with pytest.raises(ValueError, match="broken"), atomic_path(run / "b.txt"):
        raise ValueError("broken")
    with part_folder(run / "folder") as folder:
        (folder / "file").write_text("")
        folder.rename(run / "folder")
    with scratch_folder() as scratch:
        assert scratch.parent == temporary and scratch.stat().st_mode & 0o777 == 0o700
    assert sorted(path.relative_to(run).as_posix() for path in run.rglob("*")) == ["a.txt", "folder", "folder/file"]
    assert list(temporary.iterdir()) == []


def test_a_name_of_any_length_and_script_has_a_temporary(tmp_path: Path):
    name = "\N{CJK UNIFIED IDEOGRAPH-6C34}" * 80 + ".csv"
    write_text(tmp_path / name, "whole")
    assert (tmp_path / name).read_text() == "whole"


SWEEPER = "import sys\nfrom pathlib import Path\nfrom lookback.scratch import sweep\nwhile True: sweep(Path(sys.argv[1]))"


@pytest.mark.long
def test_a_sweep_never_takes_a_file_from_its_maker(tmp_path: Path):
    """The maker creates, then locks; a sweep in between makes it try again instead of writing into nothing."""
    sweepers = [subprocess.Popen([sys.executable, "-c", SWEEPER, str(tmp_path)]) for _ in range(2)]
    try:
        for number in range(3000):
            write_text(tmp_path / f"{number % 7}.txt", str(number))
            assert (tmp_path / f"{number % 7}.txt").read_text() == str(number)
    finally:
        for sweeper in sweepers:
            kill(sweeper)


def test_a_folder_that_a_sweep_takes_before_it_is_locked_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made, mkdir = [], Path.mkdir

    def swept_at_first(path: Path, *arguments: object, **named: object) -> None:
        mkdir(path, *arguments, **named)
        if LEFT.match(path.name):
            made.append(path)
            if len(made) == 1:
                sweep(tmp_path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", swept_at_first)
        with part_folder(tmp_path / "clips") as folder:
            assert [path.exists() for path in made] == [False, True] and folder == made[1]
