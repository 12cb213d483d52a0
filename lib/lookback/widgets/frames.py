"""Exact frames for the browser: decoded on demand by index, a few kept, sent as JPEG or PNG bytes."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import cv2
import numpy as np

from lookback.media import VideoInfo, VideoReader, open_video

AHEAD = 12  # frames decoded together: playing forward costs one seek per dozen frames
MAX_WIDTH = 1280


class FrameServer:
    """Frames of a few clips; memory is bounded by `keep` encoded frames and `open_clips` readers."""

    def __init__(self, keep: int = 600, open_clips: int = 6):
        self.keep = keep
        self.open_clips = open_clips
        self._readers: OrderedDict[Path, VideoReader] = OrderedDict()
        self._encoded: OrderedDict[tuple[Path, int, str], bytes] = OrderedDict()

    def info(self, path: Path) -> VideoInfo:
        return self._reader(path).info

    def pixels(self, path: Path, index: int) -> np.ndarray:
        """One frame, uint8 RGB."""
        return self._reader(path).read([index])[0]

    def encoded(self, path: Path, index: int, kind: str = "jpeg") -> bytes:
        """One frame as image bytes; the following frames are decoded and kept with it."""
        if (path, index, kind) not in self._encoded:
            count = self._reader(path).info.n_frames
            indices = list(range(index, min(index + AHEAD, count)))
            for number, frame in zip(indices, self._reader(path).read(indices), strict=True):
                self._encoded[path, number, kind] = encode_image(frame, kind)
            while len(self._encoded) > self.keep:
                self._encoded.popitem(last=False)
        return self._encoded[path, index, kind]

    def _reader(self, path: Path) -> VideoReader:
        if path not in self._readers:
            self._readers[path] = open_video(path)
            while len(self._readers) > self.open_clips:
                self._readers.popitem(last=False)[1].close()
        self._readers.move_to_end(path)
        return self._readers[path]


def encode_image(frame: np.ndarray, kind: str = "jpeg") -> bytes:
    """RGB to JPEG (quality 90) or PNG bytes, scaled down to at most MAX_WIDTH."""
    if frame.shape[1] > MAX_WIDTH:
        height = round(frame.shape[0] * MAX_WIDTH / frame.shape[1])
        frame = cv2.resize(frame, (MAX_WIDTH, height), interpolation=cv2.INTER_AREA)
    suffix, options = (".png", [cv2.IMWRITE_PNG_COMPRESSION, 1]) if kind == "png" else (".jpg", [cv2.IMWRITE_JPEG_QUALITY, 90])
    return cv2.imencode(suffix, cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), options)[1].tobytes()
