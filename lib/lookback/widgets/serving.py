"""Serve one of the interactive notebooks as a page, behind the door."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from tornado.httpserver import HTTPServer
from tornado.web import Application
from voila.app import Voila

from lookback.errors import UsageError
from lookback.widgets.door import NAME_HEADER, Door, Keys

IP = "127.0.0.1"


class GuardedApplication:
    """What Voila listens with: its own application behind the door; says the links once the port is known."""

    def __init__(self, voila: GuardedVoila, app: Application):
        self._voila, self._app = voila, app

    def listen(self, port: int, address: str) -> None:
        HTTPServer(Door(self._app, self._voila.keys, port, self._voila.hosts)).listen(port, address)
        self._voila.announce(f"http://{address}:{port}/")


class GuardedVoila(Voila):
    """Voila whose every route is behind the door."""

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
    """Serve a notebook on the loopback until it is stopped; `announce` is told the page's address."""
    if not notebook.is_file():
        raise UsageError(f"There is no notebook {notebook}; run from the cloned folder")
    os.environ["LOOKBACK_RUN"] = run  # the kernels read it
    page = GuardedVoila.instance()
    page.keys, page.hosts, page.announce = keys, hosts, announce
    options = [f"--Voila.ip={IP}", f"--port={port}", "--no-browser", "--theme=light", "--Voila.log_level=ERROR"]
    options += [f"--VoilaConfiguration.http_header_envs={NAME_HEADER}", "--KernelManager.transport_encryption=auto"]
    logging.getLogger("tornado.access").setLevel(logging.ERROR)  # it would print the token of a refused request
    page.initialize([*options, str(notebook)])
    page.start()
