"""Access control for the served pages: who may open them, and under which name.

Every request passes here first: pages, scripts, videos, pictures and what a page saves.
"""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest, split_host_and_port
from tornado.routing import Router
from tornado.web import Application, RequestHandler, create_signed_value, decode_signed_value

from lookback.errors import LookbackError
from lookback.widgets.keys import Keys, digest, new_secret
from lookback.widgets.web import MOST_BYTES, Failing

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
NAME_HEADER = "X-Lookback-Name"  # tells the page who its visitor is; a header of this name from outside is dropped
NO_KEY = "This page opens with the link that was printed when it was started."
NO_HOST = "This page does not answer to this address."


class Door(Router):
    """Passes a request on if its Host is known and its token or cookie belongs to a known person.

    The token of a link becomes a cookie, and the page is loaded again without the token, so that the address bar shows no secret.
    """

    def __init__(
        self,
        app: Application,
        keys: Callable[[], Keys],
        port: int,
        hosts: Iterable[str] = (),
        room: str = "",
        secret: bytes | None = None,
        most: int = MOST_BYTES,
    ):
        """Two doors on one port need a `room` each: one browser may then hold the keys of both.

        Cookies become invalid when the server stops, unless the next one is given the same `secret`.
        `most` bytes can be sent at once.
        """
        self._most = most
        self._app, self._keys, self._cookie = app, keys, f"lookback-{port}{room}"
        self._hosts = {host.lower() for host in hosts}
        self._secret = secret or new_secret()

    def find_handler(self, request: HTTPServerRequest, **_: Any) -> HTTPMessageDelegate:
        too_large = partial(self._app.get_handler_delegate, request, TooLarge, {"most": self._most})
        return Bounded(self._found(request), self._most, too_large)

    def _found(self, request: HTTPServerRequest) -> HTTPMessageDelegate:
        if not self._answers_to(request.headers.get("Host", "")):
            return self._say(request, 403, NO_HOST)
        token = request.query_arguments.get("token", [b""])[-1].decode("utf-8", "replace")
        key = digest(token) if token else self._key_of_cookie(request)
        try:
            name = self._keys().get(key)
        except LookbackError as error:
            return self._app.get_handler_delegate(request, Failing, {"error": error})
        if name is None:
            return self._say(request, 403, NO_KEY)
        if token:
            return self._app.get_handler_delegate(request, Welcome, {"cookie": (self._cookie, self._sign(key))})
        request.headers.pop(NAME_HEADER, None)
        if name:
            request.headers[NAME_HEADER] = quote(name)
        return self._app.find_handler(request)

    def _answers_to(self, host: str) -> bool:
        """Against DNS rebinding: a site whose name points to this machine sends its own name as Host."""
        return split_host_and_port(host.lower())[0] in (*LOOPBACK, *self._hosts) or host.lower() in self._hosts

    def _sign(self, key: str) -> bytes:
        return create_signed_value(self._secret, self._cookie, key)

    def _key_of_cookie(self, request: HTTPServerRequest) -> str:
        given = request.cookies.get(self._cookie)
        key = decode_signed_value(self._secret, self._cookie, given.value) if given else None
        return key.decode() if key else ""

    def _say(self, request: HTTPServerRequest, status: int, text: str) -> HTTPMessageDelegate:
        return self._app.get_handler_delegate(request, Refusal, {"status": status, "text": text})


class Bounded(HTTPMessageDelegate):
    """Hands a request on. The rest of a body that is too large is read and dropped, and the answer is that of `too_large`."""

    def __init__(self, inner: HTTPMessageDelegate, most: int, too_large: Callable[[], HTTPMessageDelegate]):
        self._inner, self._left, self._too_large = inner, most, too_large

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        self._left -= len(chunk)
        return self._inner.data_received(chunk) if self._left >= 0 else None

    def finish(self) -> None:
        (self._inner if self._left >= 0 else self._too_large()).finish()

    def on_connection_close(self) -> None:
        self._inner.on_connection_close()


class TooLarge(RequestHandler):
    """Says how much can be sent at once."""

    def initialize(self, most: int) -> None:
        self._most = most

    def prepare(self) -> None:
        self.set_status(413)
        self.finish({"error": f"This is too long to be saved: at most {self._most // 1024} KiB can be sent at once. Shorten it."})


class Refusal(RequestHandler):
    """Answers every request with one sentence."""

    def initialize(self, status: int, text: str) -> None:
        self._answer = status, text

    def prepare(self) -> None:
        self.set_status(self._answer[0])
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(self._answer[1] + "\n")


class Welcome(RequestHandler):
    """Sets the key as a cookie and loads the same page without the token.

    It uses a refreshing page, not a redirect: after a link from another site, browsers send no strict cookie on a redirect.
    """

    def initialize(self, cookie: tuple[str, bytes]) -> None:
        self._given = cookie

    def prepare(self) -> None:
        name, value = self._given
        self.set_cookie(name, value, httponly=True, samesite="Strict", path="/", secure=self.request.protocol == "https")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "no-referrer")
        rest = [pair for pair in parse_qsl(self.request.query, keep_blank_values=True) if pair[0] != "token"]
        page = "/" + self.request.path.lstrip("/") + (f"?{urlencode(rest)}" if rest else "")
        self.finish(f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(page)}">')
