"""Open and decode videos with PyAV: its options, its errors, and the conversion of decoded frames to RGB.

Colours follow the tags of the stream: matrix and range as tagged, BT.601 limited range where there are no tags.
Pixels are not resampled for a non-square sample aspect ratio, alpha is dropped, and HDR is not tone-mapped.
"""

from __future__ import annotations

import heapq
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import av
import av.logging
import cv2
import numpy as np
from av.container import InputContainer
from av.sidedata.sidedata import Type as SideDataType
from av.video.reformatter import Interpolation, VideoReformatter
from av.video.stream import VideoStream

from lookback.errors import MediaError, Reason
from lookback.media.reader import MAX_PIXELS, check_size
from lookback.workers import cores_each

# Containers only: with playlists (hls, concat) libavformat would open other files or addresses.
FORMATS = "mov,mp4,matroska,webm,avi,mpegts,mpeg,mpegvideo,h264,hevc,obu,ivf,flv,asf,ogg,nut,mxf,m4v,mjpeg,yuv4mpegpipe,dv"
MAX_THREADS = 4
# swscale's default shortcuts round differently on every instruction set, and for some layouts RGB differs from BGR. Bicubic to BGR
# is how OpenCV, and with it the released programs, convert on the same machine.
CONVERSION = Interpolation.BICUBIC
ALIKE_IN_RGB = ("yuv420p", "yuvj420p")  # with an even height: what nearly all videos are, without the exchange of red and blue
EXACT = Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.BITEXACT
# Tags that are not UTF-8 must not make a video unreadable. From version 19 PyAV accepts them by default.
LENIENT: dict[str, Any] = {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}


def quiet_ffmpeg() -> None:
    """Keep FFmpeg's log out of Python: its decoder threads would wait for the interpreter, which waits for them.

    Importing torchvision turns that log on, so this is called again before every file.
    """
    av.logging.set_level(None)


VideoPacket: TypeAlias = "av.Packet[VideoStream]"  # generic for type checkers only


class Damage(Exception):
    """The next frame cannot be decoded. The reader turns this into a MediaError."""


class Truncation(Damage):
    """The file ends or is damaged here. The whole packets before can still be decoded."""


@dataclass(frozen=True)
class Orientation:
    """The display matrix as array operations: transpose, then flip rows and columns."""

    transpose: bool = False
    flip_rows: bool = False
    flip_columns: bool = False

    @property
    def rotation(self) -> int:
        """The rotation in clockwise degrees, without mirroring."""
        if self.transpose:
            return 90 if self.flip_columns else 270
        return 180 if self.flip_rows and self.flip_columns else 0

    def apply(self, image: np.ndarray) -> np.ndarray:
        if self.transpose:
            image = image.transpose(1, 0, 2)
        image = image[:: -1 if self.flip_rows else 1, :: -1 if self.flip_columns else 1]
        return np.ascontiguousarray(image)


def orientation_of(frame: av.VideoFrame) -> Orientation:
    """Read the 3x3 display matrix [a b u; c d v; x y w]: x' = a x + c y, y' = b x + d y, to the nearest quarter turn."""
    side_data = cast(Any, frame.side_data)  # its stub lists the keys of two types only
    if SideDataType.DISPLAYMATRIX not in side_data:
        return Orientation()
    a, b, _, c, d = struct.unpack_from("<5i", bytes(side_data[SideDataType.DISPLAYMATRIX]))
    if abs(b) + abs(c) > abs(a) + abs(d):
        return Orientation(transpose=True, flip_rows=b < 0, flip_columns=c < 0)
    return Orientation(flip_rows=d < 0, flip_columns=a < 0)


