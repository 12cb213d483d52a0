"""What is sent with a question: frames of a video as JPEGs of limited size, or as one short video."""

from __future__ import annotations

import base64
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from lookback.errors import MediaError, Reason
from lookback.files import sha256_json
from lookback.media import encode, open_video, resize
from lookback.paths import resolve

KEPT_SETS = 16  # sets of encoded frames kept in memory; several questions about a clip show the same set
DECODED_AT_ONCE = 8  # full-size frames in memory at the same time
EVEN = 2  # a sent video has an even size, which every decoder can show
NO_RATE = 2.0  # frames per second of a sent video whose source has no frame rate


@dataclass(frozen=True)
class Encoding:
    """The size and quality of sent frames."""

    side: int = 512  # the longer side at most, in pixels
    quality: int = 85


def frame_hashes(video_hash: str, frames: Sequence[int], encoding: Encoding) -> list[str]:
    """An identifier of each sent image, without decoding: from the video's content hash, the frame's index and the encoding."""
    return [sha256_json([video_hash, int(index), encoding.side, encoding.quality]) for index in frames]


def small_frame(frame: np.ndarray, encoding: Encoding, multiple: int = 1) -> np.ndarray:
    """The frame (uint8 RGB) with its longer side at most `encoding.side`, and both sides a multiple of `multiple`."""
    scale = min(1.0, encoding.side / max(frame.shape[:2]))
    height, width = (max(multiple, round(side * scale) // multiple * multiple) for side in frame.shape[:2])
    return frame if (height, width) == frame.shape[:2] else resize(frame, height, width, "area")


def encode_frame(frame: np.ndarray, encoding: Encoding) -> bytes:
    """The frame (uint8 RGB) as a JPEG whose longer side is at most `encoding.side`."""
    frame = small_frame(frame, encoding)
    height, width = frame.shape[:2]
    done, jpeg = cv2.imencode(".jpg", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, encoding.quality])
    if not done:
        raise MediaError(f"a frame of {width}x{height} pixels could not be written as JPEG", Reason.INVALID_INPUT)
    return jpeg.tobytes()


def data_url(content: bytes, kind: str = "image/jpeg") -> str:
    """The image or video as a data URL, as chat endpoints expect it."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


@dataclass(frozen=True)
class SmallVideo:
    """Chosen frames of a video in small size (n,H,W,3), and their rate, so that they last as long as in the video."""

    frames: np.ndarray
    fps: float

    def mp4(self) -> bytes:
        """As an MP4 file."""
        with tempfile.TemporaryDirectory() as folder:
            return encode(Path(folder) / "shown.mp4", self.frames, self.fps).read_bytes()


class FrameSource:
    """Frames of clips as JPEGs or as a small video. The last sets are kept, because several questions show the same frames."""

    def __init__(self, encoding: Encoding):
        self.encoding = encoding
        self._lock = threading.Lock()  # several threads ask questions; a set is decoded once
        self._kept: OrderedDict[tuple[str, str, tuple[int, ...]], Any] = OrderedDict()

    def jpegs(self, video: str, frames: tuple[int, ...]) -> list[bytes]:
        """The frames of the video at these indices."""
        kept: list[bytes] = self._keep("jpegs", video, frames, lambda: self._encoded(video, frames))
        return kept

    def small_video(self, video: str, frames: tuple[int, ...]) -> SmallVideo:
        """The frames of the video at these indices, evenly spread in time, as a video."""
        kept: SmallVideo = self._keep("video", video, frames, lambda: self._shrunk(video, frames))
        return kept

    def mp4(self, video: str, frames: tuple[int, ...]) -> bytes:
        """The same as an MP4 file."""
        small = self.small_video(video, frames)
        kept: bytes = self._keep("mp4", video, frames, small.mp4)
        return kept

    def _keep(self, kind: str, video: str, frames: tuple[int, ...], make: Callable[[], Any]) -> Any:
        key = (kind, video, frames)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
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

    def _shrunk(self, video: str, frames: tuple[int, ...]) -> SmallVideo:
        small: list[np.ndarray] = []
        with open_video(resolve(video)) as reader:
            for start in range(0, len(frames), DECODED_AT_ONCE):
                decoded = reader.read(list(frames[start : start + DECODED_AT_ONCE]))
                small += [small_frame(frame, self.encoding, EVEN) for frame in decoded]
            span = (frames[-1] - frames[0]) / reader.info.fps if reader.info.fps else 0.0
        return SmallVideo(np.stack(small), (len(frames) - 1) / span if span else NO_RATE)
