"""The packet table of a stream: the frame of each packet, where decoding can start, and whether the file is complete.

Demuxing reads packet headers without decoding, so the table of a 15-minute clip takes a fraction of a second.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream

from lookback.media.container import Truncation, open_stream, whole_packets

# An interval is irregular when it differs from the median by more than this share (and by more than one tick of the time base).
IRREGULAR_SHARE = 0.1
# Containers that declare no length: a cut file shows only as a gap among the last frames.
OPEN_ENDED = ("mpegts", "mpeg")
# In H.264 and H.265 a frame is shown at most this many frames after it was decoded.
MAX_REORDER = 16
MATROSKA_SEGMENT = b"\x18\x53\x80\x67"


@dataclass(frozen=True)
class PacketTable:
    """The result of demuxing. `display` holds the sorted time stamps of the shown frames: frame i has `display[i]`.

    `timed`: every packet has its own pts, so that frames can be identified. Otherwise the arrays are empty.
    """

    n_frames: int
    complete: bool
    timed: bool
    pts: np.ndarray  # in decoding order, as are the next two
    seek_time: np.ndarray
    keyframe: np.ndarray
    display: np.ndarray

    def start_for(self, index: int) -> int:
        """Decoding position of the last keyframe shown at or before frame `index`.

        Frames that are shown after a keyframe do not depend on anything decoded before it. Frames of an open group of pictures that
        are shown before their keyframe do, and start at the keyframe before.
        """
        usable = np.flatnonzero(self.keyframe & (self.pts <= self.display[index]))
        return int(usable[-1]) if len(usable) else 0

    def position(self, pts: int | None) -> int:
        """Decoding position of the packet with this pts, or -1."""
        found = np.flatnonzero(self.pts == pts)
        return int(found[0]) if len(found) else -1


def read_table(path: Path) -> PacketTable:
    """Demux the whole stream once."""
    packets: list[tuple[int | None, int | None, bool, bool]] = []
    with open_stream(path) as (container, stream):
        complete = not ends_early(path, container.format.name)
        try:
            for packet in whole_packets(container, stream):
                packets.append((packet.pts, packet.dts, packet.is_keyframe, packet.is_discard))
        except Truncation:
            complete = False
        container_format, n_indexed = container.format.name, len(stream.index_entries)
        if complete and packets and _stops_before_declared_duration(stream, packets[-1][0]):
            complete = False
    if container_format.startswith("mov"):
        complete = complete and n_indexed <= len(packets)
    elif container_format in OPEN_ENDED and (not complete or _gap_at_end(packets)):
        complete = False
        packets = packets[:-1]  # it is unknown whether the last one is whole
    keyframe = np.array([key for _, _, key, _ in packets], bool)
    all_pts = [pts for pts, *_ in packets if pts is not None]
    shown = [pts for pts, _, _, discard in packets if not discard]
    last_dts = packets[-1][1] if packets else None
    # AVI stores no pts. The values that libavformat computes are right only where nothing is reordered.
    timed = len(set(all_pts)) == len(packets) and (container_format != "avi" or bool(keyframe.all()))
    if not timed or last_dts is None:
        empty = np.empty(0, np.int64)
        return PacketTable(len(shown), complete, False, empty, empty, np.empty(0, bool), empty)
    display = np.sort(np.array(shown, np.int64))
    if not complete:
        # A missing packet has a later dts, and so a later pts, than the last whole packet: the frames up to there have no gap.
        display = display[display <= last_dts]
    seek_time = np.array([pts if dts is None else dts for pts, dts, _, _ in packets], np.int64)
    return PacketTable(len(display), complete, True, np.array(all_pts, np.int64), seek_time, keyframe, display)


def ends_early(path: Path, container_format: str) -> bool:
    """Whether the file is shorter than its header declares (for MP4 the index is used instead)."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(4096)
    if container_format == "avi":
        return 8 + int.from_bytes(head[4:8], "little") > size
    if container_format == "mpegts":
        return head[188:189] == b"\x47" and size % 188 != 0
    segment = head.find(MATROSKA_SEGMENT)
    if "matroska" not in container_format or segment < 0 or head[segment + 4] == 0:
        return False
    start = segment + 4
    octets = 9 - head[start].bit_length()
    length = int.from_bytes(head[start : start + octets], "big") & ((1 << 7 * octets) - 1)
    unknown = (1 << 7 * octets) - 1
    return length != unknown and start + octets + length > size


def _stops_before_declared_duration(stream: VideoStream, last_pts: int | None) -> bool:
    """Whether the stream ends before its DURATION tag (Matroska), such as "00:00:02.500000000".

    FFmpeg writes the time at which the last frame ends, which is later than the length of a stream that does not begin at 0.
    """
    match = re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", stream.metadata.get("DURATION", ""))
    if match is None or last_pts is None or stream.time_base is None or not stream.average_rate:
        return False
    declared = 3600 * int(match[1]) + 60 * int(match[2]) + float(match[3])
    reached = float(last_pts * stream.time_base)
    # The last packet decoded may be shown a few frames before the last frame.
    return declared - reached > (MAX_REORDER + 2) / float(stream.average_rate)


def _gap_at_end(packets: list[tuple[int | None, int | None, bool, bool]]) -> bool:
    """Whether frames are missing among the last ones, in a stream that is otherwise regular.

    A missing frame is shown after the time at which the last packet is decoded: only a longer interval there is a gap.
    """
    times = np.sort(np.array([pts for pts, *_ in packets if pts is not None], np.int64))
    if not irregular(times) or (len(times) > MAX_REORDER + 1 and irregular(times[:-MAX_REORDER])):
        return False
    steps, last_dts = np.diff(times), packets[-1][1]
    late = np.full(len(steps), True) if last_dts is None else times[1:] > last_dts
    return bool(steps[late].max(initial=0) > (1 + IRREGULAR_SHARE) * steps[~late].max(initial=0))


def irregular(times: np.ndarray) -> bool:
    """Whether the intervals between sorted time stamps vary beyond the rounding of the time base."""
    steps = np.diff(times)
    if len(steps) < 2:
        return False
    median = float(np.median(steps))
    return bool(np.abs(steps - median).max() > max(1.0, IRREGULAR_SHARE * median))


def indexed_frames(container: InputContainer, stream: VideoStream, file_size: int) -> np.ndarray | None:
    """Decoding times of the frames from the index of an MP4; None where the index is missing, doubtful or points past the end.

    Only the header is read: a complete MP4 lists the place and size of every sample.
    """
    if not container.format.name.startswith("mov") or stream.frames == 0 or len(stream.index_entries) != stream.frames:
        return None
    entries = list(stream.index_entries)
    if any(entry.pos + entry.size > file_size for entry in entries) or not entries[0].is_keyframe:
        return None
    return np.array([entry.timestamp for entry in entries if not entry.is_discard], np.int64)
