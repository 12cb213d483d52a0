"""The real pages: the commands of `make inspect` and `make annotate` over a little run, headless Chromium drives them."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from browser_pages import PROJECT, SHOWN_WITHIN, printed_links, server
from little_run import RUN, LittleRun, write_little_run

SCREENSHOTS = PROJECT / "outputs" / "browser"


def pytest_collection_modifyitems(items):
    if shutil.which("chromium") is None:
        skip = pytest.mark.skip(reason="Chromium is not installed (Debian package chromium): the pages cannot be driven")
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(skip)


@pytest.fixture(scope="session")
def little(tmp_path_factory) -> LittleRun:
    run = write_little_run(tmp_path_factory.mktemp("project"))
    for name in ("inspect", "annotate"):
        shutil.copy(PROJECT / "notebooks" / f"{name}.ipynb", run.root / "notebooks")
    return run


@pytest.fixture(scope="session")
def lookback(warm_python) -> list[str]:
    """The command `lookback`, in a process that starts at once."""
    return [warm_python, "-m", "lookback"]


@pytest.fixture(scope="session")
def inspector(little, lookback) -> Iterator[str]:
    """The link that `make inspect` prints."""
    with server([*lookback, "inspect", f"--run={RUN}"], little.root, printed_links) as links:
        yield links["the inspector"]


@pytest.fixture(scope="session")
def desk(little, lookback) -> Iterator[dict[str, str]]:
    """The links that `make annotate FORM=mbench_pairwise ANNOTATORS="ann eli"` prints, by name."""
    command = [*lookback, "annotate", f"--run={RUN}", "--form=mbench_pairwise", "--annotator=ann", "--annotator=eli"]
    with server(command, little.root, printed_links) as links:
        yield links


@pytest.fixture(scope="module")  # closed with its file: playwright keeps an event loop running, which others' tests cannot use
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--force-color-profile=srgb", "--force-device-scale-factor=1"]
        with playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments) as chromium:
            yield chromium


@pytest.fixture(scope="module")
def open_page(browser) -> Callable:
    """A new page at an address, once `selector` (if any) is there.

    `page.errors` collects what its JavaScript throws, `page.asked` the addresses outside this machine that it wants (it gets none),
    `heard` every message that its kernel sends.
    """

    def opened(address: str, selector: str | None, heard: list | None = None):
        page = browser.new_page(viewport={"width": 1440, "height": 1300})
        page.set_default_timeout(SHOWN_WITHIN)
        page.errors, page.asked = [], []

        def refuse(route):
            page.asked.append(route.request.url)
            route.abort()

        page.route(lambda url: "127.0.0.1" not in url and not url.startswith(("data:", "blob:", "file:")), refuse)
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        if heard is not None:
            page.on("websocket", lambda wire: wire.on("framereceived", lambda part: heard.append(part)))
        page.goto(address, wait_until="commit")
        if selector is not None:
            page.wait_for_selector(selector)
        return page

    return opened


@pytest.fixture(scope="session")
def screenshot() -> Callable:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    return lambda page, name: page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
