"""Video files: what a probe learns without decoding the clip, streaming, and exact random access."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream

from lookback.errors import MediaError
from lookback.media.container import (
    Damage,
    Orientation,
    RgbConverter,
    decode_packets,
    open_stream,
    orientation_of,
    whole_packets,
)
from lookback.media.info import VideoInfo, check_size
from lookback.media.packets import PacketTable, indexed_frames, irregular, read_table
from lookback.media.reader import VideoReader

MAX_FPS = 1000.0


@dataclass(frozen=True)
class Probe:
    """A probe's findings. `one_to_one`: each packet shows one frame with a time stamp of its own, so frames can be told apart."""

    info: VideoInfo
    orientation: Orientation
    one_to_one: bool
    table: PacketTable | None


def probe_video(path: Path) -> Probe:
    """Frame count, rate and displayed size of a video file.

    The count comes from an MP4's own sample index where that is whole, else from the packets, else (packets and frames do not
    correspond) from decoding. Only the first frame is decoded otherwise.
    """
    with open_stream(path) as (container, stream):
        frame, leading_lost = _first_frame(path, container, stream)
        orientation = orientation_of(frame)
        codec, pix_fmt = stream.codec_context.name, frame.format.name
        width, height = (frame.height, frame.width) if orientation.transpose else (frame.width, frame.height)
        check_size(path, width, height)
        uneven = leading_lost or _uneven(container, codec)
        times = None if uneven else indexed_frames(container, stream, path.stat().st_size)
        rate, time_base = stream.average_rate or stream.guessed_rate, stream.time_base
    table: PacketTable | None = None
    one_to_one, complete = times is not None, True
    if times is not None:
        n_frames = len(times)
    else:
        table = read_table(path)
        complete, times = table.complete, table.display
        one_to_one = table.timed and not uneven
        n_frames = table.n_packets
        if uneven or not (table.timed or complete):
            n_frames, complete = _count_by_decoding(path)
    fps = float(rate) if rate else 0.0
    variable = irregular(times)
    span = float((times[-1] - times[0]) * time_base) if len(times) > 1 and time_base else 0.0
    if span > 0 and (variable or not 0 < fps <= MAX_FPS):
        fps = (len(times) - 1) / span
    if n_frames < 1 or not 0 < fps <= MAX_FPS:
        raise MediaError(f"{path}: no readable frame or no frame rate ({n_frames} frames, {fps:g} fps); encode it again")
    info = VideoInfo(
        path, "video", n_frames, fps, width, height, n_frames / fps, orientation.rotation, codec, pix_fmt, variable, complete
    )
    return Probe(info, orientation, one_to_one, table)


def _uneven(container: InputContainer, codec: str) -> bool:
    """Whether packets may show no frame (VP8's alternate references) or two (packed B-frames of DivX in AVI)."""
    return codec in ("vp8", "libvpx") or (container.format.name == "avi" and "mpeg4" in codec)


def _first_frame(path: Path, container: InputContainer, stream: VideoStream) -> tuple[av.VideoFrame, bool]:
    """The first frame, and whether a packet shown before it was lost (a stream cut within an open group of pictures)."""
    sent: list[int] = []

    def noted() -> Iterator[av.Packet]:
        for packet in whole_packets(container, stream):
            if packet.pts is not None and not packet.is_discard:
                sent.append(packet.pts)
            yield packet

    try:
        frame = next(decode_packets(stream, noted(), one_to_one=False), None)
    except Damage as damage:
        raise MediaError(f"{path}: the first frame cannot be decoded ({damage}); encode or copy it again") from None
    if frame is None:
        raise MediaError(f"{path}: holds no frame that can be decoded; encode or copy it again")
    return frame, frame.pts is not None and bool(sent) and min(sent) < frame.pts


def _count_by_decoding(path: Path) -> tuple[int, bool]:
    count = 0
    with open_stream(path) as (container, stream):
        try:
            for _ in decode_packets(stream, whole_packets(container, stream), one_to_one=False):
                count += 1
        except Damage:
            return count, False
    return count, True


