"""The clip inspector: plays a clip frame by frame beside its ground truth and the clips of other models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anywidget
import numpy as np
import traitlets

from lookback.clips import Clip
from lookback.errors import LookbackError, MediaError
from lookback.inspector.overlays import LAYERS, Clicked, missing_overlays, paint
from lookback.inspector.run import Filters, NoteBook, RunView
from lookback.measures.frames import ground_truth_index
from lookback.paths import resolve
from lookback.widgets.frames import FrameServer, encode_image, shown_size

OWN, SHARED = files("lookback.inspector"), files("lookback.widgets")
MAX_COMPARED = 3
DEFAULT_FPS = 24.0


@dataclass(frozen=True)
class Slot:
    """One video on the page. `frames[i]` is its frame that is shown beside frame i of the opened clip."""

    clip: Clip
    path: Path
    truth: bool
    frames: list[int]


class ClipInspector(anywidget.AnyWidget):
    """Shows one clip of a run at a time. `clip` (a label) and `frame` say where it opens."""

    _esm = "".join(part.read_text() for part in (SHARED / "dom.js", SHARED / "player.js", OWN / "chart.js", OWN / "inspector.js"))
    _css = OWN.joinpath("inspector.css").read_text()
    view = traitlets.Dict().tag(sync=True)
    listing = traitlets.Dict().tag(sync=True)

    def __init__(self, run: RunView, clip: str = "", frame: int = 0):
        self._run = run
        self._server = FrameServer()
        self._notes = NoteBook(run.params.paths.root / "notes.json")
        self._filters = Filters()
        self._overlays: set[str] = set()
        self._compared: list[str] = []
        self._sync = "phase"
        self._clicked: Clicked | None = None
        self._slots: list[Slot] = []
        self._version = 0
        super().__init__(view={"label": "", "message": "", "slots": []}, listing=self._listing())
        self.on_msg(self._receive)
        first = next(iter(self.listing["clips"]), "")
        try:
            if clip or first:
                self._open(clip or first, frame)
        except LookbackError as error:  # the link names a clip that this run does not have
            self._open(first)
            self.view = {**self.view, "message": str(error)}

    def _receive(self, _: Any, message: dict[str, Any], __: Any) -> None:
        handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "frames": self._send_frames,
            "open": lambda said: self._open(said["label"]),
            "filter": self._filter,
            "overlays": self._set_overlays,
            "compare": self._compare,
            "sync": self._synchronise,
            "point": self._mark,
            "note": self._note,
        }
        handler = handlers.get(str(message.get("type")))
        if handler is None:
            return
        try:
            handler(message)
        except LookbackError as error:
            self.view = {**self.view, "message": str(error), "frame": int(message.get("frame", 0))}

    # the list of clips

    def _listing(self) -> dict[str, Any]:
        clips = [clip.label for clip in self._run.select(self._filters)]
        return {"clips": clips, "total": len(self._run.clips), "choices": self._run.choices(), "filters": asdict(self._filters)}

    def _filter(self, message: dict[str, Any]) -> None:
        values = message["values"]
        low, high = (float(values[name]) if values.get(name) not in (None, "") else None for name in ("low", "high"))
        names = ("model", "scene", "failure", "metric", "text")
        self._filters = Filters(low=low, high=high, **{name: str(values.get(name, "")) for name in names})
        self.listing = self._listing()

    # the opened clip

    def _open(self, label: str, frame: int = 0) -> None:
        clip = self._run.clip(label)
        counterparts = {other.label: other.model_id for other in self._run.counterparts(clip)}
        self._compared = [label for label in self._compared if label in counterparts]
        self._clicked = None
        self._version += 1
        slots, message, self._slots = [], "", []
        for each, path, name in self._videos(clip):
            try:
                slot = Slot(each, path, name == "ground truth", self._frame_map(clip, each, path, name == "ground truth"))
                slots.append(self._slot_facts(slot, name))
                self._slots.append(slot)
            except MediaError as error:
                message = str(error)
                if not self._slots:
                    break  # without the opened clip there is nothing to compare
        self.view = {
            "label": clip.label,
            "run": self._run.params.run,
            "message": message,
            "prompt": clip.prompt,
            "slots": slots,
            "frame": frame,
            "curves": self._run.curves(clip),
            "visibility": self._run.visibility(clip),
            "facts": self._run.facts(clip),
            "missing": missing_overlays(self._run, clip),
            "reference": "its ground truth" if clip.ground_truth else "the clip's first frame",
            "overlays": sorted(self._overlays),
            "counterparts": [{"label": label, "model": model} for label, model in counterparts.items()],
            "compared": self._compared,
            "sync": self._sync,
            "note": self._notes.read(clip.label),
            "link": f"run={quote(self._run.params.run, safe='')}&clip={quote(clip.label, safe='')}",
        }

    def _videos(self, clip: Clip) -> list[tuple[Clip, Path, str]]:
        videos = [(clip, resolve(clip.video), clip.model_id)]
        if clip.ground_truth:
            videos.append((clip, resolve(clip.ground_truth), "ground truth"))
        others = [self._run.clip(label) for label in self._compared]
        return videos + [(other, resolve(other.video), other.model_id) for other in others]

    def _slot_facts(self, slot: Slot, name: str) -> dict[str, Any]:
        info = self._server.info(slot.path)
        width, height = shown_size(info)
        facts = {"n_frames": info.n_frames, "fps": info.fps or DEFAULT_FPS, "version": self._version, "label": name}
        facts |= {"width": width, "height": height, "size": f"{info.width}x{info.height}", "clip": slot.clip.label}
        return facts | ({"frame_map": slot.frames} if self._slots else {})

    def _frame_map(self, clip: Clip, other: Clip, path: Path, truth: bool) -> list[int]:
        """Which frame of a video is shown beside each frame of the opened clip."""
        count, others = self._server.info(resolve(clip.video)).n_frames, self._server.info(path).n_frames
        offset = clip.mark_time or 0 if truth else 0
        if self._sync == "frame" or (truth and offset):
            return by_frame(count, others, offset)
        if not truth:
            return by_phase(self._run.marks(clip, count), self._run.marks(other, others))
        if clip.d_start is None or clip.r_start is None:
            return by_phase([0, count], [0, others])
        return by_phase(self._run.marks(clip, count), [0, clip.d_start, clip.r_start, min(clip.gt_frames or others, others)])

    # messages from the browser

    def _note(self, message: dict[str, Any]) -> None:
        self._notes.write(self._run.clip(str(message["label"])).label, str(message["text"]))
        self.send({"type": "noted", "label": message["label"]})

    def _set_overlays(self, message: dict[str, Any]) -> None:
        self._overlays = {name for name in message["names"] if name in LAYERS}
        self._refresh()

    def _compare(self, message: dict[str, Any]) -> None:
        self._compared = [str(label) for label in message["labels"]][:MAX_COMPARED]
        self._open(self.view["label"], int(message["frame"]))

    def _synchronise(self, message: dict[str, Any]) -> None:
        self._sync = "phase" if message["by"] == "phase" else "frame"
        self._open(self.view["label"], int(message["frame"]))

    def _mark(self, message: dict[str, Any]) -> None:
        self._clicked = Clicked(int(message["slot"]), int(message["frame"]), float(message["x"]), float(message["y"]))
        self._refresh()

    def _refresh(self) -> None:
        """Tell the browser to drop its pictures and to ask for new ones."""
        self._version += 1
        self.send({"type": "refresh", "version": self._version})

    def _send_frames(self, message: dict[str, Any]) -> None:
        if message.get("version") != self._version:
            return
        number = int(message["slot"])
        images = [encode_image(self._picture(number, int(index)), bool(message["exact"])) for index in message["indices"]]
        answer = {name: message[name] for name in ("slot", "indices", "version", "exact")}
        self.send({"type": "frames", **answer}, buffers=images)

    def _picture(self, number: int, index: int) -> np.ndarray:
        slot = self._slots[number]
        frame = self._server.pixels(slot.path, index)
        if not self._overlays or slot.truth:
            return frame
        clicked = self._clicked if self._clicked is not None and self._clicked.slot == number else None
        return paint(self._run, slot.clip, frame, index, self._overlays, lambda: self._reference(number, index), clicked)

    def _reference(self, number: int, index: int) -> np.ndarray:
        """The frame to compare with: the ground-truth frame beside it, or the clip's first frame if there is no ground truth."""
        truth = next((slot for slot in self._slots if slot.truth), None)
        if truth is None:
            return self._server.pixels(self._slots[number].path, 0)
        beside = self._slots[number].frames
        position = index if number == 0 else min(range(len(beside)), key=lambda place: abs(beside[place] - index))
        return self._server.pixels(truth.path, truth.frames[min(position, len(truth.frames) - 1)])


def by_frame(n_frames: int, other_frames: int, offset: int = 0) -> list[int]:
    """Frame i is shown beside frame i + offset (MIND's ground truth starts at mark_time). The last frame is repeated."""
    return np.minimum(np.arange(n_frames) + offset, other_frames - 1).tolist()


def by_phase(marks: Sequence[int], other: Sequence[int]) -> list[int]:
    """Frames are matched linearly within each phase, as MemoBench matches a clip with its ground truth.

    `marks` are the first frames of the phases and the end, [0, d_start, r_start, n]. If the videos do not have the same phases,
    they are matched linearly as a whole.
    """
    if len(marks) != len(other):
        marks, other = (marks[0], marks[-1]), (other[0], other[-1])
    frames: list[int] = []
    for start, end, first, stop in zip(marks, marks[1:], other, other[1:], strict=False):
        if end > start:
            frames += ground_truth_index(end - start, first, max(first, stop - 1)).tolist()
    return frames or [other[0]]
