"""Ray actors do what local processes do: the same tables byte for byte, also with one killed half-way; a killer task is typed."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from lookback.errors import BackendUnavailable, LookbackError, Reason
from lookback.executors import WorkerDied, executor_of
from lookback.judging.question import JudgeError, Reply
from lookback.judging.recording import Identity
from lookback.judging.spreading import SpreadJudge
from lookback.params import RunParams

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
pytestmark = pytest.mark.long


def square_or_die(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def grammars(_: int) -> int:
    return sum(name.startswith("rfc3987_syntax.") for name in sys.modules)


def refuse(number: int) -> int:
    raise LookbackError(f"task {number} is wrong")


# Ray's own limits, in seconds: on a busy machine its processes need a minute to start
PATIENT = ("worker_register_timeout_seconds", "gcs_server_request_timeout_seconds")


@pytest.fixture(scope="module")
def local_ray():
    with pytest.MonkeyPatch.context() as patch:
        for name in PATIENT:
            patch.setenv(f"RAY_{name}", "120")
        ray = pytest.importorskip("ray", reason="the extra lookback[ray] is not installed")
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # no package: the workers cannot import it
        yield ray
        ray.shutdown()


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BackendUnavailable, match=r'pip install "lookback\[ray\]"'):
        list(executor_of(RunParams(run="r", executor="ray")).run(square_or_die, [1]))


def test_no_task_starts_no_ray(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert list(executor_of(RunParams(run="r", executor="ray")).run(square_or_die, [])) == []


def test_clips_scored_by_ray_with_a_killed_worker_give_the_local_tables(
    local_ray: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Also the first to start Ray here: it listens on loopback alone and reports to nobody."""
    from curation_scale import write_dataset
    from ray_thousand import both

    project = tmp_path / "project"
    (project / "params").mkdir(parents=True)
    (project / "notebooks").mkdir()
    monkeypatch.setenv("LOOKBACK_ROOT", str(project))
    write_dataset(tmp_path / "data", 20, distinct=True)
    figures = both(tmp_path, clips=20, workers=2, batch=2, local_workers=1)
    assert figures["killed"] >= 1
    assert figures["tables_differ"] == 0
    assert figures["missing"] == 0
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    if sys.platform == "linux":
        assert local_ray.nodes()[0]["NodeManagerAddress"].startswith("127.")  # type: ignore[attr-defined]


def test_a_task_that_kills_its_worker_twice_is_given_up_and_the_others_are_not(local_ray: object):
    params = RunParams(run="r", executor="ray", workers=2, ray={"batch": 3})  # type: ignore[arg-type]
    results = dict(executor_of(params).run(square_or_die, range(8)))
    assert isinstance(results.pop(3), WorkerDied)
    assert results == {number: number * number for number in range(8) if number != 3}


def test_the_processes_of_ray_do_not_build_the_grammar_that_nobody_needs(local_ray: object):
    """It took three quarters of their start, and Ray gives up on a helper process that needs more than 15 seconds."""
    assert list(executor_of(RunParams(run="r", executor="ray", workers=1)).run(grammars, [0])) == [(0, 0)]


def test_an_error_of_a_task_is_raised_as_it_is(local_ray: object):
    params = RunParams(run="r", executor="ray", workers=1)
    with pytest.raises(LookbackError, match="task 5 is wrong"):
        list(executor_of(params).run(refuse, [5]))


def test_sigterm_ends_a_command_as_without_ray(local_ray: object):
    assert not str(getattr(signal.getsignal(signal.SIGTERM), "__module__", "")).startswith("ray")


class SlowJudge:
    """Answers with the process that did; dies on the first question about a file it finds, and cannot answer "refuse"."""

    identity, costs = Identity("transformers", "transformers/tiny"), True

    def unable(self, question: object) -> str:
        return ""

    def samples(self, question: object, first: object) -> int:
        return 0

    async def ask(self, question: str, sample: int, repeat: int) -> Reply:
        if question == "refuse":
            raise JudgeError(Reason.JUDGE_FAILED, "no", retry=True, wait_s=2.0)
        if question == "broken":
            raise BackendUnavailable("no model")
        if Path(question).exists():
            Path(question).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        if question == "poison":
            os.kill(os.getpid(), signal.SIGKILL)
        return Reply(f"{question} {sample} {repeat}", usage={"process": os.getpid()})

    async def close(self) -> None: ...


def test_a_local_judge_model_is_asked_in_actors_and_a_dead_one_is_replaced(local_ray: object, tmp_path: Path):
    trap = tmp_path / "trap"
    trap.write_text("")
    judge = SpreadJudge(SlowJudge(), SlowJudge, workers=2, settings=RunParams(run="r").ray)

    async def ask(*questions: str) -> list[object]:
        return await asyncio.gather(*(judge.ask(question, 0, 1) for question in questions), return_exceptions=True)  # type: ignore[arg-type]

    one, two, three = asyncio.run(ask("a", "b", str(trap)))
    assert [reply.text for reply in (one, two, three)] == ["a 0 1", "b 0 1", f"{trap} 0 1"]  # type: ignore[attr-defined]
    assert os.getpid() not in {reply.usage["process"] for reply in (one, two, three)}  # type: ignore[attr-defined]
    refused, broken, poison = asyncio.run(ask("refuse", "broken", "poison"))
    assert isinstance(refused, JudgeError) and (refused.reason, refused.wait_s, refused.retry) == (Reason.JUDGE_FAILED, 2.0, True)
    assert isinstance(broken, BackendUnavailable)
    assert isinstance(poison, JudgeError) and poison.reason == Reason.BACKEND_FAILED


def test_workers_that_find_no_room_end_in_a_sentence(local_ray: object):
    params = RunParams(run="r", executor="ray", workers=1, ray={"num_gpus": 512, "start_timeout_s": 1})  # type: ignore[arg-type]
    with pytest.raises(LookbackError, match="asks for 1 CPUs and 512 GPUs"):
        list(executor_of(params).run(refuse, [5]))


def test_no_cluster_at_the_address_is_a_sentence(monkeypatch: pytest.MonkeyPatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def unreachable(**_: object) -> None:
        raise ConnectionError("Could not find any running Ray instance.")

    monkeypatch.setattr(ray, "init", unreachable)
    params = RunParams(run="r", executor="ray", ray={"address": "auto"})  # type: ignore[arg-type]
    with pytest.raises(LookbackError, match=r"Ray cannot be reached at auto.*ray start --head"):
        list(executor_of(params).run(refuse, [5]))
