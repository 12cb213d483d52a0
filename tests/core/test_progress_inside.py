"""Progress inside an item: a worker tells it, the bar's file shows it."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Barrier, Thread

from lookback.progress import inside, read_progress, say, silenced, track
from lookback.workers import run_tasks
from time_limits import HUNG_S, wait_until


def _seen(task):
    """Tells where it is, and works on until that is shown."""
    inside(f"frame of {task}", 1, 4)
    wait_until(lambda: "frame of" in read_progress(Path(os.environ["LOOKBACK_PROGRESS_FILE"])), "it was never shown")
    return task


def test_what_a_worker_process_tells_is_shown_before_the_item_is_done(tmp_path, monkeypatch):
    file = tmp_path / "progress"
    monkeypatch.setenv("LOOKBACK_PROGRESS_FILE", str(file))
    monkeypatch.setenv("LOOKBACK_NO_PROGRESS_BAR", "1")
    seen = []

    def tasks():
        for result in run_tasks(_seen, ["a", "b"], workers=2):
            seen.append(read_progress(file))
            yield result

    assert len(list(track(tasks(), "scoring", total=2))) == 2
    assert "frame of" in seen[0] and seen[0].startswith("scoring: 0/2 clips")
    assert "LOOKBACK_PROGRESS_INSIDE" not in os.environ


def test_work_goes_on_when_nobody_reads_its_bar_any_more():
    """The window was closed, or `2>&1 | head` has read enough."""
    code = """
import time
from lookback import progress
progress.SHOW_EVERY_S = 0.01
for _ in progress.track(range(3), "work", note=lambda: "a note"):
    time.sleep(0.2)
print("done")
"""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=write, timeout=HUNG_S, check=False)
    os.close(write)
    assert done.stdout == b"done\n"


def test_outside_a_bar_nothing_is_told(capfd):
    inside("frame", 1, 2)
    assert capfd.readouterr() == ("", "")


def test_a_thread_that_is_silent_leaves_the_others_as_they_are(capfd):
    """Bars begin and end in any order; nothing of it stays in the process."""
    before, environment = sys.stdout, dict(os.environ)
    met = Barrier(2)
    told = []

    def work(name, quiet):
        with silenced(bars=not quiet, lines=not quiet):
            bar = track(range(2), name, unit="step")
            next(bar)
            met.wait()
            say(f"{name} is here")
            told.append("LOOKBACK_PROGRESS_INSIDE" in os.environ)
            met.wait()
            list(bar)

    threads = [Thread(target=work, args=(f"thread {quiet}", quiet)) for quiet in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = capfd.readouterr()
    assert shown.out == "thread False is here\n" and "thread False: " in shown.err and "thread True" not in shown.err
    assert told == [True, True] and sys.stdout is before and dict(os.environ) == environment
