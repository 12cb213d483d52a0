"""The served pages answer nobody without a link: real requests to the servers that `make inspect` and `make annotate` start."""

import asyncio
import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from time_limits import HUNG_S
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

pytestmark = pytest.mark.long
NO_KERNEL = "00000000-0000-4000-8000-000000000000"
PATHS = [
    "/",
    "/api/kernels",
    f"/api/kernels/{NO_KERNEL}",
    "/api/clips",
    "/frame",
    "/thumbnail",
    "/video",
    "/export.csv",
    "/static/inspector.js",
    "/login",
    "/api/now",
    "/organiser/",
    "/organiser/api/progress",
    "/organiser/export/ratings.csv",
    "/nothing/here",
]


def ask(link: str, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    place = urlsplit(link)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=HUNG_S)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    return response.status, response.read().decode("utf-8", "replace")


def websocket(link: str, kernel: str) -> int:
    """The status with which a kernel's websocket answers; 101 when it opens."""

    async def knock() -> int:
        place = urlsplit(link)
        try:
            wire = await websocket_connect(
                HTTPRequest(f"ws://{place.netloc}/api/kernels/{kernel}/channels", request_timeout=HUNG_S)
            )
        except HTTPClientError as error:
            return error.code
        wire.close()
        return 101

    with ThreadPoolExecutor(1) as aside:  # playwright keeps an event loop running in this thread
        return aside.submit(lambda: asyncio.run(knock())).result()


@pytest.mark.parametrize("path", PATHS)
def test_without_a_link_no_route_answers(desk, inspector, path):
    for link in (desk["ann"], inspector):
        assert ask(link, path)[0] == 403
        assert ask(link, f"{path}?token=guess")[0] == 403
        assert ask(link, path, "POST")[0] == 403


def test_without_a_link_no_websocket_opens(inspector):
    assert websocket(inspector, NO_KERNEL) == 403


def test_another_host_name_gets_nothing_with_the_link_itself(desk, inspector):
    for link in (desk["ann"], inspector):
        for host in ("evil.example", f"evil.example:{urlsplit(link).port}"):
            assert ask(link, f"/?{urlsplit(link).query}", Host=host)[0] == 403
        assert ask(link, f"/?{urlsplit(link).query}", Host=f"localhost:{urlsplit(link).port}")[0] == 200


def test_the_link_of_one_page_opens_no_other(desk, inspector):
    assert ask(desk["ann"], f"/?{urlsplit(desk['organiser']).query}")[0] == 403
    assert ask(desk["ann"], f"/organiser/?{urlsplit(desk['ann']).query}")[0] == 403
    assert ask(inspector, f"/?{urlsplit(desk['ann']).query}")[0] == 403


def test_a_browser_without_the_link_sees_a_sentence(desk, open_page):
    page = open_page(desk["ann"].split("?")[0], None)
    assert page.inner_text("body").strip() == "This page opens with the link that was printed when it was started."
    page.close()


def test_the_roster_holds_no_token(desk, little):
    roster = (little.folder / "studies" / "mbench_pairwise" / "annotators.json").read_text()
    assert set(json.loads(roster)) == {"ann", "eli"}
    assert not any(urlsplit(link).query.removeprefix("token=") in roster for link in desk.values())
