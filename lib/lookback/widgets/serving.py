"""Serve an interactive notebook as a page that checks every visitor (`lookback.widgets.door`)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import lookback.without_iri_grammar  # noqa: F401

# isort: split
from tornado.httpserver import HTTPServer
from tornado.web import Application
from voila.app import Voila

from lookback.errors import UsageError
from lookback.widgets.door import Door
from lookback.widgets.keys import Keys

IP = "127.0.0.1"


class GuardedApplication:
    """Voila's application behind a `Door`. It announces the page's address once the port is known."""

    def __init__(self, voila: GuardedVoila, app: Application):
        self._voila, self._app = voila, app

    def listen(self, port: int, address: str) -> None:
        HTTPServer(Door(self._app, self._voila.keys, port, self._voila.hosts)).listen(port, address)
        self._voila.announce(f"http://{address}:{port}/")


class GuardedVoila(Voila):
    """Voila with every route behind a `Door`."""

    app: Application | GuardedApplication
    keys: Callable[[], Keys]
    hosts: Iterable[str]
    announce: Callable[[str], None]

    def listen(self) -> None:
        if isinstance(self.app, Application):
            self.app = GuardedApplication(self, self.app)
        super().listen()


def serve(
    notebook: Path, run: str, keys: Callable[[], Keys], announce: Callable[[str], None], port: int, hosts: Iterable[str] = ()
) -> None:
    """Serve a notebook on the loopback address until it is stopped; `announce` gets the page's address."""
    if not notebook.is_file():
        raise UsageError(f"There is no notebook {notebook}; `lookback init study` lays out a project with all notebooks")
    os.environ["LOOKBACK_RUN"] = run  # the kernels read it
    page = GuardedVoila.instance()
    page.keys, page.hosts, page.announce = keys, hosts, announce
    options = [f"--Voila.ip={IP}", f"--port={port}", "--no-browser", "--theme=light", "--Voila.log_level=ERROR"]
    options.append("--KernelManager.transport_encryption=auto")
    logging.getLogger("tornado.access").setLevel(logging.ERROR)  # it would print the token of a refused request
    page.initialize([*options, str(notebook)])
    page.start()
