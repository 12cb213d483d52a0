"""A stranger's install: the wheel of this clone in an empty environment, from the package index, without a cache.

    python bench/install.py [--report]

For the core and for what the demo needs: the seconds that pip takes, and the size of the packages. With --report the second goes
on as README's "Without a clone" does: `lookback init study`, then `make report` in it. Writes outputs/install.json.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lookback.files import write_json
from lookback.machine import one_line
from lookback.paths import project_root
from lookback.provenance import git_revision

ROOT = project_root()
KINDS = ("", "[demo,notebooks]")


def timed(call: list[str], folder: Path, programs: Path | None = None) -> float:
    """The seconds that a program takes in a folder. One that fails stops the script with its last lines."""
    hidden = ("VIRTUAL_ENV", "PYTHONPATH", "LOOKBACK_ROOT", "MAKEFLAGS", "MAKELEVEL")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    if programs:
        environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    started = time.monotonic()
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(call)}\nended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return time.monotonic() - started


def size_mib(folder: Path) -> int:
    """On the disk, as du counts it."""
    return round(sum(path.lstat().st_blocks * 512 for path in folder.rglob("*")) / 2**20)


def measure(kind: str, folder: Path, report: bool) -> dict[str, Any]:
    (wheel,) = folder.parent.glob("*.whl")
    programs = folder / "environment" / "bin"
    timed([sys.executable, "-m", "venv", str(folder / "environment")], folder.parent)
    before = size_mib(folder)
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check"]
    row: dict[str, Any] = {"install": f"lookback{kind}", "seconds": round(timed([*pip, f"{wheel}{kind}"], folder), 1)}
    row |= {"mib": size_mib(folder) - before, "packages": len([*programs.parent.glob("lib/python*/site-packages/*.dist-info")])}
    timed([str(programs / "lookback"), "list-metrics"], folder)
    if report:
        timed([str(programs / "lookback"), "init", "study"], folder, programs)
        row["report_seconds"] = round(timed(["make", "report"], folder / "study", programs), 1)
        if not (folder / "study" / "outputs" / "demo" / "report.html").is_file():
            sys.exit("make report ended well and left no report")
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="also make the demo's report in a study, some minutes")
    report = parser.parse_args().report
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        timed([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, str(ROOT)], ROOT)
        for place, kind in enumerate(KINDS):
            own = Path(folder, str(place))
            own.mkdir()
            rows.append(measure(kind, own, report and place > 0))
            print(rows[-1], flush=True)
    write_json(ROOT / "outputs" / "install.json", {"rows": rows, "machine": one_line(), "git": git_revision()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
