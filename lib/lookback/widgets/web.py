"""What the served pages share: sockets, headers, the JSON of requests, scripts, and videos by range requests.

Every request passes a `Door` (`lookback.widgets.door`) before it reaches a handler of this file.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from socket import socket
from typing import Any, NoReturn, Protocol, TypeVar

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.routing import Router
from tornado.web import HTTPError, RequestHandler, StaticFileHandler

from lookback import json_text
from lookback.errors import LookbackError, UsageError
from lookback.names import one_line

IP = "127.0.0.1"
TRIED_PORTS = 50
MOST_BYTES = 64 * 1024  # of a request's body
READ_ON = 2**30  # bytes of a body that is too large; reading it to its end lets the page hear why it is refused
TYPES = {".js": "text/javascript", ".css": "text/css", ".csv": "text/csv", ".json": "application/json"}
FAILED = "The server failed; its window says why."
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; media-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "form-action 'none'; frame-ancestors "
)


class Server(Protocol):
    """A server that was bound to its port and now only has to start."""

    def start(self) -> None: ...


S = TypeVar("S", bound=Server)


def bind(listen: Sequence[str], port: int) -> tuple[list[socket], int]:
    """Sockets on all addresses at the same port: the given one, or the next that is free on all of them."""
    problem = ""
    for tried in range(port, min(port + TRIED_PORTS, 65536)):
        bound: list[socket] = []
        number = tried
        try:
            for address in listen:
                bound += bind_sockets(number, address)
                number = bound[0].getsockname()[1]  # the port 0 asks for any free one
            return bound, number
        except OSError as error:
            problem = str(error)
            for each in bound:
                each.close()
    raise UsageError(
        f"Cannot listen on {', '.join(listen)} at port {port} or the next ones ({problem}); name another --listen or --port"
    )


def http_server(door: Router) -> HTTPServer:
    """The server of a door, which refuses bodies that are too large. A proxy says whether people came by https."""
    return HTTPServer(door, xheaders=True, max_body_size=READ_ON)


def serve(make: Callable[[], S], announce: Callable[[S], None]) -> None:
    """Serve until stopped; `announce` is called once the port is known."""
    asyncio.run(_run(make, announce))


async def _run(make: Callable[[], S], announce: Callable[[S], None]) -> None:
    server = make()
    logging.getLogger("tornado.access").setLevel(logging.ERROR)  # it would print the token of a refused request
    server.start()
    announce(server)
    await asyncio.Event().wait()


def serve_in_thread(make: Callable[[], S], name: str) -> S:
    """Serve from a thread with an event loop of its own, for a notebook; it ends with the notebook's kernel."""
    started: list[S] = []
    failed: list[LookbackError] = []
    ready = threading.Event()

    def announce(server: S) -> None:
        started.append(server)
        ready.set()

    def run() -> None:
        try:
            serve(make, announce)
        except LookbackError as error:
            failed.append(error)
            ready.set()

    threading.Thread(target=run, daemon=True, name=name).start()
    ready.wait()
    if failed:
        raise failed[0]
    return started[0]


class InWords(RequestHandler):
    """A handler whose errors are a line in the server's window."""

    def log_exception(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, LookbackError):
            print(f"lookback: {one_line(str(error))}", file=sys.stderr, flush=True)
        else:
            super().log_exception(kind, error, trace)


class Guarded(InWords):
    """A handler with safe headers. Another site may neither frame it nor send it a form."""

    def set_default_headers(self) -> None:
        self.set_header("Content-Security-Policy", POLICY + str(self.settings.get("frames", "'none'")))
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")

    def body(self) -> dict[str, object]:
        """The JSON that a page of ours sends; a form of another site cannot send this type. Unusable text raises `UsageError`."""
        if not self.request.headers.get("Content-Type", "").startswith("application/json"):
            raise HTTPError(415)
        try:
            content = json_text.loads(self.request.body or b"{}")
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise UsageError("The text holds half a character, which cannot be stored; delete it and type it again") from None
        except json_text.TooDeep:
            raise UsageError("What was sent is nested too deeply; load the page again") from None
        except ValueError:
            raise HTTPError(400) from None
        if not isinstance(content, dict):
            raise HTTPError(400)
        return content

    def say(self, error: LookbackError, status: int = 400) -> None:
        self.set_status(status)
        self.finish({"error": str(error)})

    def write_error(self, status_code: int, **_: object) -> None:
        self.finish({"error": "This is not possible here." if status_code < 500 else FAILED})


class Nothing(Guarded):
    """Any other address."""

    def prepare(self) -> NoReturn:
        raise HTTPError(404)


class Failing(Guarded):
    """Fails with the error that kept the door from finding out who comes."""

    def initialize(self, error: LookbackError) -> None:
        self._error = error

    def prepare(self) -> NoReturn:
        raise self._error


class Page(Guarded):
    """The page itself: a shell without any data."""

    def initialize(self, shell: Traversable, script: str) -> None:
        self._shell, self._script = shell, script

    def get(self) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(self._shell.read_text(encoding="utf-8").replace("SCRIPT", self._script))


class Scripts(Guarded):
    """The page's own scripts and style, each put together from files of the package."""

    def initialize(self, scripts: Mapping[str, Sequence[Traversable]]) -> None:
        self._scripts = scripts

    def get(self, name: str) -> None:
        if name not in self._scripts:
            raise HTTPError(404)
        self.set_header("Content-Type", f"{TYPES[Path(name).suffix]}; charset=utf-8")
        self.finish("".join(part.read_text(encoding="utf-8") for part in self._scripts[name]))


class VideoFile(InWords, StaticFileHandler):
    """A video, whole or a range of it. `send` names the file; no path comes from the page."""

    def initialize(self) -> None:  # type: ignore[override]
        super().initialize(path="/")  # of no use: `send` names the file

    def set_extra_headers(self, path: str) -> None:
        self.set_header("Cache-Control", "no-store")  # the same address may show another clip to the next visitor
        self.set_header("X-Content-Type-Options", "nosniff")

    async def send(self, file: Path, include_body: bool = True) -> None:
        self._file = file
        await super().get("video" + file.suffix, include_body)

    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        if not self._file.is_file():
            raise HTTPError(404)
        return str(self._file)

    def compute_etag(self) -> str | None:
        state = self._file.stat()  # not the content: a long clip would be read whole for every range
        return f'"{state.st_size:x}-{state.st_mtime_ns:x}"'

    def write_error(self, status_code: int, **_: object) -> None:
        self.finish(b"")
