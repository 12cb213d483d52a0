"""The packet table of a stream: which frame each packet shows, where decoding may start, and what the file lacks.

Demuxing reads packet headers without decoding, so a table of a 15-minute clip takes a fraction of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream

from lookback.media.container import Truncation, open_stream, whole_packets

# An interval counts as irregular beyond this share of the median interval (and beyond one tick of the time base).
IRREGULAR_SHARE = 0.1


@dataclass(frozen=True)
class PacketTable:
    """Packets in decoding order. `display` holds the sorted time stamps of the frames shown: frame i has `display[i]`."""

    pts: np.ndarray
    dts: np.ndarray
    keyframe: np.ndarray
    display: np.ndarray
    n_packets: int
    timed: bool  # every packet has a pts and a dts, the dts increase and no two frames share a pts
    complete: bool

    def start_for(self, index: int) -> int:
        """Decoding position of the last keyframe shown at or before frame `index`.

        Frames shown from a keyframe on do not refer to anything decoded before it; frames of an open group of pictures that are
        shown before their keyframe do, and get the keyframe before.
        """
        usable = np.flatnonzero(self.keyframe & (self.pts <= self.display[index]))
        return int(usable[-1]) if len(usable) else 0

    def position(self, dts: int | None) -> int:
        """Decoding position of the packet with this dts, or -1."""
        if dts is None:
            return -1
        found = int(np.searchsorted(self.dts, dts))
        return found if found < len(self.dts) and self.dts[found] == dts else -1


def read_table(path: Path) -> PacketTable:
    """Demux the whole stream once."""
    rows: list[tuple[int | None, int | None, bool, bool]] = []
    complete = True
    with open_stream(path) as (container, stream):
        try:
            for packet in whole_packets(container, stream):
                rows.append((packet.pts, packet.dts, packet.is_keyframe, packet.is_discard))
        except Truncation:
            complete = False
        complete = complete and not ends_early(container, stream, rows[-1][1] if rows else None, len(rows))
    if any(pts is None or dts is None for pts, dts, _, _ in rows):
        empty = np.empty(0, np.int64)
        return PacketTable(empty, empty, np.empty(0, bool), empty, sum(not r[3] for r in rows), False, complete)
    times = np.array([(pts, dts) for pts, dts, _, _ in rows], np.int64).reshape(-1, 2)
    shown = np.array([not discard for *_, discard in rows], bool)
    display = np.sort(times[shown, 0])
    if not complete and len(display):
        # A packet that is missing has a dts, and so a pts, after the last whole packet's: frames up to there have no gap.
        display = display[display <= times[-1, 1]]
    timed = bool((np.diff(times[:, 1]) > 0).all() and (np.diff(display) > 0).all())
    keyframe = np.array([key for _, _, key, _ in rows], bool)
    return PacketTable(times[:, 0], times[:, 1], keyframe, display, len(display), timed, complete)


def ends_early(container: InputContainer, stream: VideoStream, last_dts: int | None, n_packets: int) -> bool:
    """Whether the header declares more than was found: a frame count, or (Matroska) a duration two frames longer."""
    if stream.frames > n_packets and not container.format.name.startswith("mov"):
        return True
    rate = stream.average_rate
    if "matroska" in container.format.name and container.duration and last_dts is not None and rate:
        assert stream.time_base is not None
        missing = container.duration / 1e6 - float(last_dts * stream.time_base)
        delay = stream.codec_context.has_b_frames + 2
        return missing > delay / float(rate) + 0.5
    return False


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
