"""The annotation desk: shows one question at a time and stores each vote before it shows the next question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from IPython.display import HTML, display

from lookback.camera.intent import parse
from lookback.camera.text import to_text
from lookback.clips import Clip, clips_from_frame
from lookback.desk.roster import annotator_name, visitor
from lookback.desk.tasks import JUDGEABILITY, DeskTask, build_tasks, order_for
from lookback.desk.votes import VoteBook
from lookback.errors import LookbackError, MediaError, ParameterError
from lookback.params import load_run
from lookback.paths import portable, resolve
from lookback.tables import read_table
from lookback.widgets.frames import FrameServer, encode_image, shown_size

OWN, SHARED = files("lookback.desk"), files("lookback.widgets")
DEFAULT_FPS = 24.0
YES_NO = [{"label": "yes", "text": "Yes", "key": "y"}, {"label": "no", "text": "No", "key": "n"}]
PREFERENCE = [
    {"label": "left", "text": "Left is better", "key": "1"},
    {"label": "tie", "text": "No difference", "key": "0"},
    {"label": "right", "text": "Right is better", "key": "2"},
]
# stored votes: 1 if A is better, -1 if B is better; if `swapped`, A is shown on the right
SIGNS = {False: {"left": "1", "tie": "0", "right": "-1"}, True: {"left": "-1", "tie": "0", "right": "1"}}


class AnnotationDesk(anywidget.AnyWidget):
    """Blind annotation of clips. Model names and file names never reach the browser."""

    _esm = SHARED.joinpath("player.js").read_text() + OWN.joinpath("desk.js").read_text()
    _css = OWN.joinpath("desk.css").read_text()
    view = traitlets.Dict().tag(sync=True)

    def __init__(
        self, clips: Sequence[Clip], tasks: Sequence[DeskTask], votes: VoteBook, seed: int = 0, annotator: str | None = None
    ):
        """Without an `annotator` the desk first asks for a name."""
        self._clips = {clip.key: clip for clip in clips}
        self._tasks = list(tasks)
        self._votes = votes
        self._seed = seed
        self._frames = FrameServer()
        self._annotator = ""
        self._order: list[tuple[DeskTask, bool]] = []
        self._unreadable: set[str] = set()
        self._paths: list[Path] = []
        self._version = 0
        super().__init__(view={"stage": "name", "message": "", "answers": [], "slots": [], "context": []})
        self.on_msg(self._receive)
        if annotator is not None:
            self._begin(annotator)

    def _receive(self, _: Any, message: dict[str, Any], __: Any) -> None:
        handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "frames": self._send_frames,
            "start": self._start,
            "vote": self._vote,
            "undo": self._undo,
            "export": self._export,
        }
        handler = handlers.get(str(message.get("type")))
        if handler is None or bool(self._annotator) == (message["type"] == "start"):
            return  # a name is given once, and nothing is done before
        try:
            handler(message)
        except LookbackError as error:
            if self._annotator:
                self._show(str(error))
            else:
                self.view = {**self.view, "message": str(error)}

    def _start(self, message: dict[str, Any]) -> None:
        if str(message["annotator"]).strip():
            self._begin(annotator_name(str(message["annotator"])))

    def _begin(self, name: str) -> None:
        self._annotator, self._order = name, order_for(name, self._tasks, self._seed)
        self._show()

    def _undo(self, _: dict[str, Any]) -> None:
        undone = self._votes.undo(self._annotator)
        self._show("The last answer was taken back." if undone else "There is nothing to undo.")

    def _export(self, _: dict[str, Any]) -> None:
        path = self._votes.path.with_name("ratings.csv")
        count = self._votes.export(path)
        self._show(
            f"{count} answers of all annotators are in {portable(path)}; name that file under agreement.ratings to analyse it."
        )

    def _send_frames(self, message: dict[str, Any]) -> None:
        if message.get("version") != self._version:
            return
        path = self._paths[int(message["slot"])]
        images = [encode_image(self._frames.pixels(path, int(index)), bool(message["exact"])) for index in message["indices"]]
        answer = {name: message[name] for name in ("slot", "indices", "version", "exact")}
        self.send({"type": "frames", **answer}, buffers=images)

    def _vote(self, message: dict[str, Any]) -> None:
        current = self._current()
        if current is None or message.get("token") != _token(current[0], current[2]):
            return  # the question is already answered: a second click
        task, swapped, stage = current
        label = str(message["label"])
        if stage == "vote" and task.task == "pairwise":
            label = SIGNS[swapped].get(label, label)
        self._votes.add(self._annotator, task, label, "judgeability" if stage == "judgeability" else None)
        self._show()

    def _open_tasks(self) -> list[tuple[DeskTask, bool, str]]:
        """The open questions in this annotator's order, each with its stage: judgeability or vote."""
        answered, closed = self._votes.answered(self._annotator), self._votes.not_judgeable(self._annotator)
        left = []
        for task, swapped in self._order:
            kinds = answered.get(task.id, set())
            if task.id not in closed and task.id not in self._unreadable and task.task not in kinds:
                first = task.asks_judgeability and "judgeability" not in kinds
                left.append((task, swapped, "judgeability" if first else "vote"))
        return left

    def _current(self) -> tuple[DeskTask, bool, str] | None:
        return next(iter(self._open_tasks()), None)

    def _show(self, message: str = "") -> None:
        shown: dict[str, Any] = {"stage": "finished", "answers": [], "slots": [], "context": []}
        while (current := self._current()) is not None:
            try:
                shown = self._question(*current)
                break
            except MediaError:
                self._unreadable.add(current[0].id)  # the error is not shown: it would name the file and so the model
        total = len(self._order) - len(self._unreadable)
        if self._unreadable:
            message = f"{message} {len(self._unreadable)} questions are left out: a video cannot be read.".strip()
        progress = {"annotator": self._annotator, "done": total - len(self._open_tasks()), "total": total, "message": message}
        self.view = {**progress, **shown}

    def _question(self, task: DeskTask, swapped: bool, stage: str) -> dict[str, Any]:
        """One question with everything that the browser needs to show it."""
        clips = [self._clips[task.benchmark, task.setting, task.model_a, task.clip_a]]
        if task.task == "pairwise":
            clips.append(self._clips[task.benchmark, task.setting, task.model_b, task.clip_b])
        paths = [resolve(clip.video) for clip in (clips[::-1] if swapped else clips)]
        self._version += 1
        slots = [self._slot(path) for path in paths]
        self._paths = paths
        return {
            "stage": stage,
            "question": JUDGEABILITY if stage == "judgeability" else task.question,
            "answers": PREFERENCE if stage == "vote" and task.task == "pairwise" else YES_NO,
            "context": _context(clips[0]),
            "slots": slots,
            "token": _token(task, stage),
        }

    def _slot(self, path: Path) -> dict[str, float]:
        info = self._frames.info(path)
        width, height = shown_size(info)
        return {
            "n_frames": info.n_frames,
            "fps": info.fps or DEFAULT_FPS,
            "version": self._version,
            "width": width,
            "height": height,
        }


