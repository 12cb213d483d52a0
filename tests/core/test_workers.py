"""Tasks over processes: all results arrive, and a dying worker costs only its own task."""

import os
import signal
import time
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
