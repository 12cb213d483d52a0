"""The clip inspector's widget: frame-accurate playback of a clip beside its ground truth and other models' clips."""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anywidget
import numpy as np
import traitlets

from lookback.clips import Clip
from lookback.errors import LookbackError, MediaError
from lookback.inspector import overlays
from lookback.inspector.notes import NoteBook
from lookback.inspector.run import Filters, RunView
from lookback.paths import resolve
from lookback.widgets.frames import FrameServer, encode_image

ASSETS = files("lookback.widgets")
ROLES = {"mask": "masks", "track": "masks", "faces": "faces", "depth": "depth", "epipolar": "pose"}
MAX_COMPARED = 3


class ClipInspector(anywidget.AnyWidget):
    """Shows one clip of a run at a time; opens at `clip` (its label) and `frame` when given."""

    _esm = ASSETS.joinpath("player.js").read_text() + ASSETS.joinpath("inspector.js").read_text()
    _css = ASSETS.joinpath("inspector.css").read_text()
    view = traitlets.Dict().tag(sync=True)
    listing = traitlets.Dict().tag(sync=True)

    def __init__(self, run: RunView, clip: str = "", frame: int = 0):
        self._run = run
        self._server = FrameServer()
        self._notes = NoteBook(run.params.paths.root / "notes.json")
        self._filters = Filters()
        self._overlays: list[str] = []
        self._compared: list[str] = []
        self._sync = "frame"
        self._point: tuple[int, int, float, float] | None = None  # slot, frame, x, y (as shares of the picture)
        self._slots: list[tuple[Clip, Path]] = []
        self._version = 0
        super().__init__(view={"label": "", "message": "", "slots": []}, listing=self._listing())
        self.on_msg(self._receive)
        first = clip or next(iter(self.listing["clips"]), "")
        if first:
            self._open(first, frame)

    def _receive(self, _: Any, message: dict[str, Any], __: Any) -> None:
        handlers = {
            "frames": self._send_frames,
            "open": lambda said: self._open(said["label"]),
            "filter": self._filter,
            "overlays": self._set_overlays,
            "compare": self._compare,
            "sync": self._synchronise,
            "point": self._mark,
            "note": lambda said: self._notes.write(self.view["label"], str(said["text"])),
        }
        handler = handlers.get(str(message.get("type")))
        if handler is None:
            return
        try:
            handler(message)
        except LookbackError as error:
            self.view = {**self.view, "message": str(error)}

    # what is listed

    def _listing(self) -> dict[str, Any]:
        clips = [clip.label for clip in self._run.select(self._filters)]
        return {"clips": clips, "total": len(self._run.clips), "choices": self._run.choices(), "filters": asdict(self._filters)}

    def _filter(self, message: dict[str, Any]) -> None:
        values = message["values"]
        low, high = (float(values[name]) if values.get(name) not in (None, "") else None for name in ("low", "high"))
        model, scene, failure, metric = (str(values.get(name, "")) for name in ("model", "scene", "failure", "metric"))
        self._filters = Filters(model, scene, failure, metric, low, high)
        self.listing = self._listing()

    # what is shown

    def _open(self, label: str, frame: int = 0) -> None:
        clip = self._run.clip(label)
        if not self.view.get("label") or self._run.clip(self.view["label"]).clip_id != clip.clip_id:
            self._compared = []
        self._point = None
        shown = [(clip, resolve(clip.video), clip.label)]
        if clip.ground_truth:
            shown.append((clip, resolve(clip.ground_truth), "ground truth"))
        for other in self._compared[:MAX_COMPARED]:
            shown.append((self._run.clip(other), resolve(self._run.clip(other).video), other))
        self._version += 1
        slots, message = [], ""
        self._slots = []
        for each, path, name in shown:
            try:
                slots.append(self._facts(each, path, name))
                self._slots.append((each, path))
            except MediaError as error:
                message = str(error)
        self.view = {
            "label": clip.label,
            "message": message,
            "prompt": clip.prompt,
            "slots": slots,
            "frame": frame,
            "curves": self._run.curves(clip),
            "visibility": self._visibility(clip),
            "facts": self._run.facts(clip),
            "overlays": self._overlay_hints(clip),
            "counterparts": [other.label for other in self._run.counterparts(clip)],
            "compared": self._compared,
            "sync": self._sync,
            "note": self._notes.read(clip.label),
            "link": f"?clip={quote(clip.label, safe='')}&frame={frame}",
        }

    def _facts(self, clip: Clip, path: Path, label: str) -> dict[str, Any]:
        info = self._server.info(path)
        scale = min(1.0, 1280 / info.width)
        facts = {"n_frames": info.n_frames, "fps": info.fps or 24.0, "version": self._version, "label": label}
        facts |= {"width": round(info.width * scale), "height": round(info.height * scale)}
        if label == "ground truth":
            facts["frame_map"] = self._frame_map(clip, info.n_frames)
        return facts

    def _frame_map(self, clip: Clip, truth_frames: int) -> list[int]:
        """Ground-truth frame shown with each frame of the clip: linear, or linear within each phase."""
        count = self._server.info(resolve(clip.video)).n_frames
        bounds = [(0, count, 0, truth_frames)]
        phases = self._run.of_clip("segments", clip.key)
        phases = phases[phases["kind"] == "phase"].sort_values("start")
        if self._sync == "phase" and len(phases) == 3 and clip.d_start is not None and clip.r_start is not None:
            scale = truth_frames / (clip.gt_frames or truth_frames)
            marks = [0, round(clip.d_start * scale), round(clip.r_start * scale), truth_frames]
            bounds = [(int(row.start), int(row.end), marks[k], marks[k + 1]) for k, row in enumerate(phases.itertuples())]
        frames: list[int] = []
        for start, end, first, last in bounds:
            frames += np.linspace(first, max(first, last - 1), max(0, end - start)).round().astype(int).tolist()
        return frames or [0]

    def _visibility(self, clip: Clip) -> list[int]:
        masks = self._run.artifact(clip, "masks")
        return [] if masks is None else masks.arrays["state"].astype(int).tolist()

    def _overlay_hints(self, clip: Clip) -> dict[str, str]:
        rows = self._run.of_clip("artifacts", clip.key).set_index("role")
        hints = {
            "difference": "difference to the ground truth (or to the first frame)",
            "epipolar": "click a point, then move through the frames",
        }
        for name, role in ROLES.items():
            if role not in rows.index:
                hints[name] = f"not extracted: {role}"
            elif rows.loc[role, "reason"]:
                hints[name] = f"missing: {rows.loc[role, 'reason']} {rows.loc[role, 'detail']}"
        return hints

    # what the browser asks for

    def _set_overlays(self, message: dict[str, Any]) -> None:
        self._overlays = [name for name in message["names"] if name in {*ROLES, "difference"}]
        self._refresh()

    def _compare(self, message: dict[str, Any]) -> None:
        self._compared = [label for label in message["labels"] if label][:MAX_COMPARED]
        self._open(self.view["label"])

    def _synchronise(self, message: dict[str, Any]) -> None:
        self._sync = "phase" if message["by"] == "phase" else "frame"
        self._open(self.view["label"])

    def _mark(self, message: dict[str, Any]) -> None:
        self._point = (int(message["slot"]), int(message["frame"]), float(message["x"]), float(message["y"]))
        self._refresh()

    def _refresh(self) -> None:
        """Same clips, new pictures: the browser drops what it has and asks again."""
        self._version += 1
        self.send({"type": "refresh", "version": self._version})

    def _send_frames(self, message: dict[str, Any]) -> None:
        if message.get("version") != self._version:
            return
        slot = int(message["slot"])
        clip, path = self._slots[slot]
        images = []
        for index in message["indices"]:
            if self._overlays and path == resolve(clip.video):
                images.append(encode_image(self._painted(slot, clip, path, int(index)), "png"))
            else:
                images.append(self._server.encoded(path, int(index)))
        self.send({"type": "frames", "slot": slot, "indices": message["indices"], "version": self._version}, buffers=images)

    def _painted(self, slot: int, clip: Clip, path: Path, index: int) -> np.ndarray:
        frame = self._server.pixels(path, index)
        original = frame
        for name in self._overlays:
            entry = self._run.artifact(clip, ROLES[name]) if name in ROLES else None
            if name == "difference":
                frame = overlays.difference_picture(original, self._reference(clip, index))
            elif entry is None:
                continue
            elif name == "mask":
                frame = overlays.draw_mask(frame, entry, index)
            elif name == "track":
                frame = overlays.draw_track(frame, entry, index)
            elif name == "faces":
                frame = overlays.draw_faces(frame, entry, index)
            elif name == "depth":
                frame = overlays.depth_picture(frame, entry, index)
            elif name == "epipolar" and self._point is not None and self._point[0] == slot:
                _, start, x, y = self._point
                point = (x * original.shape[1], y * original.shape[0])
                frame = overlays.draw_epipolar(frame, entry, point, start, index)
        return frame

    def _reference(self, clip: Clip, index: int) -> np.ndarray:
        """What a frame is compared with: its ground-truth counterpart, else the clip's first frame."""
        if not clip.ground_truth:
            return self._server.pixels(resolve(clip.video), 0)
        truth = resolve(clip.ground_truth)
        frames = self._frame_map(clip, self._server.info(truth).n_frames)
        return self._server.pixels(truth, frames[min(index, len(frames) - 1)])
