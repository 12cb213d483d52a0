"""Memory and seek time over a 15-minute clip: streams it once, then reads random frames.

Run `python bench/media_memory.py [minutes] [folder]`; the clip is made in the folder (default: a temporary one).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lookback.media import encode, open_video, probe

FPS = 24
HEIGHT, WIDTH = 96, 160
SEEKS = 20


@dataclass(frozen=True)
class MediaCost:
    """Resident memory (MiB) grown from the 100th frame to the last, and times in seconds."""

    n_frames: int
    peak_growth_mib: float
    stream_s: float
    probe_s: float
    first_seek_s: float
    median_seek_s: float


def measure(minutes: float, folder: Path, seed: int = 0) -> MediaCost:
    """Make the clip, stream it, seek in it."""
    clip = encode(folder / "long.mp4", drifting_frames(int(minutes * 60 * FPS), seed), FPS)
    start = time.perf_counter()
    n_frames = probe(clip).n_frames
    probe_s = time.perf_counter() - start
    with open_video(clip) as reader:
        start = time.perf_counter()
        settled = peak = 0.0
        for index, _ in reader:
            if index % 100 == 0:
                peak = max(peak, resident_mib())
            if index == 100:
                settled = peak
        stream_s = time.perf_counter() - start
        peak = max(peak, resident_mib())
        times = []
        for index in np.random.default_rng(seed).permutation(n_frames)[:SEEKS].tolist():
            start = time.perf_counter()
            reader.read([index])
            times.append(time.perf_counter() - start)
    return MediaCost(n_frames, peak - settled, stream_s, probe_s, times[0], float(np.median(times[1:])))


def drifting_frames(n_frames: int, seed: int) -> Iterator[np.ndarray]:
    """A window that drifts over a random texture; no frame is held."""
    coarse = np.random.default_rng(seed).integers(0, 256, (HEIGHT // 8, WIDTH // 4, 3)).astype(np.uint8)
    texture = np.tile(np.kron(coarse, np.ones((8, 8, 1), np.uint8)), (1, 2, 1))
    for t in range(n_frames):
        left = t % (texture.shape[1] // 2)
        yield texture[:, left : left + WIDTH]


def resident_mib() -> float:
    """Resident set size of this process, from Linux' /proc."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
    with tempfile.TemporaryDirectory() as temporary:
        cost = measure(minutes, Path(sys.argv[2]) if len(sys.argv) > 2 else Path(temporary))
    print(f"clip: {minutes:g} minutes, {cost.n_frames} frames of {WIDTH}x{HEIGHT} at {FPS} fps")
    print(f"probe: {cost.probe_s * 1e3:.1f} ms")
    print(f"stream: {cost.stream_s:.1f} s ({cost.n_frames / cost.stream_s:.0f} fps)")
    print(f"resident memory grew by {cost.peak_growth_mib:.1f} MiB while streaming")
    print(
        f"random frame: first {cost.first_seek_s * 1e3:.1f} ms (reads the packet table), median {cost.median_seek_s * 1e3:.1f} ms"
    )


if __name__ == "__main__":
    main()
