"""The child process: warm over many clips, and every way to fail is a typed reason."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from lookback.errors import BackendUnavailable, NotScorable, Reason
from lookback.runners import Runner
from time_limits import HUNG_S, wait_for_the_end_of

FRAMES = np.arange(2 * 4 * 6 * 3, dtype=np.uint8).reshape(2, 4, 6, 3)


def ask(runner: Runner, **facts):
    runner.begin(**facts)
    runner.push(FRAMES[:1])
    runner.push(FRAMES[1:])
    seen = []
    return runner.answer(lambda done, total: seen.append((done, total))), seen


def test_one_process_answers_clip_after_clip(runner):
    started = runner()
    first, seen = ask(started)
    second, _ = ask(started)
    assert np.array_equal(first.arrays["mean"], FRAMES.mean(axis=(1, 2, 3))) and seen == [(1, 2)]
    assert first.arrays["process"] == second.arrays["process"] != os.getpid()
    assert first.facts["numpy"] == np.__version__


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ("refuse", "made-up: ValueError: this clip is upside down$"),
        ("memory", "out of memory"),
        ("die", r"ended by itself \(exit 7\): .*the end of the log"),
    ],
)
def test_a_failed_clip_has_a_reason_and_the_next_one_is_answered(runner, wish: str, says: str):
    started = runner()
    with pytest.raises(NotScorable, match=says) as raised:
        ask(started, wish=wish)
    assert raised.value.reason is Reason.BACKEND_FAILED
    assert len(ask(started)[0].arrays["mean"]) == 2


def test_a_clip_that_takes_too_long_is_ended(runner):
    started = runner(clip_seconds=1.0)
    begun = time.monotonic()
    with pytest.raises(NotScorable, match="no answer within 1 s and was ended"):
        ask(started, wish="hang")
    assert time.monotonic() - begun < HUNG_S and started.process is None


def test_a_clip_that_needs_too_much_memory_is_ended(runner):
    with pytest.raises(NotScorable, match=r"more than 0.3 GB of memory"):
        ask(runner(memory_gb=0.3), wish="grow")


def test_a_model_that_cannot_load_is_unavailable(runner):
    with pytest.raises(
        BackendUnavailable, match=r"cannot be loaded: made-up: RuntimeError: no such checkpoint.*models doctor made-up"
    ):
        ask(runner(options={"fail": True}))
    with pytest.raises(BackendUnavailable, match="cannot be started"):
        ask(runner(python=Path("nowhere/python")))


def test_the_child_ends_with_its_parent(tmp_path: Path):
    code = """
import sys, os, numpy as np
from pathlib import Path
from lookback.runners import Launch, Runner
runner = Runner(Launch(name="made-up", python=Path(sys.executable), script=Path(sys.argv[1])))
runner.begin(wish="hang")
runner.push(np.zeros((1, 2, 2, 3), np.uint8))
runner._send("run")
print(runner.process.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    script = Path(__file__).parent / "scripts" / "made_up.py"
    parent = subprocess.run([sys.executable, "-c", code, str(script)], capture_output=True, text=True)
    wait_for_the_end_of(int(parent.stdout))
