"""Take the pictures of README.md and docs/ from a finished run: `make pictures` writes docs/pictures/*.webp.

- report: the first screen of the report, as Debian's Chromium shows it
- inspector: the inspector at the frame of the surest failure
- timeline: the first timeline that the forensics stage drew
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from lookback.clips import KEYS
from lookback.errors import UsageError
from lookback.params import load_run
from lookback.paths import RunPaths, project_root
from lookback.tables import read_table
from PIL import Image
from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
PICTURES = project_root() / "docs" / "pictures"
WIDTH, HEIGHT = 1400, 900
MOST = 1200  # pixels that a picture is wide at most
LINK = re.compile(r"https?://\S+")


def save(picture: bytes, name: str) -> None:
    """Keep a picture as a small WebP file."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    if image.width > MOST:
        image = image.resize((MOST, round(image.height * MOST / image.width)), Image.Resampling.LANCZOS)
    PICTURES.mkdir(parents=True, exist_ok=True)
    target = PICTURES / f"{name}.webp"
    image.save(target, quality=82, method=6)
    print(f"{target.relative_to(project_root())}: {image.width} x {image.height}, {target.stat().st_size / 1000:.0f} kB")


def report_picture(page: Page, paths: RunPaths) -> None:
    if not paths.report.is_file():
        raise UsageError(f"{paths.report} is missing; run make report first")
    page.goto(paths.report.as_uri())
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1500)  # figures draw themselves
    save(page.screenshot(), "report")


def timeline_picture(paths: RunPaths) -> None:
    drawn = sorted((paths.figures / "forensics").glob("timeline_*.png"))
    if not drawn:
        raise UsageError(f"{paths.figures / 'forensics'} holds no timeline; run make forensics first")
    save(drawn[0].read_bytes(), "timeline")


@contextmanager
def served(run: str) -> Iterator[str]:
    """The inspector's link while it is served."""
    command = [sys.executable, "-m", "lookback", "inspect", "--run", run]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            link = next((found[0] for line in server.stdout if (found := LINK.search(line))), "")
            if not link:
                raise UsageError("the inspector printed no link; run lookback inspect to see why")
            yield link
        finally:
            server.terminate()


def inspector_picture(page: Page, run: str, paths: RunPaths) -> None:
    failures = read_table(paths.tables, "failures")
    surest = failures.loc[failures["confidence"].astype(float).idxmax()]
    clip = "/".join(surest[name] for name in KEYS)
    with served(run) as link:
        page.goto(f"{link}&clip={quote(clip, safe='')}&frame={surest['frame_start']}", timeout=180_000)
        page.wait_for_selector("canvas, video", timeout=180_000)
        page.evaluate("document.querySelector('.lookback-inspector')?.scrollIntoView()")
        page.wait_for_timeout(8000)  # frames and curves arrive
        save(page.screenshot(), "inspector")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="demo", help="a finished run")
    parser.add_argument("only", nargs="*", help="report, inspector, timeline; all when left out")
    asked = parser.parse_args()
    wanted = set(asked.only or ("report", "inspector", "timeline"))
    paths = load_run(asked.run).paths
    if "timeline" in wanted:
        timeline_picture(paths)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        if "report" in wanted:
            report_picture(page, paths)
        if "inspector" in wanted:
            inspector_picture(page, asked.run, paths)
        browser.close()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UsageError as error:
        sys.exit(f"pictures: {error}")
