"""The annotation desk's widget: shows one question at a time and stores each vote before the next is shown."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from lookback.clips import Clip
from lookback.desk.questions import JUDGEABILITY
from lookback.desk.tasks import DeskTask, order_for
from lookback.desk.votes import VoteBook
from lookback.errors import LookbackError
from lookback.paths import resolve
from lookback.widgets.frames import FrameServer

ASSETS = files("lookback.widgets")
YES_NO = [{"label": "yes", "text": "Yes", "key": "y"}, {"label": "no", "text": "No", "key": "n"}]
PREFERENCE = [
    {"label": "left", "text": "Left is better", "key": "1"},
    {"label": "tie", "text": "No difference", "key": "0"},
    {"label": "right", "text": "Right is better", "key": "2"},
]


class AnnotationDesk(anywidget.AnyWidget):
    """Blind annotation of clips. Model names and file names never reach the browser."""

    _esm = ASSETS.joinpath("player.js").read_text() + ASSETS.joinpath("desk.js").read_text()
    _css = ASSETS.joinpath("desk.css").read_text()
    view = traitlets.Dict().tag(sync=True)

    def __init__(self, clips: Sequence[Clip], tasks: Sequence[DeskTask], votes: VoteBook, seed: int = 0):
        self._clips = {clip.key: clip for clip in clips}
        self._tasks = list(tasks)
        self._votes = votes
        self._seed = seed
        self._frames = FrameServer()
        self._annotator = ""
        self._order: list[tuple[DeskTask, bool]] = []
        self._paths: list[Path] = []
        self._version = 0
        super().__init__(view={"stage": "name", "message": "", "answers": [], "slots": [], "context": []})
        self.on_msg(self._receive)

    def _receive(self, _: Any, message: dict[str, Any], __: Any) -> None:
        kind = message.get("type")
        try:
            if kind == "frames":
                self._send_frames(message)
            elif kind == "start":
                self._annotator = str(message["annotator"]).strip()[:80]
                self._order = order_for(self._annotator, self._tasks, self._seed)
                self._show()
            elif kind == "vote":
                self._vote(message)
            elif kind == "undo":
                undone = self._votes.undo(self._annotator)
                self._show("The last answer was taken back." if undone else "There is nothing to undo.")
        except LookbackError as error:
            self._show(str(error))

    def _send_frames(self, message: dict[str, Any]) -> None:
        if message.get("version") != self._version:
            return
        path = self._paths[message["slot"]]
        images = [self._frames.encoded(path, int(index)) for index in message["indices"]]
        self.send(
            {"type": "frames", "slot": message["slot"], "indices": message["indices"], "version": self._version}, buffers=images
        )

    def _vote(self, message: dict[str, Any]) -> None:
        current = self._current()
        if current is None or message.get("token") != self._token(*current):
            return  # a second click on a question that is already answered
        task, swapped, stage = current
        label = str(message["label"])
        if stage == "vote" and task.task == "pairwise":
            label = {"left": "-1", "tie": "0", "right": "1"}.get(label, label)
            label = {"-1": "1", "1": "-1"}.get(label, label) if swapped else label
        self._votes.add(self._annotator, task, label, "judgeability" if stage == "judgeability" else None)
        self._show()

    def _current(self) -> tuple[DeskTask, bool, str] | None:
        """The first open question in this annotator's order."""
        answered, closed = self._votes.answered(self._annotator), self._votes.not_judgeable(self._annotator)
        for task, swapped in self._order:
            kinds = answered.get(task.id, set())
            if task.id in closed or task.task in kinds:
                continue
            return task, swapped, "judgeability" if task.asks_judgeability and "judgeability" not in kinds else "vote"
        return None

    def _token(self, task: DeskTask, swapped: bool, stage: str) -> str:
        return f"{task.id}:{stage}"

    def _show(self, message: str = "") -> None:
        current = self._current()
        answered, closed = self._votes.answered(self._annotator), self._votes.not_judgeable(self._annotator)
        done = sum(task.id in closed or task.task in answered.get(task.id, set()) for task, _ in self._order)
        view: dict[str, Any] = {"annotator": self._annotator, "done": done, "total": len(self._order), "message": message}
        if current is None:
            self.view = {**view, "stage": "finished", "answers": [], "slots": [], "context": []}
            return
        task, swapped, stage = current
        clips = [self._clips[task.benchmark, task.setting, task.model_a, task.clip_a]]
        if task.task == "pairwise":
            clips.append(self._clips[task.benchmark, task.setting, task.model_b, task.clip_b])
        clips = clips[::-1] if swapped else clips
        self._paths = [resolve(clip.video) for clip in clips]
        self._version += 1
        self.view = {
            **view,
            "stage": stage,
            "question": JUDGEABILITY if stage == "judgeability" else task.question,
            "answers": PREFERENCE if stage == "vote" and task.task == "pairwise" else YES_NO,
            "context": clips[0].caption_segments or ([clips[0].prompt] if clips[0].prompt else []),
            "slots": [self._facts(path) for path in self._paths],
            "token": self._token(task, swapped, stage),
        }

    def _facts(self, path: Path) -> dict[str, Any]:
        info = self._frames.info(path)
        scale = min(1.0, 1280 / info.width)
        size = {"width": round(info.width * scale), "height": round(info.height * scale)}
        return {"n_frames": info.n_frames, "fps": info.fps or 24.0, "version": self._version, **size}
