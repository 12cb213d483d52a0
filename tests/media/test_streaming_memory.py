"""Memory does not grow with the clip: measured in a process of its own over two minutes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
import dataclasses, json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from media_memory import measure
print(json.dumps(dataclasses.asdict(measure(2, Path(sys.argv[2])))))
"""


def test_streaming_two_minutes_keeps_memory_flat(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(ROOT / "bench"), str(tmp_path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    cost = json.loads(output.splitlines()[-1])
    assert cost["n_frames"] == 2 * 60 * 24
    # All frames together would be 126 MiB.
    assert cost["peak_growth_mib"] < 8
    assert cost["median_seek_s"] < cost["stream_s"] / 4, "a random frame must cost far less than decoding the clip"
