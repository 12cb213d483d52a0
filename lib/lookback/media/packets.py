"""The packet table of a stream: which frame each packet shows, where decoding may start, and what the file lacks.

Demuxing reads packet headers without decoding, so a table of a 15-minute clip takes a fraction of a second.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream

from lookback.media.container import Truncation, open_stream, whole_packets

# An interval counts as irregular beyond this share of the median interval (and beyond one tick of the time base).
IRREGULAR_SHARE = 0.1


# Containers that declare no length: a cut shows only as a gap among the last frames.
OPEN_ENDED = ("mpegts", "mpeg")
# H.264 and H.265 let a frame be shown at most this many frames after it was decoded.
MAX_REORDER = 16
MATROSKA_SEGMENT = b"\x18\x53\x80\x67"


@dataclass(frozen=True)
class PacketTable:
    """What demuxing tells. `display` holds the sorted time stamps of the frames shown: frame i has `display[i]`.

    `timed` says that every packet has a pts of its own, so that frames can be told apart; the arrays are empty otherwise.
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

        Frames shown from a keyframe on do not refer to anything decoded before it; frames of an open group of pictures that are
        shown before their keyframe do, and get the keyframe before.
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
        packets = packets[:-1]  # nothing tells whether the last one is whole
    keyframe = np.array([key for _, _, key, _ in packets], bool)
    all_pts = [pts for pts, *_ in packets if pts is not None]
    shown = [pts for pts, _, _, discard in packets if not discard]
    last_dts = packets[-1][1] if packets else None
    # AVI stores no pts: what libavformat makes up is right only where nothing is reordered.
    timed = len(set(all_pts)) == len(packets) and (container_format != "avi" or bool(keyframe.all()))
    if not timed or last_dts is None:
        empty = np.empty(0, np.int64)
        return PacketTable(len(shown), complete, False, empty, empty, np.empty(0, bool), empty)
    display = np.sort(np.array(shown, np.int64))
    if not complete:
        # A packet that is missing has a dts, and so a pts, after the last whole packet's: frames up to there have no gap.
        display = display[display <= last_dts]
    seek_time = np.array([pts if dts is None else dts for pts, dts, _, _ in packets], np.int64)
    return PacketTable(len(display), complete, True, np.array(all_pts, np.int64), seek_time, keyframe, display)


def ends_early(path: Path, container_format: str) -> bool:
    """Whether the file is shorter than its own structure says (MP4 is judged by its index instead)."""
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
    """By the DURATION tag that Matroska writers leave for each stream: "00:00:02.500000000"."""
    match = re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", stream.metadata.get("DURATION", ""))
    if match is None or last_pts is None or stream.time_base is None or not stream.average_rate:
        return False
    declared = 3600 * int(match[1]) + 60 * int(match[2]) + float(match[3])
    reached = float((last_pts - (stream.start_time or 0)) * stream.time_base)
    # The last packet decoded may be shown a few frames before the last frame.
    return declared - reached > (MAX_REORDER + 2) / float(stream.average_rate)


def _gap_at_end(packets: list[tuple[int | None, int | None, bool, bool]]) -> bool:
    """Whether frames are missing among the last shown ones of a stream that is regular otherwise."""
    times = np.sort(np.array([pts for pts, *_ in packets if pts is not None], np.int64))
    steps = np.diff(times)
    if len(steps) <= MAX_REORDER:
        return irregular(times)
    return irregular(times) and not irregular(times[:-MAX_REORDER])


def irregular(times: np.ndarray) -> bool:
    """Whether the intervals between sorted time stamps vary beyond the rounding of the time base."""
    steps = np.diff(times)
    if len(steps) < 2:
        return False
    median = float(np.median(steps))
    return bool(np.abs(steps - median).max() > max(1.0, IRREGULAR_SHARE * median))


def indexed_frames(container: InputContainer, stream: VideoStream, file_size: int) -> np.ndarray | None:
    """Decoding times of the frames by an MP4's own index, or None where the index is absent, doubtful or points past the end.

    Needs no reading beyond the header: a whole MP4 lists the place and size of every sample.
    """
    if not container.format.name.startswith("mov") or stream.frames == 0 or len(stream.index_entries) != stream.frames:
        return None
    entries = list(stream.index_entries)
    if any(entry.pos + entry.size > file_size for entry in entries) or not entries[0].is_keyframe:
        return None
    return np.array([entry.timestamp for entry in entries if not entry.is_discard], np.int64)
