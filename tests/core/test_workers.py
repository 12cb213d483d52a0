"""Tasks over processes: all results arrive, and a dying worker costs only its own task."""

import multiprocessing
import os
import signal
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from lookback import workers
from lookback.clips import Clip
from lookback.workers import WorkerDied, run_tasks, workers_kept


def square(number: int) -> int:
    return number * number


def square_or_die(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def process(number: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_gives_its_result(workers):
    assert dict(run_tasks(square, range(20), workers)) == {number: number * number for number in range(20)}


def test_a_killed_worker_costs_only_the_task_that_killed_it():
    results = dict(run_tasks(square_or_die, range(8), 2))
    assert isinstance(results.pop(3), WorkerDied)
    assert results == {number: number * number for number in range(8) if number != 3}


def test_a_lone_task_that_kills_its_worker_does_not_kill_the_run():
    ((index, result),) = run_tasks(square_or_die, [3], 2)
    assert index == 0 and isinstance(result, WorkerDied)


def slow(task: object) -> int:
    time.sleep(1.5)
    return 1


def test_clips_that_take_long_are_named_at_growing_intervals(monkeypatch, capsys):
    monkeypatch.setattr(workers, "QUIET_S", 0.1)
    clip = Clip(benchmark="folder", setting="", model_id="m", clip_id="a", video="a.mp4")
    tasks = [[SimpleNamespace(clip=clip)] * 20, "no clip"]
    assert dict(run_tasks(slow, tasks, 2)) == {0: 1, 1: 1}
    first, *more = capsys.readouterr().out.splitlines()
    assert first == f"no result for 0 minutes; in work: {', '.join(['folder/m/a'] * 8)} and 13 more" and 1 <= len(more) < 10
    assert workers._names("no clip", 1) == ["task 2"]


def test_kept_workers_serve_one_call_after_another_and_are_replaced_when_one_dies():
    with workers_kept():
        first = set(dict(run_tasks(process, range(8), 2)).values())
        with workers_kept():
            again = set(dict(run_tasks(process, range(8), 2)).values())
        assert isinstance(dict(run_tasks(square_or_die, range(8), 2))[3], WorkerDied)
        replaced = set(dict(run_tasks(process, range(8), 2)).values())
    assert len(first | again) <= 2 and not replaced & (first | again)
    assert not replaced & set(dict(run_tasks(process, range(8), 2)).values())


def busy_for_ten_seconds(folder: Path) -> None:
    (folder / f"begun-{os.getpid()}-{time.monotonic_ns()}").touch()
    until = time.monotonic() + 10
    while time.monotonic() < until:
        pass


@pytest.mark.parametrize("kept", [False, True])
def test_an_interrupt_ends_the_workers_and_begins_no_further_task(kept: bool, tmp_path: Path):
    started = time.monotonic()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process that was started in the background ignores it
    with pytest.raises(KeyboardInterrupt), workers_kept() if kept else nullcontext():
        threading.Thread(target=interrupt_when_both_work, args=(tmp_path,)).start()
        dict(run_tasks(busy_for_ten_seconds, [tmp_path] * 8, 2))
    interrupted = max(path.stat().st_mtime for path in tmp_path.iterdir())
    assert time.time() - interrupted < 5 and time.monotonic() - started < 40
    assert len(list(tmp_path.glob("begun-*"))) == 2
    time.sleep(0.2)
    assert not [process for process in multiprocessing.active_children() if process.is_alive()]


def interrupt_when_both_work(folder: Path) -> None:
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.02)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def masked(number: int) -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_workers_never_see_an_interrupt_but_their_parent_does():
    assert set(dict(run_tasks(masked, range(4), 2)).values()) == {True}
    assert not masked(0)
