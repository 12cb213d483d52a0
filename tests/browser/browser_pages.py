"""What the browser tests share: a Jupyter server over a little run, and what a page's canvases show."""

import base64
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from little_run import RUN
from time_limits import HUNG_S

T = TypeVar("T")
PROJECT = Path(__file__).resolve().parents[2]
SHOWN_WITHIN = 1000 * HUNG_S  # milliseconds
PIXELS = """canvas => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let text = ""; for (let i = 0; i < data.length; i += 32768) text += String.fromCharCode(...data.subarray(i, i + 32768));
  return [canvas.height, canvas.width, btoa(text)];
}"""


@contextmanager
def server(command: list[str], root: Path, ready: Callable[[str, str], T], port: int = 0) -> Iterator[T]:
    """A server on a free port of the loopback, ended with the test; yields what `ready(address, what it printed)` gives.

    `ready` is asked again as long as it gives nothing. A `port` may be named to start a server again where it was.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        port = probe.getsockname()[1]
    keep = {name: value for name, value in os.environ.items() if not name.startswith("LOOKBACK_")}
    homes = {name: str(root / "jupyter") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    env = keep | homes | {"LOOKBACK_ROOT": str(root), "LOOKBACK_RUN": RUN, "OMP_NUM_THREADS": "1"}
    log = root / f"server-{port}.log"
    with log.open("w") as output:
        process = subprocess.Popen([*command, f"--port={port}"], env=env, cwd=root, stdout=output, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + HUNG_S
            while not (found := ready(f"http://127.0.0.1:{port}", log.read_text())):
                if time.monotonic() > deadline or process.poll() is not None:
                    pytest.fail(f"{' '.join(command)} did not start: {log.read_text()[-2000:]}")
                time.sleep(0.2)
            yield found
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def printed_links(_: str, log: str) -> dict[str, str]:
    """Who -> link, as `lookback inspect` and `lookback annotate` print them; nothing before the last one is there."""
    links = dict(line.split(": ", 1) for line in log.splitlines() if "?token=" in line)
    return links if {"the inspector", "organiser"} & set(links) else {}


def answers(path: str) -> Callable[[str, str], str]:
    """The address, once the server answers at this path."""

    def ready(address: str, _: str) -> str:
        try:
            urllib.request.urlopen(address + path, timeout=5).close()
        except OSError:
            return ""
        return address

    return ready


def shown(page, slot: int = 0) -> np.ndarray:
    """The pixels on a clip's canvas, RGB."""
    return pixels(page.eval_on_selector(f"canvas.lookback-frame[data-slot='{slot}']", PIXELS))


def pixels(found: tuple[int, int, str]) -> np.ndarray:
    """What `PIXELS` gives for a canvas, as RGB."""
    height, width, text = found
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)[..., :3]


def wait_for_frame(page, index: int, slot: int = 0) -> None:
    """Until the canvas says that it shows this frame in every pixel."""
    page.wait_for_selector(f"canvas.lookback-frame[data-slot='{slot}'][data-frame='{index}'][data-exact='true']")


def wait_for_script(page, expression: str, arg: object = None) -> None:
    """Until the expression is true. Playwright's own `wait_for_function` needs `eval`, which the inspector's page forbids."""
    deadline = time.monotonic() + HUNG_S
    while not page.evaluate(expression, arg):
        assert time.monotonic() < deadline, f"never true: {expression}"
        page.wait_for_timeout(50)


def scrub(page, index: int) -> None:
    """Move the slider as a person dragging it does."""
    page.eval_on_selector(
        ".slider", "(slider, at) => { slider.value = at; slider.dispatchEvent(new Event('input', { bubbles: true })); }", index
    )
