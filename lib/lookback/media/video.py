"""Video files: their facts without decoding the clip, streaming, and exact random access."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
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
    VideoPacket,
    decode_packets,
    open_stream,
    orientation_of,
    whole_packets,
)
from lookback.media.packets import PacketTable, indexed_frames, irregular, read_table
from lookback.media.reader import VideoInfo, VideoReader, check_size

MAX_FPS = 1000.0
# A declared rate that differs more from the time stamps is an estimate from the first packets (transport streams).
RATE_TOLERANCE = 0.02


@dataclass(frozen=True)
class Probe:
    """The result of a probe. `one_to_one`: each packet holds one frame with its own time stamp, so frames can be identified."""

    info: VideoInfo
    orientation: Orientation
    one_to_one: bool
    table: PacketTable | None


def probe_video(path: Path) -> Probe:
    """Frame count, rate and displayed size of a video file.

    The count comes from the sample index of an MP4 where that is complete, else from the packets. Where packets and frames do not
    correspond, all frames are decoded to count them; otherwise only the first.
    """
    with open_stream(path) as (container, stream):
        frame, leading_lost = _first_frame(path, container, stream)
        orientation = orientation_of(frame)
        codec, pix_fmt = stream.codec_context.codec.canonical_name, frame.format.name
        width, height = (frame.height, frame.width) if orientation.transpose else (frame.width, frame.height)
        check_size(path, width, height)
        uneven = leading_lost or _uneven(container, codec)
        times = None if uneven else indexed_frames(container, stream, path.stat().st_size)
        rate, time_base = stream.average_rate or stream.guessed_rate, stream.time_base
    table: PacketTable | None = None
    one_to_one, complete = times is not None, True
    if times is not None and not irregular(times):
        n_frames = len(times)
    else:
        table = read_table(path)
        complete, times = table.complete, table.display
        one_to_one = table.timed and not uneven
        n_frames = table.n_frames
        if uneven or not (table.timed or complete):
            n_frames, undamaged = _count_by_decoding(path)
            complete = complete and undamaged
    fps = float(rate) if rate else 0.0
    variable = irregular(times)
    span = float((times[-1] - times[0]) * time_base) if len(times) > 1 and time_base else 0.0
    measured = (len(times) - 1) / span if span > 0 else fps
    if variable or abs(fps - measured) > RATE_TOLERANCE * measured:
        fps = measured
    if n_frames < 1 or not 0 < fps <= MAX_FPS:
        raise MediaError(f"{path}: no readable frame or no frame rate ({n_frames} frames, {fps:g} fps); encode it again")
    info = VideoInfo(
        path, "video", n_frames, fps, width, height, n_frames / fps, orientation.rotation, codec, pix_fmt, variable, complete
    )
    return Probe(info, orientation, one_to_one, table)


def _uneven(container: InputContainer, codec: str) -> bool:
    """Whether a packet may hold no frame (alternate references in VP8) or two (packed B-frames of DivX in AVI)."""
    return codec == "vp8" or (container.format.name == "avi" and "mpeg4" in codec)


def _first_frame(path: Path, container: InputContainer, stream: VideoStream) -> tuple[av.VideoFrame, bool]:
    """The first frame, and whether a packet shown before it was lost (a stream cut within an open group of pictures)."""
    sent: list[int] = []

    def noted() -> Iterator[VideoPacket]:
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
    """How many frames can be decoded, and whether the whole stream can."""
    count = 0
    with open_stream(path) as (container, stream):
        try:
            for _ in decode_packets(stream, whole_packets(container, stream), one_to_one=False):
                count += 1
        except Damage:
            return count, False
    return count, True


class VideoFileReader(VideoReader):
    """A video file. `read` decodes from the nearest keyframe before the wanted frame, or continues from its last position."""

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
        """Exactly `n_frames` frames; a MediaError where one cannot be decoded."""
        index = 0
        packets = whole_packets(container, stream)
        if not self.info.complete and self._table is not None and self._table.timed:
            packets = islice(packets, len(self._table.pts))  # the packets after these are cut off and would disturb the decoder
        try:
            for frame in decode_packets(stream, packets, self._probe.one_to_one):
                if index == self.info.n_frames:
                    if self.info.complete:
                        raise Damage("it has more frames than its packets declare")
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
        table = self._seek_table() if index else None
        start = table.start_for(index) if table else 0
        ahead = self._frames is not None and index >= self._next
        if not ahead or (table and table.pts[start] > table.display[self._next]):
            self._restart(start, index)
        frame = self._advance_to(index)
        if frame is None and table:
            # Decoding cannot start at the keyframes (intra refresh, lost references), or the stream is damaged, which raises.
            self._restart(0, 0)
            frame = self._advance_to(index)
            self._may_seek = False
        if frame is None:
            raise self._broken(index, "the frame is missing")
        return frame

    def _advance_to(self, index: int) -> av.VideoFrame | None:
        """Decode up to frame `index`; None where the stream ends or skips it."""
        frames, self._frames = self._frames, None
        for position, frame in frames or ():
            if position >= index:
                self._frames, self._next = frames, position + 1
                return frame if position == index else None
        return None

    def _seek_table(self) -> PacketTable | None:
        if self._may_seek and self._table is None:
            self._table = read_table(self.info.path)
            self._may_seek = self._table.timed and self._table.n_frames == self.info.n_frames
        return self._table if self._may_seek else None

    def _restart(self, start: int, index: int) -> None:
        """Open the file again and go to the packet at decoding position `start`, to reach frame `index`."""
        self.close()
        container, stream = self._open.enter_context(open_stream(self.info.path))
        if start and self._table is not None:
            self._frames = self._from_keyframe(container, stream, self._table, start, index)
            self._next = int(np.searchsorted(self._table.display, self._table.pts[start]))
        else:
            self._frames, self._next = self._from_start(container, stream), 0

    @staticmethod
    def _from_keyframe(
        container: InputContainer, stream: VideoStream, table: PacketTable, start: int, wanted: int
    ) -> Iterator[tuple[int, av.VideoFrame]]:
        """(index, frame) from the packet at `start`. It ends where a frame is damaged or the keyframe is not intra coded.

        Before frame `wanted`, only frames that other frames depend on are decoded.
        """
        first = int(np.searchsorted(table.display, table.pts[start]))
        packets = _skipping_until(_packets_from(container, stream, table, start), stream, int(table.display[wanted]))
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


def _skipping_until(packets: Iterator[VideoPacket], stream: VideoStream, until: int) -> Iterator[VideoPacket]:
    """The packets. Before the time `until`, the decoder skips frames that no other frame depends on."""
    stream.codec_context.skip_frame = "NONREF"
    for packet in packets:
        if packet.pts is not None and packet.pts >= until:
            stream.codec_context.skip_frame = "DEFAULT"
        yield packet


def _packets_from(container: InputContainer, stream: VideoStream, table: PacketTable, start: int) -> Iterator[VideoPacket]:
    """Packets from decoding position `start`. A seek that ends after it is repeated from earlier keyframes."""
    for keyframe in np.flatnonzero(table.keyframe[: start + 1])[::-1].tolist():
        container.seek(int(table.seek_time[keyframe]), stream=stream)
        packets = whole_packets(container, stream)
        for packet in packets:
            position = table.position(packet.pts)
            if position > start or position < 0:
                break
            if position == start:
                yield packet
                yield from packets
                return
    raise Damage("the container cannot be searched")
