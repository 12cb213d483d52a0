"""Tasks over processes: all results arrive, and a dying worker costs only its own task."""

import os
import signal

import pytest
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
