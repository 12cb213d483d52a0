"""Keep a measurement in docs/measured, with command, machine, date and commit. Standard library only: old versions use it, too."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "docs" / "measured"


def record(name: str, command: str, values: dict[str, Any]) -> None:
    """Write docs/measured/<name>.json; what an earlier call wrote under other keys stays."""
    path = MEASURED / f"{name}.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    origin = {
        "command": f"`{command}`",
        "machine": machine,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": found.stdout.strip(),
    }
    path.write_text(json.dumps({**known, **values, **origin}, indent=2, sort_keys=True) + "\n", encoding="utf-8")
