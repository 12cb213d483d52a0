"""Progress inside an item: a worker tells it, the bar's file shows it."""

import os
from pathlib import Path

from lookback.progress import inside, read_progress, track
from lookback.workers import run_tasks
from time_limits import wait_until


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


def test_outside_a_bar_nothing_is_told():
    inside("frame", 1, 2)
