"""Progress inside an item: a worker tells it, the bar's file shows it."""

import os
import time

from lookback.progress import inside, read_progress, track
from lookback.workers import run_tasks


def _slow(task):
    """Tells where it is, and takes long enough to be seen."""
    for step in range(4):
        inside(f"frame of {task}", step, 4)
        time.sleep(0.6)
    return task


def test_what_a_worker_process_tells_is_shown_before_the_item_is_done(tmp_path, monkeypatch):
    file = tmp_path / "progress"
    monkeypatch.setenv("LOOKBACK_PROGRESS_FILE", str(file))
    monkeypatch.setenv("LOOKBACK_NO_PROGRESS_BAR", "1")
    seen = []

    def tasks():
        for result in run_tasks(_slow, ["a", "b"], workers=2):
            seen.append(read_progress(file))
            yield result

    assert len(list(track(tasks(), "scoring", total=2))) == 2
    assert "frame of" in seen[0] and seen[0].startswith("scoring: 0/2 clips")
    assert "LOOKBACK_PROGRESS_INSIDE" not in os.environ


def test_outside_a_bar_nothing_is_told():
    inside("frame", 1, 2)
