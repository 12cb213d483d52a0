"""The inspector as a web page on this machine. Every request passes the `Door` first.

The page names clips by their labels. Which files they are is looked up on this side, so that no path comes from the page.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from tornado.web import Application, HTTPError

from lookback.errors import LookbackError, MediaError, UsageError
from lookback.files import write_text
from lookback.inspector.anchors import Box, save_box
from lookback.inspector.listing import exported, listing, values_of, worst_is_least
from lookback.inspector.marks import SELECTED, ChangedMeanwhile, NoteBook, TagBook
from lookback.inspector.opened import opened
from lookback.inspector.overlays import LAYERS, Clicked
from lookback.inspector.pictures import Pictures
from lookback.inspector.run import TABLES, RunView
from lookback.inspector.sync import Film
from lookback.params import RunParams, load_run
from lookback.paths import shown
from lookback.tables import csv_text
from lookback.widgets import web
from lookback.widgets.door import Door
from lookback.widgets.keys import digest, new_token

PAGE, SHARED = files("lookback.inspector") / "page", files("lookback.widgets")
NAMES = ("state.js", "grid.js", "player.js", "chart.js", "path.js", "stage.js", "app.js")
SCRIPTS = {
    "inspector.js": (SHARED / "dom.js", SHARED / "send.js", *(PAGE / name for name in NAMES)),
    "inspector.css": (PAGE / "inspector.css",),
}
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # a link can name a run, but never a file
THREADS = 3  # decoding leaves Python, so that thumbnails do not wait for each other
NOTEBOOKS = "http://127.0.0.1:* http://localhost:*"
PORT = 8866
T = TypeVar("T")


class Shelf:
    """The runs that a server has opened, by name. `fresh` reads a plain folder again, and a run whose tables have changed."""

    def __init__(self, first: RunView | RunParams):
        self.first = first.name if isinstance(first, RunView) else first.run
        self._folder = first if isinstance(first, RunView) else None
        self._given = first if isinstance(first, RunParams) else None
        self._views: dict[str, tuple[RunView, tuple[int, ...]]] = {}

    def view(self, name: str, fresh: bool = False) -> RunView:
        """The run of this name, or the one that the server was started with."""
        name = name or self.first
        if self._folder is not None and name == self.first:
            if fresh:
                self._folder = RunView.of_folder(self._folder.datasets[0])
            return self._folder
        if name in self._views and not fresh:
            return self._views[name][0]
        if not RUN_NAME.fullmatch(name) or name.endswith((".yaml", ".yml")):
            raise UsageError(f"'{name}' is not the name of a run; give the name of a file in params/ without .yaml")
        params = self._given if self._given is not None and name == self.first else load_run(name)
        state = _state_of(params)
        if name not in self._views or self._views[name][1] != state:
            self._views[name] = RunView.of_run(params), state
        return self._views[name][0]


def _state_of(params: RunParams) -> tuple[int, ...]:
    files_of = (params.paths.tables / f"{name}.parquet" for name in ("clips", *TABLES))
    return tuple(path.stat().st_mtime_ns if path.is_file() else 0 for path in files_of)


class InspectorServer:
    """A run or a folder behind a door, on one port of this machine."""

    def __init__(self, first: RunView | RunParams, port: int, hosts: Iterable[str] = (), framed: bool = False):
        """`hosts` are further names in the Host header; `framed` lets a notebook of this machine show the page in a frame."""
        self.token = new_token()
        self.shelf = Shelf(first)
        self.sockets, self.port = web.bind([web.IP], port)
        self.address = f"http://{web.IP}:{self.port}/"
        keys = {digest(self.token): ""}
        app = application(self.shelf, NOTEBOOKS if framed else "'none'")
        self._server = web.http_server(Door(app, lambda: keys, self.port, hosts, most=16 * web.MOST_BYTES))

    def start(self) -> None:
        self._server.add_sockets(self.sockets)

    def stop(self) -> None:
        self._server.stop()


def application(shelf: Shelf, frames: str = "'none'") -> Application:
    return Application(
        [
            (r"/", web.Page, {"shell": PAGE / "index.html", "script": "inspector.js"}),
            (r"/static/([a-z]+\.(?:js|css))", web.Scripts, {"scripts": SCRIPTS}),
            (r"/api/(clips|values|clip)", Read),
            (r"/api/(note|tag|box)", Write),
            (r"/frame", Frame),
            (r"/thumbnail", Thumbnail),
            (r"/video", Video),
            (r"/export\.csv", Export),
        ],
        default_handler_class=web.Nothing,
        compress_response=True,
        frames=frames,
        shelf=shelf,
        pictures=Pictures(),
        pool=ThreadPoolExecutor(THREADS, "inspector"),
    )


class Handler(web.Guarded):
    """A handler that knows the run which the request names."""

    def view(self, fresh: bool = False) -> RunView:
        shelf = self.settings["shelf"]
        assert isinstance(shelf, Shelf)
        return shelf.view(self.get_query_argument("run", ""), fresh)

    @property
    def pictures(self) -> Pictures:
        pictures = self.settings["pictures"]
        assert isinstance(pictures, Pictures)
        return pictures

    def film(self, run: RunView) -> Film:
        return Film(run.clip(self.get_query_argument("clip")), self.get_query_argument("truth", "") == "1")

    def number(self, name: str) -> int | None:
        return _frame_number(self.get_query_argument(name, ""))

    async def aside(self, work: Callable[[], T]) -> T | None:
        """The result of slow work in a thread; None after its error was told to the page."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.settings["pool"], work)
        except LookbackError as error:
            self.say(error, 404 if isinstance(error, MediaError) else 400)
            return None


