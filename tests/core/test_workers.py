"""Tasks over processes: all results arrive, a dying worker costs only its own task, and all keep to the cores they were given."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lookback import threads
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


def test_kept_workers_serve_one_call_after_another_and_are_replaced_when_one_dies():
    with workers_kept():
        first = set(dict(run_tasks(process, range(8), 2)).values())
        with workers_kept():
            again = set(dict(run_tasks(process, range(8), 2)).values())
        assert isinstance(dict(run_tasks(square_or_die, range(8), 2))[3], WorkerDied)
        replaced = set(dict(run_tasks(process, range(8), 2)).values())
    assert len(first | again) <= 2 and not replaced & (first | again)
    assert not replaced & set(dict(run_tasks(process, range(8), 2)).values())


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes are not tied to cores here")
def test_a_process_that_was_given_one_core_uses_one():
    """As clusters give some cores of a large machine to a job; two workers would start a thread for each of the others, too."""
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from lookback.workers import cores_each
print(cores_each())
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "250000 100000\n"}, 3),
        ({"cpu.max": "1000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, 64),
        ({"cpu.max": "9900000 100000\n"}, 64),
        ({"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 64),
        ({}, 64),
    ],
)
def test_a_container_uses_the_cores_that_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: int
):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(threads, "CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert threads.cores() == expected
