"""The real pages: Voila (or JupyterLab) serves the project's notebooks over a little run, headless Chromium drives them."""

import base64
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from little_run import RUN, LittleRun, write_little_run

PROJECT = Path(__file__).resolve().parents[2]
SCREENSHOTS = PROJECT / "outputs" / "browser"
STARTED_WITHIN, SHOWN_WITHIN = 60, 60_000
PIXELS = """canvas => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let text = ""; for (let i = 0; i < data.length; i += 32768) text += String.fromCharCode(...data.subarray(i, i + 32768));
  return [canvas.height, canvas.width, btoa(text)];
}"""


def pytest_collection_modifyitems(items):
    if shutil.which("chromium") is None:
        skip = pytest.mark.skip(reason="Chromium is not installed (Debian package chromium): the pages cannot be driven")
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(skip)


@pytest.fixture(scope="session")
def little(tmp_path_factory) -> LittleRun:
    return write_little_run(tmp_path_factory.mktemp("project"))


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


@pytest.fixture(scope="session")
def voila(little) -> Iterator[str]:
    program = str(Path(sys.executable).with_name("voila"))
    with server(
        [program, "--Voila.ip=127.0.0.1", "--no-browser", "--theme=light", str(PROJECT / "notebooks")], little.root, "/"
    ) as address:
        yield f"{address}/voila/render"


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--force-color-profile=srgb", "--force-device-scale-factor=1"]
        with playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments) as chromium:
            yield chromium


@pytest.fixture(scope="session")
def open_page(browser) -> Callable:
    """A new page at an address, once `selector` (if any) is there.

    `page.errors` collects what its JavaScript throws, `heard` every message that its kernel sends.
    """

    def opened(address: str, selector: str | None, heard: list | None = None):
        page = browser.new_page(viewport={"width": 1440, "height": 1300})
        page.route(lambda url: "127.0.0.1" not in url, lambda route: route.abort())  # nothing outside this machine
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        if heard is not None:
            page.on("websocket", lambda wire: wire.on("framereceived", lambda part: heard.append(part)))
        page.goto(address, wait_until="commit")
        if selector is not None:
            page.wait_for_selector(selector, timeout=SHOWN_WITHIN)
        return page

    return opened


@pytest.fixture(scope="session")
def screenshot() -> Callable:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    return lambda page, name: page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


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