def _frame_number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None


def notes_of(run: RunView) -> NoteBook:
    return NoteBook(run.paths.root / "notes.json")


def tags_of(run: RunView) -> TagBook:
    return TagBook(run.paths.root / "tags.json")


class Read(Handler):
    """What the page asks: the list, a metric's values, one clip."""

    async def get(self, what: str) -> None:
        found = await self.aside(lambda: self._answer(what))
        if found is not None:
            self.finish(found)

    def _answer(self, what: str) -> dict[str, object]:
        if what == "clips":
            run = self.view(fresh=True)
            return listing(run, tags_of(run).tags())
        run = self.view()
        if what == "values":
            metric = self.get_query_argument("metric")
            return {"values": values_of(run, metric), "worst_is_least": worst_is_least(run, metric)}
        by = "frame" if self.get_query_argument("sync", "") == "frame" else "phase"
        label, compared = self.get_query_argument("clip"), self.get_query_arguments("compare")
        return opened(run, self.pictures, notes_of(run), label, compared, by)


class Write(Handler):
    """What the page saves: a note, a tag of one or more clips, a box around the subject."""

    def post(self, what: str) -> None:
        try:
            self.finish(self._saved(self.view(), what, self.body()))
        except ChangedMeanwhile as error:
            self.say(error, 409)
        except LookbackError as error:
            self.say(error)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise HTTPError(400) from None

    def _saved(self, run: RunView, what: str, content: dict[str, object]) -> dict[str, object]:
        if what == "tag":
            labels = [run.clip(str(label)).label for label in _list(content["labels"])]
            tags_of(run).set(labels, str(content["tag"]), content["on"] is True)
            return {"tags": tags_of(run).tags()}
        clip = run.clip(str(content["label"]))
        if what == "note":
            before = content.get("instead_of")
            notes_of(run).write(clip.label, str(content["text"]), None if before is None else _list(before))
            return {}
        dataset = run.dataset_of(clip)
        if dataset is None:
            raise UsageError(f"The dataset of {clip.label} is not known; name its folder in curation.sources to keep boxes there")
        box = None if content.get("box") is None else _box(content)
        path = save_box(dataset, clip, box, content.get("every_model") is True)
        return {"file": shown(path)}


