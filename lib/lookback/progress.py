"""How far long work is: a bar for a person, one line in an executed notebook, and a small file for the pipeline's own bar."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from tqdm import tqdm

from lookback.names import one_line
from lookback.paths import UNATTENDED

T = TypeVar("T")
PROGRESS_FILE = "LOOKBACK_PROGRESS_FILE"
INSIDE = "LOOKBACK_PROGRESS_INSIDE"  # the folder in which workers write how far they are inside an item
SHOW_EVERY_S = 0.5
_LAST_TOLD: dict[str, float] = {}
NO_BAR = "LOOKBACK_NO_PROGRESS_BAR"  # set: draw no bar
_bars: ContextVar[bool] = ContextVar("bars", default=True)  # whether this thread shows bars
_lines: ContextVar[bool] = ContextVar("lines", default=True)  # whether it prints lines
_folders = [os.environ[INSIDE]] if INSIDE in os.environ else []  # of the bars of all threads; INSIDE names the last one
_folders_change = Lock()


@contextmanager
def silenced(bars: bool, lines: bool) -> Iterator[None]:
    """Inside, show progress bars, and print the lines of `say`, only if they are wanted. Other threads are as loud as before."""
    before = [(shown, shown.set(shown.get() and wanted)) for shown, wanted in ((_bars, bars), (_lines, lines))]
    try:
        yield
    finally:
        for shown, token in before:
            shown.reset(token)


def say(line: str) -> None:
    """Print a line about the work, unless it is silenced."""
    if _lines.get():
        print(line)


def track(
    items: Iterable[T], what: str, total: int | None = None, unit: str = "clip", note: Callable[[], str] | None = None
) -> Iterator[T]:
    """Yield the items and show how many are done. `what` names the work; `note()` returns words to add to the bar.

    What workers say by `inside` is shown, too. In a notebook that the pipeline runs there is no bar, only one line at the end:
    every step of a bar would stay on the page.
    """
    total = total if total is not None else (len(items) if hasattr(items, "__len__") else None)  # type: ignore[arg-type]
    what = one_line(what)
    unattended, hidden = bool(os.environ.get(UNATTENDED)), bool(os.environ.get(NO_BAR)) or not _bars.get()
    started, done = time.monotonic(), 0

    def show(words: str) -> None:
        bar.set_postfix_str(words, refresh=True)
        _report(what, done, total, unit, (time.monotonic() - started) / done if done else 0.0, words)

    looks = {"file": _Screen(), "desc": what, "total": total, "unit": unit, "dynamic_ncols": True, "disable": unattended or hidden}
    with tqdm(items, mininterval=SHOW_EVERY_S, **looks) as bar, _told_from_inside(show, note):
        for item in bar:
            done += 1
            yield item
    _report(what, total or 0, total, unit, 0.0, "")
    if unattended and done:
        say(f"{what}: {done} {unit}{'s' * (done > 1)} in {time.monotonic() - started:.0f} s")


class _Screen:
    """Standard error, which may be closed. A bar that cannot be drawn would keep its lock, and all others would hang."""

    def __init__(self) -> None:
        self._stream = sys.stderr

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def inside(what: str, done: int, total: int) -> None:
    """Tell how far the work on one item is, at most twice a second. The bar of `track` shows it, from worker processes, too."""
    if (folder := os.environ.get(INSIDE)) and time.monotonic() - _LAST_TOLD.get(folder, 0.0) > SHOW_EVERY_S:
        _LAST_TOLD[folder] = time.monotonic()
        with suppress(OSError):
            Path(folder, str(os.getpid())).write_text(one_line(f"{what} {done}/{total}"), encoding="utf-8")


@contextmanager
def _told_from_inside(show: Callable[[str], None], note: Callable[[], str] | None) -> Iterator[None]:
    """Show the last words of every worker and the note twice a second, while the block runs."""
    over = Event()
    with TemporaryDirectory(prefix="lookback-progress-", ignore_cleanup_errors=True) as folder:

        def watch() -> None:
            while not over.wait(SHOW_EVERY_S):
                words = [file.read_text(encoding="utf-8") for file in sorted(Path(folder).glob("*"))]
                show(", ".join([*([one_line(note())] if note is not None else []), *filter(None, words)]))

        watching = Thread(target=watch, daemon=True)
        _change_folders(_folders.append, folder)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join()
            _change_folders(_folders.remove, folder)


def _change_folders(change: Callable[[str], None], folder: str) -> None:
    """Add or remove the folder of a bar. Bars of several threads may end in any order."""
    with _folders_change:
        change(folder)
        os.environ.pop(INSIDE, None)
        os.environ.update({INSIDE: _folders[-1]} if _folders else {})


def _report(what: str, done: int, total: int | None, unit: str, pace: float, note: str) -> None:
    if path := os.environ.get(PROGRESS_FILE):
        left = pace * (total - done) if total else 0.0
        words = {"what": what, "done": done, "total": total, "unit": unit, "left_s": round(left), "note": note}
        with suppress(OSError):  # work does not stop because its progress cannot be written
            Path(path).write_text(json.dumps(words))


def read_progress(path: Path) -> str:
    """The last report in words. Empty when there is none, or when it is being written at this moment."""
    if not (report := _last_report(path)):
        return ""
    total = f"/{report['total']}" if report["total"] else ""
    left = f", {report['left_s']} s left" if report["left_s"] else ""
    note = f" ({report['note']})" if report["note"] else ""
    return one_line(f"{report['what']}: {report['done']}{total} {report['unit']}s{left}{note}")


def seconds_left(path: Path) -> float:
    """What the last report says is left of its own work; 0 when there is none."""
    return float(_last_report(path).get("left_s", 0.0))


def _last_report(path: Path) -> dict[str, Any]:
    try:
        report = dict(json.loads(path.read_text()))
        whole = {"what", "done", "total", "unit", "note"} <= report.keys() and math.isfinite(report["left_s"])
        return report if whole else {}
    except (OSError, ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return {}
