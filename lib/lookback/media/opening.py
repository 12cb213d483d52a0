"""The way in: one function that opens any clip, one that only describes it."""

from __future__ import annotations

from pathlib import Path

from lookback.errors import MediaError, Reason
from lookback.media.animation import AnimationReader, is_animation
from lookback.media.frames import FrameFolderReader
from lookback.media.reader import VideoInfo, VideoReader, existing, unreadable_in_words
from lookback.media.video import VideoFileReader, probe_video


def open_video(path: str | Path, fps: float | None = None) -> VideoReader:
    """Open a video file, a folder of PNG/JPEG frames, or an animated GIF/WebP/PNG.

    `fps` is the rate of a frame folder, which carries none; files keep their own.
    """
    path = existing(path)
    with unreadable_in_words(path):
        if path.is_dir():
            return FrameFolderReader(path, fps)
        if is_animation(path):
            return AnimationReader(path)
        _refuse_still(path)
        return VideoFileReader(path)


def probe(path: str | Path, fps: float | None = None) -> VideoInfo:
    """A clip's facts; decodes no more than the first frame of a well-formed video."""
    path = existing(path)
    with unreadable_in_words(path):
        if path.is_dir() or is_animation(path):
            with open_video(path, fps) as reader:
                return reader.info
        _refuse_still(path)
        return probe_video(path).info


def _refuse_still(path: Path) -> None:
    if path.suffix.lower() in (".jpg", ".jpeg"):
        raise MediaError(f"{path}: is a still image; give a video, an animation or a folder of frames", Reason.INVALID_INPUT)