def _box(content: dict[str, object]) -> Box:
    x, y, width, height = (float(value) for value in _list(content["box"]))
    return Box(x, y, width, height, str(content.get("name", ""))).checked()


def _list(value: object) -> list:
    if not isinstance(value, list):
        raise TypeError
    return value


class Frame(Handler):
    """One decoded frame with its overlays."""

    async def get(self) -> None:
        index, exact = self.number("index"), self.get_query_argument("exact", "") == "1"
        overlays = {name for name in self.get_query_argument("overlays", "").split(",") if name in LAYERS}
        found = await self.aside(lambda: self._picture(index or 0, exact, overlays))
        if found is not None:
            self.set_header("Content-Type", "image/png" if exact else "image/jpeg")
            self.finish(found)

    def _picture(self, index: int, exact: bool, overlays: set[str]) -> bytes:
        run = self.view()
        film = self.film(run)
        return self.pictures.frame(run, film, index, exact, overlays, self._clicked())

    def _clicked(self) -> Clicked | None:
        """The clicked point, `frame,x,y` with shares of the picture."""
        parts = self.get_query_argument("point", "").split(",")
        try:
            frame, x, y = _frame_number(parts[0]), float(parts[1]), float(parts[2])
        except (IndexError, ValueError):
            return None
        return Clicked(frame, x, y) if frame is not None and 0 <= x <= 1 and 0 <= y <= 1 else None


class Thumbnail(Handler):
    """A small picture of a clip; the browser may keep it for the session."""

    async def get(self) -> None:
        found = await self.aside(self._picture)
        if found is not None:
            self.set_header("Content-Type", "image/jpeg")
            self.set_header("Cache-Control", "private, max-age=600")
            self.finish(found)

    def _picture(self) -> bytes:
        run = self.view()
        return self.pictures.thumbnail(run, self.film(run), self.number("index"))


class Video(web.VideoFile, Handler):
    """A clip's video, or a copy that browsers play; the header says which."""

    async def get(self, include_body: bool = True) -> None:  # type: ignore[override]
        found = await self.aside(self._file_of_film)
        if found is not None:
            file, copied = found
            self.set_header("X-Lookback-Copy", "yes" if copied else "no")
            await self.send(file, include_body)

    def _file_of_film(self) -> tuple[Path, bool]:
        run = self.view()
        film = self.film(run)
        played = self.pictures.video(run, film).path
        return played, played != film.path

    async def head(self) -> None:  # type: ignore[override]
        await self.get(include_body=False)


class Export(Handler):
    """The selected, tagged or all clips as CSV; the same file stays in the run's folder."""

    async def get(self) -> None:
        only = self.get_query_argument("only", SELECTED)
        if only not in (SELECTED, "tagged", "all"):
            raise HTTPError(400)
        metrics = self.get_query_arguments("metric")
        text = await self.aside(lambda: self._text(only, metrics))
        if text is not None:
            self.set_header("Content-Type", "text/csv; charset=utf-8")
            self.set_header("Content-Disposition", f'attachment; filename="{self.view().name}_{only}.csv"')
            self.finish(text)

    def _text(self, only: str, metrics: list[str]) -> str:
        run = self.view()
        text = csv_text(exported(run, tags_of(run), notes_of(run), only, metrics))
        write_text(run.paths.root / f"{only}.csv", text)
        return text


def serve_inspector(
    first: RunView | RunParams, announce: Callable[[InspectorServer], None], port: int, hosts: Iterable[str] = ()
) -> None:
    """Serve until stopped; `announce` is called once the port is known."""
    web.serve(lambda: InspectorServer(first, port, hosts), announce)


def view_of(folder: Path) -> RunView | RunParams:
    """A folder as the inspector shows it: a finished run with its tables, or the videos in it."""
    return load_run(str(folder)) if (folder / "results.json").is_file() else RunView.of_folder(folder)
