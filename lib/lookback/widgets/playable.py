"""Videos for a browser: a file that browsers play is served as it is, anything else (and a held picture) is encoded once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path

import numpy as np

from lookback.media import VideoInfo, VideoReader, encode, open_video
from lookback.media.container import open_stream

DEFAULT_FPS = 24.0
PLAYED = {
    ("h264", ".mp4"),
    ("h264", ".mov"),
    ("vp8", ".webm"),
    ("vp9", ".webm"),
    ("av1", ".webm"),
    ("av1", ".mp4"),
    ("vp9", ".mp4"),
}


@dataclass(frozen=True)
class Playable:
    """A file that browsers play, with its length in seconds and its frame rate."""

    path: Path
    seconds: float
    fps: float


def browsers_play(path: Path, info: VideoInfo, even: bool = False) -> bool:
    """Whether browsers play the file as it is; with `even` also whether a time tells the number of its frame."""
    known = path.is_file() and (info.codec, path.suffix.lower()) in PLAYED and info.pix_fmt in ("yuv420p", "yuvj420p")
    return known and info.complete and not (even and (info.variable_frame_rate or _begins_late(path, info.fps or DEFAULT_FPS)))


def _begins_late(path: Path, fps: float) -> bool:
    """Whether the first frame's time is more than half a frame away from 0."""
    with open_stream(path) as (_, stream):
        return abs(float((stream.start_time or 0) * (stream.time_base or 0))) * fps > 0.5


def playable(path: Path, folder: Path, still: bool = False, even: bool = False) -> Playable:
    """The video as a file that browsers play; a copy is made in `folder` where it is needed. Raises `MediaError`.

    `still` holds the first picture. `even` asks for frames at even times, so that a time tells the number of its frame.
    """
    with open_video(path) as reader:
        info = reader.info
        fps = info.fps or DEFAULT_FPS
        seconds = info.n_frames / fps
        if browsers_play(path, info, even) and not still:
            return Playable(path, seconds, fps)
        state = path.stat()
        name = hashlib.sha256(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\0{still}".encode()).hexdigest()[:20]
        copy = folder / f"{name}.mp4"
        if not copy.is_file():
            encode(copy, _frames(reader, still), fps)
        return Playable(copy, seconds, fps)


def _frames(reader: VideoReader, still: bool) -> Iterator[np.ndarray]:
    """The frames that can be read, or the first one again and again, at an even size, which 4:2:0 needs."""
    shown = repeat(reader.read([0])[0]) if still else (frame for _, frame in reader)
    for frame in islice(shown, reader.info.n_frames):
        yield frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2]
