"""The inspector in a real browser: how long 1,000 clips take to open, and how smoothly three clips play side by side.

    python bench/inspector.py --clips ../shared/clips/memobench [--many 1000] [--chromium /usr/bin/chromium]

Needs playwright and Chromium. The clips are copied into a folder without any run: many of them for the list, and three models'
clips of one scene for the play. Prints seconds, the frames that the browser showed and dropped, and the load of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from lookback.files import write_json
from lookback.machine import one_line
from lookback.media import probe
from lookback.provenance import git_revision

ROOT = Path(__file__).parents[1]
MODELS = 8
WAIT_MS = 600_000
COUNTED = """() => { window.counts = [...document.querySelectorAll('.layer video')].map((film) => {
  const count = { frames: 0, first: 0, last: 0, gaps: [] };
  const seen = (now, facts) => { // the browser counts the frames that it composed, also those whose callback came too late
    if (count.frames) count.gaps.push(now - count.last); else { count.first = now; count.before = facts.presentedFrames - 1; }
    count.frames = facts.presentedFrames - count.before; count.last = now;
    film.requestVideoFrameCallback(seen);
  };
  film.requestVideoFrameCallback(seen);
  return count;
}); }"""
RESULT = """() => [...document.querySelectorAll('.layer video')].map((film, k) => {
  const quality = film.getVideoPlaybackQuality(), count = window.counts[k], gaps = [...count.gaps].sort((a, b) => a - b);
  return { shown: count.frames, seconds: (count.last - count.first) / 1000, decoded: quality.totalVideoFrames,
    dropped: quality.droppedVideoFrames, longest_gap_ms: gaps.at(-1) };
})"""


@contextmanager
def served(folder: Path, project: Path) -> Iterator[tuple[str, float]]:
    """The inspector over a folder; yields its link, and the seconds until it was printed."""
    with socket.socket() as probed:
        probed.bind(("127.0.0.1", 0))
        port = probed.getsockname()[1]
    environment = {**os.environ, "LOOKBACK_ROOT": str(project), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "lookback", "inspect", str(folder), f"--port={port}"]
    started = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split(": ", 1)[1].strip(), time.perf_counter() - started
        process.terminate()


def copies(source: Path, folder: Path, many: int) -> None:
    """`many` clips of eight models: links to the files of `source` where the disk allows them."""
    files = sorted(source.glob("*.mp4"))
    for number in range(many):
        target = folder / f"model{number % MODELS}" / f"scene_{number // MODELS:05d}.mp4"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(files[number % len(files)], target)


def open_many(chromium: object, source: Path, many: int, project: Path) -> dict[str, float]:
    """Seconds to the first picture, to all in sight, and to those at the end of the list; and again with the kept pictures."""
    folder = project / "many"
    copies(source, folder, many)
    found: dict[str, float] = {}
    for turn in ("first", "again"):
        with served(folder, project) as (link, start):
            page = chromium.new_page(viewport={"width": 1400, "height": 900})  # type: ignore[attr-defined]
            page.set_default_timeout(WAIT_MS)
            loaded = "[...document.querySelectorAll('.cards img')].every((one) => one.complete && one.naturalWidth)"
            began = time.perf_counter()
            page.goto(link, wait_until="commit")
            page.wait_for_selector(".cards [data-clip]")
            found |= {f"{turn}: server up": start, f"{turn}: list of {many}": time.perf_counter() - began}
            _until(page, f"document.querySelectorAll('.cards img').length && {loaded}")
            found[f"{turn}: all pictures in sight"] = time.perf_counter() - began
            began = time.perf_counter()
            page.evaluate("document.querySelector('.cards').scrollTop = 1e9")
            page.wait_for_timeout(200)
            _until(page, loaded)
            found[f"{turn}: pictures at the end after a jump"] = time.perf_counter() - began
            page.close()
    return found


def play_three(chromium: object, source: Path, scene: str, models: list[str], project: Path) -> dict[str, Any]:
    """Three models' clips of one scene side by side, from the first frame to the last; and what the browser used for it."""
    folder = project / "three"
    for model in models:
        (folder / model).mkdir(parents=True)
        shutil.copy(source / f"{scene}_{model}.mp4", folder / model / f"{scene}.mp4")
    facts = [probe(folder / model / f"{scene}.mp4") for model in models]
    with served(folder, project) as (link, _):
        labels = [f"folder/{model}/{scene}" for model in models]
        query = urlencode({"clip": labels[0], "compare": labels[1:], "sync": "phase"}, doseq=True)
        page = chromium.new_page(viewport={"width": 1400, "height": 900})  # type: ignore[attr-defined]
        page.set_default_timeout(WAIT_MS)
        page.goto(f"{link}&{query}", wait_until="commit")
        page.wait_for_selector("canvas[data-slot='2'][data-exact='true']")
        page.wait_for_timeout(1500)
        page.evaluate(COUNTED)
        began = browser_seconds()
        page.keyboard.press(" ")
        _until(page, "document.querySelector('.play').textContent === 'Pause'")
        _until(page, "document.querySelector('.play').textContent === 'Play'")
        counted = page.evaluate(RESULT)
        used = browser_seconds() - began
        page.close()
    rows: list[dict[str, object]] = []
    for model, info, count in zip(models, facts, counted, strict=True):
        about = {"model": model, "size": f"{info.width}x{info.height}", "frames": info.n_frames, "fps": info.fps}
        rows.append({**about, **count, "shown_fps": round((count["shown"] - 1) / max(count["seconds"], 1e-9), 2)})
    return {"three": rows, "browser_s": used, "video_s": facts[0].duration}


def browser_seconds() -> float:
    """Seconds of the processors that the running Chromium has used; no other one should run."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = path.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:  # it has ended
            continue
        ticks += sum(map(int, rest.split()[11:13])) if name.startswith("chrom") else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def _until(page: object, expression: str) -> None:
    deadline = time.perf_counter() + WAIT_MS / 1000
    while not page.evaluate(expression):  # type: ignore[attr-defined]
        assert time.perf_counter() < deadline, expression
        time.sleep(0.02)


def main() -> int:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=Path, required=True, help="a folder of files <scene>_<model>.mp4")
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--scene", default="Japanese_Street_005")
    parser.add_argument("--models", nargs=3, default=["wan", "svc", "ltxvideo"])
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    arguments = parser.parse_args()
    before = os.getloadavg()[0]
    with (
        sync_playwright() as playwright,
        tempfile.TemporaryDirectory() as temporary,
        playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"]) as chromium,
    ):
        project = Path(temporary)
        three = play_three(chromium, arguments.clips, arguments.scene, arguments.models, project)
        many = open_many(chromium, arguments.clips, arguments.many, project) if arguments.many else {}
    load = f"{before:.1f} to {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(json.dumps(three, indent=1))
    for name, seconds in many.items():
        print(f"{name:<42} {seconds:6.2f} s")
    print(f"load {load}")
    write_json(
        ROOT / "outputs" / "inspector.json",
        {**three, "open": many, "load": load, "machine": one_line(), "git": git_revision()},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