def _token(task: DeskTask, stage: str) -> str:
    return f"{task.id}:{stage}"


def _context(clip: Clip) -> list[dict[str, str | list[str]]]:
    """What the models were asked to show: captions, camera, object (MBench figure 4)."""
    captions = clip.caption_segments or ([clip.prompt] if clip.prompt else [])
    lines = [("Captions" if len(captions) > 1 else "Prompt", captions)]
    lines += [("Camera", _camera(clip)), ("Object", [clip.object_name] if clip.object_name else [])]
    return [{"title": title, "lines": texts} for title, texts in lines if texts]


def _camera(clip: Clip) -> list[str]:
    """The camera request in words; a request that the grammar does not know is shown as it is."""
    if not clip.camera:
        return []
    try:
        return [to_text(parse(clip.camera))]
    except ParameterError:
        return [clip.camera]


def open_desk(run: str, kinds: Sequence[str], limit: int | None, seed: int) -> None:
    """Show the desk in this cell, or a sentence that says what is wrong. Votes go to `votes.sqlite` of the run.

    On a page of `make annotate`, the votes belong to the annotator whose link opened the page.
    """
    try:
        annotator = visitor()
        params = load_run(run)
        clips = clips_from_frame(read_table(params.paths.tables, "clips"))
        tasks = build_tasks(clips, kinds, limit, seed)
        display(AnnotationDesk(clips, tasks, VoteBook(params.paths.root / "votes.sqlite"), seed, annotator))
    except LookbackError as error:
        display(HTML(f"<p role='alert'>{escape(str(error))}</p>"))
