"""Clips made on the spot, so that every property under test is known by construction."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.stream import VideoStream


def moving_texture(n_frames: int, height: int = 96, width: int = 128, seed: int = 0) -> np.ndarray:
    """(N, H, W, 3): random blocks that drift, so that no two frames are alike."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (height // 8 + 3, (width + 2 * n_frames) // 8 + 3, 3)).astype(np.uint8)
    texture = np.kron(coarse, np.ones((8, 8, 1), np.uint8))
    return np.stack([texture[t % 8 : t % 8 + height, 2 * t : 2 * t + width] for t in range(n_frames)])


def write_video(
    path: Path,
    frames: np.ndarray,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    fps: int = 24,
    times: Sequence[int] | None = None,
    container_format: str | None = None,
    container_options: dict[str, str] | None = None,
    rotation: int | None = None,
    mirrored: bool = False,
    **options: Any,
) -> Path:
    """Encode with PyAV directly (not with the package's encoder); `times` are time stamps in 1/1000 s."""
    with av.open(str(path), "w", format=container_format, options=container_options or {}) as container:
        stream = container.add_stream(codec, rate=fps, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = frames.shape[2], frames.shape[1], pix_fmt
        time_base = Fraction(1, fps) if times is None else Fraction(1, 1000)
        stream.codec_context.time_base = time_base
        if rotation is not None:
            stream.set_display_rotation(-rotation, hflip=mirrored)
        for index, image in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(format=pix_fmt)
            frame.pts, frame.time_base = (index if times is None else times[index]), time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def decoded_plainly(path: Path) -> np.ndarray:
    """All frames by PyAV's own loop: the reference for exact reads."""
    with av.open(str(path)) as container:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])


@contextmanager
def plain_ffmpeg() -> Iterator[None]:
    """FFmpeg without any vector instructions, as on a processor that has none."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    loaded = {line.split(maxsplit=5)[-1] for line in lines if "libavutil" in line}
    if not loaded:
        pytest.skip("the library libavutil is not to be found in this process")
    libavutil = ctypes.CDLL(loaded.pop())
    libavutil.av_force_cpu_flags(0)
    try:
        yield
    finally:
        libavutil.av_force_cpu_flags(-1)  # detect again
