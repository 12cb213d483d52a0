"""What the browser tests share: a Jupyter server over a little run, and what a page's canvases show."""

import base64
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from little_run import RUN

PROJECT = Path(__file__).resolve().parents[2]
STARTED_WITHIN, SHOWN_WITHIN = 120, 120_000  # seconds, milliseconds: a crowded machine is slow, not wrong
PIXELS = """canvas => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let text = ""; for (let i = 0; i < data.length; i += 32768) text += String.fromCharCode(...data.subarray(i, i + 32768));
  return [canvas.height, canvas.width, btoa(text)];
}"""


@contextmanager
def server(command: list[str], root: Path, ready: str) -> Iterator[str]:
    """A Jupyter server on a free port of the loopback, ended with the test."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    keep = {name: value for name, value in os.environ.items() if not name.startswith("LOOKBACK_")}
    homes = {name: str(root / "jupyter") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    env = keep | homes | {"LOOKBACK_ROOT": str(root), "LOOKBACK_RUN": RUN, "OMP_NUM_THREADS": "1"}
    log = root / f"{Path(command[0]).name}.log"
    with log.open("w") as output:
        process = subprocess.Popen([*command, f"--port={port}"], env=env, cwd=root, stdout=output, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + STARTED_WITHIN
            while time.monotonic() < deadline and process.poll() is None:
                try:
                    urllib.request.urlopen(address + ready, timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.2)
            else:
                pytest.fail(f"{command[0]} did not start: {log.read_text()[-2000:]}")
            yield address
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def shown(page, slot: int = 0) -> np.ndarray:
    """The pixels on a clip's canvas, RGB."""
    height, width, text = page.eval_on_selector(f"canvas.lookback-frame[data-slot='{slot}']", PIXELS)
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)[..., :3]


def wait_for_frame(page, index: int, slot: int = 0) -> None:
    """Until the canvas says that it shows this frame in every pixel."""
    page.wait_for_selector(f"canvas.lookback-frame[data-slot='{slot}'][data-frame='{index}'][data-exact='true']", timeout=20_000)


def scrub(page, index: int) -> None:
    """Move the slider as a person dragging it does."""
    page.eval_on_selector(
        ".slider", "(slider, at) => { slider.value = at; slider.dispatchEvent(new Event('input', { bubbles: true })); }", index
    )
