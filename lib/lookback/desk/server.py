"""The study as a web page: one process, one link per person, videos by range requests. Every request passes the `Door` first.

A page sends nothing but ids of items and answers. Which file a video is and which model made it stays on this side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote

from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest
from tornado.routing import Router
from tornado.web import Application, HTTPError

from lookback.desk.export import FORMATS, coverage, export_text, people
from lookback.desk.items import Item
from lookback.desk.study import Refused, Shown, Study, given
from lookback.errors import CannotWrite, LookbackError
from lookback.widgets import web
from lookback.widgets.door import NAME_HEADER, Door
from lookback.widgets.keys import Keys, digest, kept_secret, new_token

PAGE, SHARED = files("lookback.desk") / "page", files("lookback.widgets")
SCRIPTS = {
    "desk.js": (SHARED / "dom.js", SHARED / "send.js", PAGE / "desk.js"),
    "organiser.js": (SHARED / "dom.js", SHARED / "send.js", PAGE / "organiser.js"),
    "desk.css": (PAGE / "desk.css",),
}
ROOM = "/organiser"


class StudyServer:
    """A study behind a door, listening on one or more addresses."""

    def __init__(self, study: Study, listen: Sequence[str], port: int, hosts: Iterable[str] = (), public: str = ""):
        """`hosts` are further names in the Host header; `public` is the address in people's links, if it is not this machine's."""
        self.study = study
        self.token = new_token()  # the organiser's; valid until the server stops
        self.sockets, self.port = web.bind(listen, port)
        self.address = public or f"http://{listen[0]}:{self.port}/"
        doors = Doors(application(study, self.address), self, [*hosts, *listen])
        self._server = web.http_server(doors)

    @property
    def organiser(self) -> str:
        """The address of the organiser's page."""
        return f"{self.address}{ROOM.lstrip('/')}/"

    def keys(self) -> Keys:
        """Whose links work: those of everybody who was invited and has not left."""
        gone = self.study.book.gone()
        return {key: name for key, name in self.study.roster.keys().items() if name not in gone}

    def start(self) -> None:
        self._server.add_sockets(self.sockets)

    def stop(self) -> None:
        self._server.stop()


class Doors(Router):
    """One door for the annotators, another for the organiser: no key opens both."""

    def __init__(self, app: Application, server: StudyServer, hosts: Sequence[str]):
        organiser = {digest(server.token): ""}
        secret = kept_secret(server.study.folder / "cookies.key")  # open pages go on when the server is started again
        self._desk = Door(app, server.keys, server.port, hosts, secret=secret)
        self._organiser = Door(app, lambda: organiser, server.port, hosts, room="-organiser")

    def find_handler(self, request: HTTPServerRequest, **_: object) -> HTTPMessageDelegate | None:
        inside = request.path == ROOM or request.path.startswith(f"{ROOM}/")
        return (self._organiser if inside else self._desk).find_handler(request)


def serve_study(
    study: Study,
    announce: Callable[[StudyServer], None],
    listen: Sequence[str],
    port: int,
    hosts: Iterable[str] = (),
    public: str = "",
) -> None:
    """Serve until stopped; `announce` is called once the port is known."""
    web.serve(lambda: StudyServer(study, listen, port, hosts, public), announce)


def application(study: Study, address: str = "") -> Application:
    return Application(
        [
            (r"/", web.Page, {"shell": PAGE / "index.html", "script": "desk.js"}),
            (rf"{ROOM}/", web.Page, {"shell": PAGE / "index.html", "script": "organiser.js"}),
            (rf"(?:{ROOM})?/static/([a-z]+\.(?:js|css))", web.Scripts, {"scripts": SCRIPTS}),
            (r"/api/(now|read|vote|skip|undo)", Desk),
            (r"/media/([0-9a-f]{20})/([0-9])", Media),
            (rf"{ROOM}/api/(progress|invite|leave)", Organiser),
            (rf"{ROOM}/export/([a-z]+\.(?:csv|json))", Export),
        ],
        default_handler_class=web.Nothing,
        study=study,
        address=address,
    )


def visitor(request: HTTPServerRequest) -> str:
    """Who opened the page, as the door says."""
    return unquote(request.headers.get(NAME_HEADER, ""))


class Guarded(web.Guarded):
    """A handler of one study that knows its visitor."""

    @property
    def study(self) -> Study:
        study = self.settings["study"]
        assert isinstance(study, Study)
        return study

    @property
    def name(self) -> str:
        return visitor(self.request)

    def refuse(self, error: LookbackError) -> None:
        if isinstance(error, CannotWrite):
            raise error
        self.say(error, 409 if isinstance(error, Refused) else 400)


class Media(web.VideoFile):
    """A video of the item in front of the person."""

    async def get(self, item: str, slot: str, include_body: bool = True) -> None:  # type: ignore[override]
        found = self.settings["study"].video_of(visitor(self.request), item, int(slot))
        if found is None:
            raise HTTPError(404)
        await self.send(found.path, include_body)

    async def head(self, item: str, slot: str) -> None:  # type: ignore[override]
        await self.get(item, slot, include_body=False)


