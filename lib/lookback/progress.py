"""Progress of long work: a bar for a person, and a small file that the pipeline's own bar reads from outside the notebook."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
PROGRESS_FILE = "LOOKBACK_PROGRESS_FILE"


def track(items: Iterable[T], what: str, total: int | None = None, unit: str = "clip") -> Iterator[T]:
    """Yield the items, showing how far they are; `what` says in words what is being done."""
    total = total if total is not None else (len(items) if hasattr(items, "__len__") else None)  # type: ignore[arg-type]
    reported = 0.0
    with tqdm(items, desc=what, total=total, unit=unit, mininterval=0.5, dynamic_ncols=True) as bar:
        for done, item in enumerate(bar, start=1):
            yield item
            if time.monotonic() - reported > 0.5:
                _report(what, done, total, unit)
                reported = time.monotonic()
    _report(what, total or 0, total, unit)


def _report(what: str, done: int, total: int | None, unit: str) -> None:
    if path := os.environ.get(PROGRESS_FILE):
        Path(path).write_text(json.dumps({"what": what, "done": done, "total": total, "unit": unit}))


def read_progress(path: Path) -> str:
    """The last report as words, empty when there is none (or it is being written just now)."""
    try:
        report = json.loads(path.read_text())
    except (OSError, ValueError):
        return ""
    total = f"/{report['total']}" if report["total"] else ""
    return f"{report['what']}: {report['done']}{total} {report['unit']}s"
