"""Open any kind of clip, describe it, or hash its content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lookback.errors import MediaError, Reason
from lookback.media.animation import AnimationReader, is_animation
from lookback.media.frames import FrameFolderReader
from lookback.media.reader import VideoInfo, VideoReader, existing, os_errors_as_media_errors
from lookback.media.video import VideoFileReader, probe_video

CHUNK = 1 << 20


def open_video(path: str | Path, fps: float | None = None) -> VideoReader:
    """Open a video file, a folder of PNG/JPEG frames, or an animated GIF/WebP/PNG.

    `fps` is the rate of a frame folder, which has none of its own. Files keep theirs.
    """
    path = existing(path)
    with os_errors_as_media_errors(path):
        if path.is_dir():
            return FrameFolderReader(path, fps)
        if is_animation(path):
            return AnimationReader(path)
        _refuse_still(path)
        return VideoFileReader(path)


def probe(path: str | Path) -> VideoInfo:
    """The facts of a clip. Of a well-formed video, only the first frame is decoded."""
    path = existing(path)
    with os_errors_as_media_errors(path):
        if path.is_dir() or is_animation(path):
            with open_video(path) as reader:
                return reader.info
        _refuse_still(path)
        return probe_video(path).info


def _refuse_still(path: Path) -> None:
    if path.suffix.lower() in (".jpg", ".jpeg"):
        raise MediaError(f"{path}: is a still image; give a video, an animation or a folder of frames", Reason.INVALID_INPUT)


def content_hash(path: str | Path) -> str:
    """SHA-256 of the bytes of a file; of a folder, SHA-256 of the relative names (sorted), sizes and bytes of its files.

    It is part of every cache key.
    """
    path = Path(path)
    with os_errors_as_media_errors(path):
        return _hash(path)


def _hash(path: Path) -> str:
    if not path.exists():
        raise MediaError(f"{path}: no such file or folder; check the path in the dataset", Reason.MISSING_INPUT)
    digest = hashlib.sha256()
    if path.is_file():
        _update(digest, path)
        return digest.hexdigest()
    files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    for name in sorted(files):
        digest.update(f"{name}\0{files[name].stat().st_size}\0".encode())
        _update(digest, files[name])
    return digest.hexdigest()


def _update(digest: hashlib._Hash, file: Path) -> None:
    with file.open("rb") as handle:
        while chunk := handle.read(CHUNK):
            digest.update(chunk)