@contextmanager
def open_stream(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open the file's main video stream for decoding, with a limited number of threads and access to this file only."""
    options = {"protocol_whitelist": "file", "format_whitelist": FORMATS, "max_pixels": str(MAX_PIXELS)}
    try:
        quiet_ffmpeg()
        container = av.open(os.fspath(path.absolute()), options=options, **LENIENT)
    except (av.FFmpegError, ValueError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"{path}: cannot be opened as a video ({reason}); it is truncated, damaged, or not a video"
        raise MediaError(message) from None
    with container:
        streams = [s for s in container.streams.video if not s.disposition & av.stream.Disposition.attached_pic]
        if not streams:
            raise MediaError(
                f"{path}: holds no video stream, or its header is cut off; give a video file, a frame folder or an animation"
            )
        stream = streams[0]
        if stream.codec_context is None:
            raise MediaError(f"{path}: no decoder for its video codec; encode it as H.264", Reason.DECODE_FAILED)
        check_size(path, stream.codec_context.width, stream.codec_context.height)
        stream.thread_type = "AUTO"
        stream.codec_context.thread_count = min(MAX_THREADS, cores_each())
        stream.codec_context.options = {"max_pixels": str(MAX_PIXELS)}
        yield container, stream


def whole_packets(container: InputContainer, stream: VideoStream) -> Iterator[VideoPacket]:
    """The packets of the stream in decoding order; Truncation where the file ends inside a packet."""
    try:
        for packet in container.demux(stream):
            if packet.size == 0:  # the end of the stream, or a repeated frame in AVI; the decoder would take both for the end
                continue
            if packet.is_corrupt:
                raise Truncation("a packet is cut off or damaged")
            yield packet
    except av.FFmpegError as error:
        raise Truncation(error.strerror) from None


def decode_packets(stream: VideoStream, packets: Iterator[VideoPacket], one_to_one: bool) -> Iterator[av.VideoFrame]:
    """Decode in display order; Damage at the first frame that is damaged or lost.

    Where each packet holds one frame (`one_to_one`), the next frame must have the lowest time stamp that was not shown yet.
    Otherwise the decoder has dropped a frame without an error.
    """
    waiting: list[int] = []
    for frame in _decoded(stream, packets, waiting, one_to_one):
        if frame.is_corrupt:
            raise Damage("a frame is damaged")
        if one_to_one and frame.pts != heapq.heappop(waiting):
            raise Damage("a frame is missing")
        yield frame


def _decoded(stream: VideoStream, packets: Iterator[VideoPacket], waiting: list[int], one_to_one: bool) -> Iterator[av.VideoFrame]:
    """Frames in the order of the decoder. `waiting` collects the time stamps of the packets that were sent to it."""
    decode = stream.codec_context.decode
    truncation: Truncation | None = None
    try:
        for packet in packets:
            if one_to_one and packet.pts is not None and not packet.is_discard:
                heapq.heappush(waiting, packet.pts)
            yield from decode(packet)
    except Truncation as error:
        truncation = error
    except av.FFmpegError as error:
        raise Damage(error.strerror) from None
    try:
        yield from decode(None)
    except av.FFmpegError as error:
        raise Damage(error.strerror) from None
    if truncation is not None:
        raise truncation


class RgbConverter:
    """Turns decoded frames of one stream into upright uint8 RGB arrays."""

    def __init__(self, path: Path, orientation: Orientation, width: int, height: int):
        self._path, self._orientation, self._shape = path, orientation, (height, width, 3)
        self._reformatter = VideoReformatter()

    def __call__(self, frame: av.VideoFrame) -> np.ndarray:
        # swscale's fast path leaves the last column of an odd width unwritten.
        interpolation = CONVERSION | Interpolation.ACCURATE_RND if frame.width % 2 else CONVERSION
        order = "rgb24" if frame.format.name in ALIKE_IN_RGB and frame.height % 2 == 0 else "bgr24"
        pixels = self._reformatter.reformat(frame, format=order, interpolation=interpolation, threads=1).to_ndarray()
        image = self._orientation.apply(pixels if order == "rgb24" else cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB))
        if image.shape != self._shape:
            message = (
                f"{self._path}: the frame size changes from {self._shape[1]}x{self._shape[0]} within the clip; encode it again"
            )
            raise MediaError(message, Reason.SIZE_MISMATCH)
        return image
