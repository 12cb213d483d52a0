"""Run every command of README.md's ```sh blocks in this clone, in order, and write what each took to outputs/commands.json.

A command that serves a page is ended when its link is printed. `make report` is left out where its report is there already: its own
timings are recorded by `make readme`. A command that fails ends the script with its last lines.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

from lookback.files import write_json
from lookback.limits import cores
from lookback.machine import one_line
from lookback.paths import project_root
from lookback.provenance import git_revision

ROOT = project_root()
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
SERVES = ("make inspect", "make lab", "make annotate")
LONG = ("make report",)  # recorded stage by stage
NOT_TIMED = ("source ",)
LINK = re.compile(r"https?://\S+")


def commands(text: str) -> list[str]:
    """The commands of a page's blocks, without comments."""
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
    return [command for line in lines if (command := without_comment(line))]


def without_comment(line: str) -> str:
    """A comment stands behind two spaces or more."""
    return re.sub(r"\s{2,}#.*$", "", line).strip()


def run(command: str) -> tuple[float, float]:
    """The seconds that a command took, on the clock and of the processors. One that fails stops the script."""
    started, used = time.monotonic(), os.times()
    path = {"PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"}
    with subprocess.Popen(
        ["bash", "-c", command], cwd=ROOT, env={**os.environ, **path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        said: list[str] = []
        for line in process.stdout:
            said.append(line)
            if command.startswith(SERVES) and LINK.search(line):
                os.killpg(process.pid, signal.SIGINT)
                break
        seconds = time.monotonic() - started
        process.communicate()
    if process.returncode and not command.startswith(SERVES):
        sys.exit(f"{command}\nended with {process.returncode}:\n{''.join(said[-15:])}")
    now = os.times()
    return seconds, now.children_user + now.children_system - used.children_user - used.children_system


def main() -> int:
    rows = []
    for command in commands((ROOT / "README.md").read_text(encoding="utf-8")):
        if command.startswith(NOT_TIMED) or (command.startswith(LONG) and (ROOT / "outputs/demo/report.html").is_file()):
            continue
        seconds, processors = run(command)
        print(f"{seconds:7.1f} s ({processors:5.1f} s)  {command}", flush=True)
        rows.append({"command": command, "seconds": round(seconds, 1), "processor_seconds": round(processors, 1)})
    load = round(os.getloadavg()[0], 1)
    facts = {"rows": rows, "machine": one_line(), "git": git_revision(), "load": load, "cores": cores()}
    write_json(ROOT / "outputs" / "commands.json", facts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