class VideoFileReader(VideoReader):
    """A video file. `read` decodes from the nearest keyframe before the frame asked for, and goes on from where it stands."""

    def __init__(self, path: Path):
        self._probe = probe_video(path)
        super().__init__(self._probe.info)
        self._convert = RgbConverter(path, self._probe.orientation, self.info.width, self.info.height)
        self._open = ExitStack()
        self._frames: Iterator[tuple[int, av.VideoFrame]] | None = None
        self._next = 0
        self._table = self._probe.table
        self._may_seek = self._probe.one_to_one

    def close(self) -> None:
        self._frames = None
        self._open.close()

    def __iter__(self) -> Iterator[tuple[int, np.ndarray]]:
        with open_stream(self.info.path) as (container, stream):
            for index, frame in self._from_start(container, stream):
                yield index, self._convert(frame)
        if not self.info.complete:
            raise self._broken(self.info.n_frames, "the file ends early")

    def _from_start(self, container: InputContainer, stream: VideoStream) -> Iterator[tuple[int, av.VideoFrame]]:
        """Exactly `n_frames` frames, or a MediaError where one cannot be had."""
        index = 0
        try:
            for frame in decode_packets(stream, whole_packets(container, stream), self._probe.one_to_one):
                if index == self.info.n_frames:
                    if self.info.complete:
                        raise Damage("it holds more frames than its packets say")
                    return
                yield index, frame
                index += 1
        except Damage as damage:
            if index < self.info.n_frames or self.info.complete:
                raise self._broken(index, str(damage)) from None
        if index < self.info.n_frames:
            raise self._broken(index, "frames are missing")

    def _broken(self, after: int, why: str) -> MediaError:
        return MediaError(f"{self.info.path}: decoding broke after {after} frames ({why}); copy or generate the clip again")

    def _select(self, indices: np.ndarray) -> Iterator[np.ndarray]:
        for index in indices.tolist():
            yield self._convert(self._frame_at(index))

    def _frame_at(self, index: int) -> av.VideoFrame:
        if self._frames is None or index < self._next or self._closer_start(index):
            self._restart(index)
        assert self._frames is not None
        for position, frame in self._frames:
            self._next = position + 1
            if position == index:
                return frame
            if position > index:
                break
        if not self._may_seek:
            raise self._broken(self._next, f"frame {index} is missing")
        # The stream's keyframes are not points to start from (intra refresh, lost references): decode from the start instead.
        self._may_seek = False
        self._frames = None
        return self._frame_at(index)

    def _closer_start(self, index: int) -> bool:
        """Whether a keyframe between the present position and `index` saves decoding."""
        if not self._may_seek or index == self._next:
            return False
        return bool(self._packets().display[self._next] < self._packets().pts[self._packets().start_for(index)])

    def _packets(self) -> PacketTable:
        if self._table is None:
            self._table = read_table(self.info.path)
            self._may_seek = self._table.timed and self._table.n_packets == self.info.n_frames
        return self._table

    def _restart(self, index: int) -> None:
        """Open the file anew and stand before `index`: at its keyframe, or at the first frame."""
        self.close()
        container, stream = self._open.enter_context(open_stream(self.info.path))
        start = self._packets().start_for(index) if index and self._may_seek else 0
        if start and self._may_seek:
            self._frames, self._next = self._from_keyframe(container, stream, start), index
        else:
            self._frames, self._next = self._from_start(container, stream), 0

    def _from_keyframe(self, container: InputContainer, stream: VideoStream, start: int) -> Iterator[tuple[int, av.VideoFrame]]:
        """(index, frame) from the packet at `start` on; ends where a frame is damaged or the keyframe is not intra coded."""
        table = self._packets()
        first = int(np.searchsorted(table.display, table.pts[start]))
        packets = _packets_from(container, stream, table, start)
        try:
            for frame in decode_packets(stream, packets, one_to_one=False):
                assert frame.pts is not None
                position = int(np.searchsorted(table.display, frame.pts))
                if position == first and frame.pict_type != av.video.frame.PictureType.I:
                    return
                if position >= first:
                    yield position, frame
        except Damage:
            return


def _packets_from(container: InputContainer, stream: VideoStream, table: PacketTable, start: int) -> Iterator[av.Packet]:
    """Packets from decoding position `start` on; a seek that lands behind it is repeated from earlier keyframes."""
    for keyframe in np.flatnonzero(table.keyframe[: start + 1])[::-1].tolist():
        container.seek(int(table.dts[keyframe]), stream=stream)
        packets = whole_packets(container, stream)
        for packet in packets:
            position = table.position(packet.dts)
            if position > start or position < 0:
                break
            if position == start:
                yield packet
                yield from packets
                return
    raise Damage("the container cannot be searched")
