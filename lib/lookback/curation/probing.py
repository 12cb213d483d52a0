"""The facts of a video: frames, rate, size, cuts. They are found once per content and kept in the store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookback.code import code_version
from lookback.errors import MediaError, Reason
from lookback.media import VideoInfo, open_video, shot_cuts
from lookback.store import ArtifactStore, Producer


def producer() -> Producer:
    """The version is the decoder's code: when it changes, videos are probed again."""
    return Producer("probe", "media", code_version("lookback.media", "lookback.curation.probing"))


@dataclass(frozen=True)
class Cache:
    """The store of the facts, and the producer under which they are kept."""

    store: ArtifactStore
    producer: Producer


@dataclass(frozen=True)
class Facts:
    """A video's facts as the tables show them."""

    n_frames: int
    fps: float | None
    width: int
    height: int
    duration_s: float | None
    variable_frame_rate: bool
    cuts: tuple[int, ...]

    def info(self, path: Path) -> VideoInfo:
        """The facts as a VideoInfo, for functions that take one."""
        return VideoInfo(
            path, "video", self.n_frames, self.fps, self.width, self.height, self.duration_s, 0, "", "", self.variable_frame_rate
        )


def facts_of(path: Path, digest: str, cache: Cache | None) -> Facts:
    """Probe the video and look for cuts, or read both from the store. A truncated or unreadable video is a MediaError."""
    record = cache.store.record(cache.producer, digest) if cache is not None else None
    if record is None:
        record = _measure(path)
        if cache is not None:
            cache.store.save(cache.producer, digest, {}, record)
    return Facts(**{**record, "cuts": tuple(record["cuts"])})


def _measure(path: Path) -> dict[str, Any]:
    with open_video(path) as reader:
        info = reader.info
        if not info.complete:
            raise MediaError(f"{path}: breaks off after {info.n_frames} frames; copy or generate it again", Reason.DECODE_FAILED)
        cuts = [int(frame) for frame in shot_cuts(reader)]
    return {
        "n_frames": info.n_frames,
        "fps": info.fps,
        "width": info.width,
        "height": info.height,
        "duration_s": info.duration,
        "variable_frame_rate": info.variable_frame_rate,
        "cuts": cuts,
    }
