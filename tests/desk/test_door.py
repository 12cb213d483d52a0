"""The door before a small application: who gets in, and under which name."""

import asyncio
from collections.abc import Callable
from http.cookies import SimpleCookie

import pytest
from lookback.widgets.door import NAME_HEADER, Door
from lookback.widgets.keys import digest
from tornado.httpclient import AsyncHTTPClient, HTTPResponse
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

PEOPLE = {digest("anns-token"): "ann", digest("bobs-token"): "Bób"}
KERNEL = "/api/kernels/0b0e1c1e-0000-4000-8000-000000000001/channels"


class Echo(RequestHandler):
    def get(self) -> None:
        self.write(self.request.headers.get(NAME_HEADER, "nobody"))

    post = put = delete = get


def through_the_door(talk: Callable, keys=lambda: PEOPLE, hosts=(), **options) -> None:
    """Run `talk(ask)`; `ask(path, **request)` gives the response."""

    async def run() -> None:
        listener, port = bind_unused_port()
        server = HTTPServer(Door(Application([(r"/.*", Echo)]), keys, 8866, hosts, **options), xheaders=True)  # as if at one port
        server.add_sockets([listener])
        client = AsyncHTTPClient(force_instance=True)

        async def ask(path: str, cookie: str = "", **request) -> HTTPResponse:
            headers = request.pop("headers", {}) | ({"Cookie": cookie} if cookie else {})
            return await client.fetch(f"http://127.0.0.1:{port}{path}", raise_error=False, headers=headers, **request)

        await talk(ask)
        server.stop()

    asyncio.run(run())


def cookie_of(response: HTTPResponse) -> str:
    (morsel,) = SimpleCookie(response.headers["Set-Cookie"]).values()
    return f"{morsel.key}={morsel.coded_value}"


@pytest.mark.parametrize("path", ["/", "/api/kernels", KERNEL, "/static/x.js", "/files/x.png", "/?token=", "/?token=wrong"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_without_a_key_nothing_is_answered(path, method):
    async def talk(ask):
        response = await ask(path, method=method, allow_nonstandard_methods=True)
        assert response.code == 403 and b"nobody" not in response.body

    through_the_door(talk)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8866", "127.0.0.1.evil.example", "localhost.evil", "", "10.0.0.1", "127.0.0.1,x"]
)
def test_another_host_name_is_refused_even_with_a_token(host):
    async def talk(ask):
        response = await ask("/?token=anns-token", headers={"Host": host})
        assert response.code in (400, 403) and "Set-Cookie" not in response.headers

    through_the_door(talk)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1:9", "[::1]:9", "desk.example.org:8443"])
def test_the_loopback_names_and_the_named_host_are_answered(host):
    async def talk(ask):
        assert (await ask("/?token=anns-token", headers={"Host": host})).code == 200

    through_the_door(talk, hosts=["Desk.example.org:8443"])


def test_a_link_becomes_a_cookie_that_no_script_and_no_other_site_can_use():
    async def talk(ask):
        response = await ask("/some/page?run=demo&token=anns-token&clip=a%2Fb%26c")
        assert response.code == 200
        (morsel,) = SimpleCookie(response.headers["Set-Cookie"]).values()
        assert morsel["httponly"] and morsel["samesite"] == "Strict" and "anns-token" not in morsel.value
        assert b'url=/some/page?run=demo&amp;clip=a%2Fb%26c"' in response.body and b"token" not in response.body
        page = await ask("/some/page", cookie_of(response))
        assert (page.code, page.body.decode()) == (200, "ann")

    through_the_door(talk)


def test_a_link_leads_to_no_other_site():
    async def talk(ask):
        response = await ask("//evil.example/?token=anns-token")
        assert b'url=/evil.example/"' in response.body

    through_the_door(talk)


def test_a_name_that_a_visitor_sends_counts_for_nothing():
    async def talk(ask):
        cookie = cookie_of(await ask("/?token=bobs-token"))
        response = await ask("/", cookie, headers={NAME_HEADER: "ann"})
        assert response.body.decode() == "B%C3%B3b"

    through_the_door(talk)

    async def unnamed(ask):
        cookie = cookie_of(await ask("/?token=t"))
        assert (await ask("/", cookie, headers={NAME_HEADER: "ann"})).body == b"nobody"

    through_the_door(unnamed, keys=lambda: {digest("t"): ""})


def test_a_cookie_is_for_https_alone_where_a_proxy_says_that_people_came_by_it():
    async def talk(ask):
        for scheme, secure in (("https", True), ("http", False)):
            response = await ask("/?token=anns-token", headers={"X-Forwarded-Proto": scheme})
            (morsel,) = SimpleCookie(response.headers["Set-Cookie"]).values()
            assert bool(morsel["secure"]) is secure

    through_the_door(talk)


def test_a_cookie_ends_with_its_invitation_and_with_its_server():
    keys = dict(PEOPLE)
    kept = []

    async def talk(ask):
        kept.append(cookie_of(await ask("/?token=anns-token")))
        assert (await ask("/", kept[0])).code == 200
        del keys[digest("anns-token")]
        assert (await ask("/", kept[0])).code == 403
        assert (await ask("/", kept[0].replace("=", "=x", 1))).code == 403

    through_the_door(talk, lambda: keys)

    async def later(ask):
        assert (await ask("/", kept[0])).code == 403

    through_the_door(later)


def test_a_cookie_outlives_its_server_where_the_next_one_has_the_same_secret():
    kept = []

    async def talk(ask):
        kept.append(cookie_of(await ask("/?token=anns-token")))

    async def later(ask):
        assert (await ask("/", kept[0])).body == b"ann"

    through_the_door(talk, secret=b"the same")
    through_the_door(later, secret=b"the same")
