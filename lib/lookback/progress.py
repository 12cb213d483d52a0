"""Progress of long work: a bar for a person, and a small file that the pipeline's own bar reads from outside the notebook."""

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

T = TypeVar("T")
PROGRESS_FILE = "LOOKBACK_PROGRESS_FILE"


def track(
    items: Iterable[T], what: str, total: int | None = None, unit: str = "clip", note: Callable[[], str] | None = None
) -> Iterator[T]:
    """Yield the items, showing how far they are; `what` says in words what is being done, `note()` what there is to add."""
    total = total if total is not None else (len(items) if hasattr(items, "__len__") else None)  # type: ignore[arg-type]
    what = one_line(what)
    started, reported = time.monotonic(), 0.0
    with tqdm(items, desc=what, total=total, unit=unit, mininterval=0.5, dynamic_ncols=True) as bar:
        for done, item in enumerate(bar, start=1):
            yield item
            if time.monotonic() - reported > 0.5:
                reported = time.monotonic()
                added = one_line(note()) if note is not None else ""
                bar.set_postfix_str(added, refresh=False)
                _report(what, done, total, unit, (reported - started) / done, added)
    _report(what, total or 0, total, unit, 0.0, "")


def _report(what: str, done: int, total: int | None, unit: str, pace: float, note: str) -> None:
    if path := os.environ.get(PROGRESS_FILE):
        left = pace * (total - done) if total else 0.0
        words = {"what": what, "done": done, "total": total, "unit": unit, "left_s": round(left), "note": note}
        with suppress(OSError):  # no work stops because nobody can be told how far it is
            Path(path).write_text(json.dumps(words))


def read_progress(path: Path) -> str:
    """The last report as words, empty when there is none (or it is being written just now)."""
    try:
        report = json.loads(path.read_text())
    except (OSError, ValueError):
        return ""
    total = f"/{report['total']}" if report["total"] else ""
    left = f", {report['left_s']} s left" if report["left_s"] else ""
    note = f" ({report['note']})" if report["note"] else ""
    return one_line(f"{report['what']}: {report['done']}{total} {report['unit']}s{left}{note}")