class Desk(Guarded):
    """What an annotator's page asks and sends."""

    def get(self, what: str) -> None:
        if what != "now":
            raise HTTPError(405)
        self.finish(view(self.study, self.name))

    def post(self, what: str) -> None:
        try:
            self.finish(self._done(what, self.body()))
        except LookbackError as error:
            self.refuse(error)

    def _done(self, what: str, content: Mapping[str, object]) -> dict[str, object]:
        item, comment = str(content.get("item", "")), str(content.get("comment", ""))
        if what == "read":
            self.study.read(self.name)
        elif what == "vote":
            return self._vote(item, comment, content)
        elif what == "skip":
            self.study.skip(self.name, item, comment)
        elif what == "undo":
            message = "The last answer was taken back." if self.study.undo(self.name) else "There is nothing to take back."
            return {**view(self.study, self.name), "message": message}
        else:
            raise HTTPError(405)
        return view(self.study, self.name)

    def _vote(self, item: str, comment: str, content: Mapping[str, object]) -> dict[str, object]:
        sent = content.get("answers")
        if not isinstance(sent, dict):
            raise HTTPError(400)
        answers = {str(name): str(label) for name, label in sent.items()}
        shown = self.study.now(self.name)
        voted = self.study.vote(self.name, item, answers, comment, content.get("watched") is True)
        after = view(self.study, self.name)
        if voted.role != "practice" or shown is None:
            return after
        return {"feedback": feedback(shown, answers), "why": voted.why, "next": after}


class Organiser(Guarded):
    """The organiser's tables, invitations, and people who left."""

    def get(self, what: str) -> None:
        if what != "progress":
            raise HTTPError(405)
        self.finish(progress(self.study))

    def post(self, what: str) -> None:
        try:
            content = self.body()
            name = str(content.get("name", ""))
            if what == "invite":
                self.finish(self._invited(name, content.get("again") is True))
            elif what == "leave":
                self.study.leave(name)
                self.finish(progress(self.study))
            else:
                raise HTTPError(405)
        except LookbackError as error:
            self.refuse(error)

    def _invited(self, name: str, again: bool) -> dict[str, object]:
        known = self.study.roster.name_of(name)
        if known in self.study.people and not again:
            raise Refused(f"{known} takes part already; a new link ends the old one and locks the page that {known} has open")
        ((invited, token),) = self.study.invite([name]).items()
        return {**progress(self.study), "invited": invited, "token": token, "address": self.settings["address"]}


class Export(Guarded):
    """The organiser's files."""

    def get(self, name: str) -> None:
        if name not in FORMATS:
            raise HTTPError(404)
        self.set_header("Content-Type", f"{web.TYPES[Path(name).suffix]}; charset=utf-8")
        self.set_header("Content-Disposition", f'attachment; filename="{name}"')
        self.finish(export_text(self.study, name))


def view(study: Study, name: str) -> dict[str, object]:
    """Everything that an annotator's page shows now."""
    done, total = study.progress(name)
    base: dict[str, object] = {"annotator": name, "title": study.frozen.title, "instructions": study.frozen.instructions}
    base |= {"done": done, "total": total, "watch": study.settings.watch}
    if not study.has_read(name):
        return {**base, "stage": "instructions", "practice": len(study.practice)}
    shown = study.show(name)
    if shown is None:
        return {**base, "stage": "finished"}
    return {**base, "stage": "practice" if shown.item.role == "practice" else "item", "item": _item(study, shown.item, shown)}


def _item(study: Study, item: Item, shown: Shown) -> dict[str, object]:
    videos = item.videos[::-1] if shown.swapped else item.videos
    captions = ("Left", "Right") if item.compares else tuple(video.caption for video in videos)
    known = [study.file(video) for video in videos]
    return {
        "id": item.id,
        "videos": [
            {"source": f"/media/{item.id}/{slot}", "caption": caption, "fps": file.fps, "seconds": file.seconds}
            for slot, (caption, file) in enumerate(zip(captions, known, strict=True))
        ],
        "context": [line.model_dump() for line in item.context],
        "questions": [
            {
                "id": question.id,
                "text": question.text,
                "only_if": question.only_if,
                "choices": [choice.model_dump() for choice in question.choices],
            }
            for question in item.questions
        ],
    }


def feedback(shown: Shown, answers: Mapping[str, str]) -> list[dict[str, object]]:
    """For every question of a practice item with a known answer: what was answered and what is right, in words."""
    right = given(shown, shown.item.right)
    rows = []
    for question in shown.item.questions:
        texts = {choice.label: choice.text for choice in question.choices}
        if question.id in right:
            was, is_right = answers.get(question.id, ""), right[question.id]
            rows.append(
                {"question": question.text, "given": texts.get(was, "not asked"), "right": texts[is_right], "ok": was == is_right}
            )
    return rows


def progress(study: Study) -> dict[str, object]:
    """The organiser's tables."""
    rows = [
        {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in people(study).to_dict("records")
    ]
    about = {"title": study.frozen.title, "source": study.frozen.source, "form": study.settings.form, "folder": study.folder.name}
    return {**about, "coverage": coverage(study), "people": rows, "gold_items": len(study.gold), "exports": list(FORMATS)}
