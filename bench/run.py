"""`make bench`: run every benchmark that needs no accelerator, one after the other, and keep what each printed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from lookback.files import write_json
from lookback.machine import one_line
from lookback.provenance import git_revision

HERE = Path(__file__).parent
SCRIPTS = (
    ["race.py"],
    ["ratios.py"],
    ["media_memory.py"],
    ["curation_scale.py"],
    ["scale.py"],
    ["stats_speed.py"],
    ["judging_throughput.py"],
)


def main() -> int:
    """The exit status is that of the worst benchmark."""
    results, worst = [], 0
    for name, *arguments in SCRIPTS:
        print(f"== {name} {' '.join(arguments)}".rstrip(), flush=True)
        started = time.perf_counter()
        ran = subprocess.run([sys.executable, str(HERE / name), *arguments], stdout=subprocess.PIPE, text=True, check=False)
        print(ran.stdout, flush=True)
        seconds = round(time.perf_counter() - started, 1)
        results.append({"benchmark": name, "seconds": seconds, "exit": ran.returncode, "printed": ran.stdout})
        worst = max(worst, ran.returncode)
    write_json(HERE.parent / "outputs" / "bench.json", {"machine": one_line(), "git": git_revision(), "results": results})
    return worst


if __name__ == "__main__":
    sys.exit(main())
