"""In a container or on a cluster: a user without a name, and fewer cores than the machine has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lookback import threads


@pytest.mark.parametrize("error", ["KeyError", "OSError"])
def test_a_user_without_a_name_gets_one(error):
    """A container is started with any number as its user; torch, and the desk's list of annotators, ask for the name."""
    code = f"""
import os, pwd
def unknown(number): raise {error}(number)
pwd.getpwuid = unknown
for name in ("LOGNAME", "USER", "LNAME", "USERNAME"): os.environ.pop(name, None)
import lookback, getpass
print(getpass.getuser())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == f"user{os.getuid()}\n", done.stderr


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
