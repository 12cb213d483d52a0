"""Frames for the browser: decoded on demand by number, some kept in memory, sent as PNG (exact) or JPEG (while playing)."""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path

import cv2
import numpy as np

from lookback.media import VideoInfo, VideoReader, open_video
from lookback.media.reader import os_errors_as_media_errors

MAX_WIDTH = 1280
KEEP_BYTES = 256 * 2**20
BACKWARD = 8  # when stepping back, this many frames are decoded at once, as decoding starts at a keyframe
JPEG_QUALITY = 92


class FrameServer:
    """Frames of a few clips as they are now. Memory use is limited, however long the clips are."""

    def __init__(self, keep_bytes: int = KEEP_BYTES, open_clips: int = 6):
        self.keep_bytes = keep_bytes
        self.open_clips = open_clips
        self._readers: OrderedDict[Path, VideoReader] = OrderedDict()
        self._frames: OrderedDict[tuple[Path, int], np.ndarray] = OrderedDict()
        self._marks: dict[Path, int] = {}
        self._bytes = 0

    def info(self, path: Path) -> VideoInfo:
        self._forget_replaced(path)
        return self._reader(path).info

    def pixels(self, path: Path, index: int) -> np.ndarray:
        """One frame at full size, uint8 RGB."""
        self._forget_replaced(path)
        if (path, index) not in self._frames:
            first = max(0, index - BACKWARD + 1) if (path, index + 1) in self._frames else index
            indices = [number for number in range(first, index + 1) if (path, number) not in self._frames]
            for number, frame in zip(indices, self._reader(path).read(indices), strict=True):
                self._frames[path, number] = frame
                self._bytes += frame.nbytes
            while self._bytes > self.keep_bytes and len(self._frames) > BACKWARD:
                self._bytes -= self._frames.popitem(last=False)[1].nbytes
        self._frames.move_to_end((path, index))
        return self._frames[path, index]

    def _forget_replaced(self, path: Path) -> None:
        """Close the reader of a clip that has changed since it was last looked at, and drop its frames."""
        mark = _mark(path)
        if self._marks.setdefault(path, mark) != mark:
            if path in self._readers:
                self._readers.pop(path).close()
            for key in [key for key in self._frames if key[0] == path]:
                self._bytes -= self._frames.pop(key).nbytes
            self._marks[path] = mark

    def _reader(self, path: Path) -> VideoReader:
        if path not in self._readers:
            self._readers[path] = open_video(path)
            while len(self._readers) > self.open_clips:
                self._readers.popitem(last=False)[1].close()
        self._readers.move_to_end(path)
        return self._readers[path]


def _mark(path: Path) -> int:
    """It changes with a file, or with any file of a frame folder: 4 ms for 1000 frames."""
    with os_errors_as_media_errors(path):
        states = [path.stat(), *(entry.stat() for entry in os.scandir(path) if entry.is_file())] if path.is_dir() else [path.stat()]
        return hash(tuple((state.st_size, state.st_mtime_ns, state.st_ino) for state in states))


def shown_size(info: VideoInfo) -> tuple[int, int]:
    """(width, height) of the pictures sent for a clip."""
    scale = min(1.0, MAX_WIDTH / info.width)
    return round(info.width * scale), round(info.height * scale)


def encode_image(frame: np.ndarray, exact: bool) -> bytes:
    """RGB to PNG, which keeps every pixel, or to JPEG; both at most MAX_WIDTH wide."""
    if frame.shape[1] > MAX_WIDTH:
        height = round(frame.shape[0] * MAX_WIDTH / frame.shape[1])
        frame = cv2.resize(frame, (MAX_WIDTH, height), interpolation=cv2.INTER_AREA)
    suffix, options = (".png", [cv2.IMWRITE_PNG_COMPRESSION, 1]) if exact else (".jpg", [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return cv2.imencode(suffix, cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), options)[1].tobytes()
