"""Pictures and videos for the page: exact frames with overlays, thumbnails kept on disk, videos that browsers play."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from threading import Lock

import cv2
import numpy as np

from lookback.errors import MediaError
from lookback.files import make_folder, write_bytes
from lookback.inspector.overlays import Clicked, paint
from lookback.inspector.run import RunView
from lookback.inspector.sync import Film, frames_beside
from lookback.media import VideoInfo, open_video
from lookback.media.reader import os_errors_as_media_errors
from lookback.widgets.frames import FrameServer, encode_image
from lookback.widgets.playable import Playable, playable

THUMB_WIDTH, THUMB_QUALITY = 320, 80


class Pictures:
    """Decodes for all pages of one server. A lock keeps the decoders to one caller at a time."""

    def __init__(self) -> None:
        self._server, self._lock, self._encoding = FrameServer(), Lock(), Lock()
        self._playable: dict[tuple[Path, int], Playable] = {}

    def info(self, film: Film) -> VideoInfo:
        with self._lock:
            return self._server.info(film.path)

    def frame(self, run: RunView, film: Film, index: int, exact: bool, overlays: Collection[str], clicked: Clicked | None) -> bytes:
        """One frame with its overlays: every pixel as PNG, or quickly as JPEG. A ground truth has no overlays."""
        with self._lock:
            info = self._server.info(film.path)
            if not 0 <= index < info.n_frames:
                raise MediaError(f"{film.path.name} has the frames 0 to {info.n_frames - 1}, not {index}")
            picture = self._server.pixels(film.path, index)
            if overlays and not film.truth:
                picture = paint(run, film.clip, picture, index, overlays, lambda: self._reference(run, film, index), clicked)
        return encode_image(picture, exact)

    def _reference(self, run: RunView, film: Film, index: int) -> np.ndarray:
        """The frame to compare with: that of the ground truth, or the clip's first frame where there is none."""
        if not film.clip.ground_truth:
            return self._server.pixels(film.path, 0)
        truth = Film(film.clip, truth=True)
        counts = [self._server.info(each.path).n_frames for each in (film, truth)]
        beside = frames_beside(run, film.clip, counts[0], truth, counts[1], "phase")
        return self._server.pixels(truth.path, beside[min(index, len(beside) - 1)])

    def thumbnail(self, run: RunView, film: Film, index: int | None) -> bytes:
        """A small JPEG of a frame, of the last one without an index. It is made once and kept in the run's folder."""
        with os_errors_as_media_errors(film.path):
            state = film.path.stat()
        name = hashlib.sha256(f"{film.path}\0{state.st_size}\0{state.st_mtime_ns}\0{index}".encode()).hexdigest()[:24]
        kept = run.cache / "thumbnails" / f"{name}.jpg"
        if kept.is_file():
            return kept.read_bytes()
        with open_video(film.path) as reader:
            last = reader.info.n_frames - 1
            picture = reader.read([last if index is None else min(index, last)])[0]
        height = max(1, round(picture.shape[0] * THUMB_WIDTH / picture.shape[1]))
        small = cv2.cvtColor(cv2.resize(picture, (THUMB_WIDTH, height), interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2BGR)
        content = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, THUMB_QUALITY])[1].tobytes()
        make_folder(kept.parent)
        write_bytes(kept, content)
        return content

    def video(self, run: RunView, film: Film) -> Playable:
        """The file that the browser plays. A copy is made once where browsers cannot play the original."""
        key = film.path, film.path.stat().st_mtime_ns if film.path.exists() else 0
        with self._encoding:
            if key not in self._playable:
                folder = run.cache / "playable"
                make_folder(folder)
                self._playable[key] = playable(film.path, folder, even=True)
            return self._playable[key]
