"""A person at the desk, over HTTP."""

import json
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from types import SimpleNamespace
from urllib.parse import quote

from lookback.desk.server import StudyServer
from time_limits import HUNG_S


class Visitor:
    """A browser without a screen: it holds one cookie and talks to one server."""

    def __init__(self, server: StudyServer | SimpleNamespace, address: str = "127.0.0.1"):
        self.server, self.address, self.cookie = server, address, ""

    def enter(self, token: str, page: str = "/"):
        status, headers, _ = self.ask(f"{page}?token={quote(token)}")
        if status == 200:
            (morsel,) = SimpleCookie(headers["Set-Cookie"]).values()
            self.cookie = f"{morsel.key}={morsel.coded_value}"
        return self

    def ask(self, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection(self.address, self.server.port, timeout=HUNG_S)
        sent = {"Cookie": self.cookie} if self.cookie else {}
        if body is not None:
            sent["Content-Type"] = "application/json"
        method = headers.pop("method", "GET" if body is None else "POST")
        content = headers.pop("content", None if body is None else json.dumps(body))
        connection.request(method, path, content, {**sent, **{name.replace("_", "-"): value for name, value in headers.items()}})
        response = connection.getresponse()
        found = response.status, dict(response.getheaders()), response.read()
        connection.close()
        return found

    def json(self, path: str, body: object = None) -> dict:
        status, _, content = self.ask(path, body)
        assert status == 200, content
        return json.loads(content)

    def work(self, preference: str = "left", yes: str = "yes") -> dict:
        """Read, practise and answer everything; the last view."""
        view = self.json("/api/read", {})
        while view["stage"] != "finished":
            asked = view["item"]["questions"]
            answers = {each["id"]: yes if len(each["choices"]) == 2 else preference for each in asked}
            answers = {
                each["id"]: answers[each["id"]] for each in asked if not each["only_if"] or answers[each["only_if"]] == "yes"
            }
            view = self.json("/api/vote", {"item": view["item"]["id"], "answers": answers, "watched": True, "comment": ""})
            view = view.get("next", view)
        return view
