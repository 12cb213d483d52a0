"""How far long work is: a bar for a person, one line in an executed notebook, and a small file for the pipeline's own bar."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

from lookback.names import one_line
from lookback.paths import UNATTENDED

T = TypeVar("T")
PROGRESS_FILE = "LOOKBACK_PROGRESS_FILE"
NO_BAR = "LOOKBACK_NO_PROGRESS_BAR"  # set: draw no bar


def track(
    items: Iterable[T], what: str, total: int | None = None, unit: str = "clip", note: Callable[[], str] | None = None
) -> Iterator[T]:
    """Yield the items and show how many are done. `what` names the work; `note()` returns words to add to the bar.

    In a notebook that the pipeline runs there is no bar, only one line at the end: every step of a bar would stay on the page.
    """
    total = total if total is not None else (len(items) if hasattr(items, "__len__") else None)  # type: ignore[arg-type]
    what = one_line(what)
    unattended, hidden = bool(os.environ.get(UNATTENDED)), bool(os.environ.get(NO_BAR))
    started, reported, done = time.monotonic(), 0.0, 0
    with tqdm(items, desc=what, total=total, unit=unit, mininterval=0.5, dynamic_ncols=True, disable=unattended or hidden) as bar:
        for done, item in enumerate(bar, start=1):
            yield item
            if time.monotonic() - reported > 0.5:
                reported = time.monotonic()
                added = one_line(note()) if note is not None else ""
                bar.set_postfix_str(added, refresh=False)
                _report(what, done, total, unit, (reported - started) / done, added)
    _report(what, total or 0, total, unit, 0.0, "")
    if unattended and done:
        print(f"{what}: {done} {unit}{'s' * (done > 1)} in {time.monotonic() - started:.0f} s")


def _report(what: str, done: int, total: int | None, unit: str, pace: float, note: str) -> None:
    if path := os.environ.get(PROGRESS_FILE):
        left = pace * (total - done) if total else 0.0
        words = {"what": what, "done": done, "total": total, "unit": unit, "left_s": round(left), "note": note}
        with suppress(OSError):  # work does not stop because its progress cannot be written
            Path(path).write_text(json.dumps(words))


def read_progress(path: Path) -> str:
    """The last report in words. Empty when there is none, or when it is being written at this moment."""
    try:
        report = json.loads(path.read_text())
    except (OSError, ValueError):
        return ""
    total = f"/{report['total']}" if report["total"] else ""
    left = f", {report['left_s']} s left" if report["left_s"] else ""
    note = f" ({report['note']})" if report["note"] else ""
    return one_line(f"{report['what']}: {report['done']}{total} {report['unit']}s{left}{note}")
