"""The images that are sent with a question: frames of a video as JPEGs of limited size."""

from __future__ import annotations

import base64
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from lookback.errors import MediaError, Reason
from lookback.files import sha256_json
from lookback.media import open_video, resize
from lookback.paths import resolve

KEPT_SETS = 16  # sets of encoded frames kept in memory; several questions about a clip show the same set
DECODED_AT_ONCE = 8  # full-size frames in memory at the same time


@dataclass(frozen=True)
class Encoding:
    """The size and quality of sent frames."""

    side: int = 512  # the longer side at most, in pixels
    quality: int = 85


def frame_hashes(video_hash: str, frames: Sequence[int], encoding: Encoding) -> list[str]:
    """An identifier of each sent image, without decoding: from the video's content hash, the frame's index and the encoding."""
    return [sha256_json([video_hash, int(index), encoding.side, encoding.quality]) for index in frames]


def encode_frame(frame: np.ndarray, encoding: Encoding) -> bytes:
    """The frame (uint8 RGB) as a JPEG whose longer side is at most `encoding.side`."""
    height, width = frame.shape[:2]
    scale = encoding.side / max(height, width)
    if scale < 1:
        frame = resize(frame, max(1, round(height * scale)), max(1, round(width * scale)), "area")
    done, jpeg = cv2.imencode(".jpg", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, encoding.quality])
    if not done:
        raise MediaError(f"a frame of {width}x{height} pixels could not be written as JPEG", Reason.INVALID_INPUT)
    return jpeg.tobytes()


def data_url(jpeg: bytes) -> str:
    """The image as a data URL, as chat endpoints expect it."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


class FrameSource:
    """Frames of clips as JPEGs. The last sets are kept, because several questions show the same frames."""

    def __init__(self, encoding: Encoding):
        self.encoding = encoding
        self._lock = threading.Lock()  # several threads ask questions; a set is decoded once
        self._kept: OrderedDict[tuple[str, tuple[int, ...]], list[bytes]] = OrderedDict()

    def jpegs(self, video: str, frames: tuple[int, ...]) -> list[bytes]:
        """The frames of the video at these indices."""
        key = (video, frames)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = self._encoded(video, frames)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT_SETS:
                self._kept.popitem(last=False)
            return self._kept[key]

    def _encoded(self, video: str, frames: tuple[int, ...]) -> list[bytes]:
        jpegs: list[bytes] = []
        with open_video(resolve(video)) as reader:
            for start in range(0, len(frames), DECODED_AT_ONCE):
                decoded = reader.read(list(frames[start : start + DECODED_AT_ONCE]))
                jpegs += [encode_frame(frame, self.encoding) for frame in decoded]
        return jpegs
