"""Clips of the demo world with a known subject, at a small size, and the backend run over them as the driver would."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from lookback.artifacts import Masks
from lookback.backends.base import Backend
from lookback.camera.intent import parse
from lookback.clips import Anchor, Clip
from lookback.demo.clip import RenderedClip, render_clip
from lookback.demo.spec import ClipSpec
from lookback.media import VideoInfo

WIDTH, HEIGHT = 256, 152


class Filmed:
    """A rendered clip with its truth, and the row of the clips table that belongs to it."""

    def __init__(self, rendered: RenderedClip):
        self.frames = rendered.frames
        self.truth = rendered.parts == 1
        self.visible = rendered.visibility
        height, width = self.frames.shape[1:3]
        self.info = VideoInfo(
            Path("clip.mp4"), "video", len(self.frames), 16.0, width, height, len(self.frames) / 16, 0, "h264", "yuv420p", False
        )
        rows, columns = np.flatnonzero(self.truth[0].any(1)), np.flatnonzero(self.truth[0].any(0))
        self.box = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float64)
        x0, y0, x1, y1 = self.box
        anchor = Anchor(centre_x=(x0 + x1) / 2, centre_y=(y0 + y1) / 2, width=x1 - x0, height=y1 - y0)
        self.clip = Clip(benchmark="mbench", setting="A", model_id="m", clip_id="c", video="clip.mp4", object_anchor=anchor)

    def run(self, backend: Backend, batch: int = 8) -> Masks:
        job = backend.start(self.clip, self.info, {})
        for start in range(0, len(self.frames), batch):
            stop = min(start + batch, len(self.frames))
            job.push(np.arange(start, stop), self.frames[start:stop])
        return job.finish()

    def overlap(self, entry: Masks) -> np.ndarray:
        """Intersection over union with the truth, per frame."""
        found, (height, width) = entry.all(), entry.size
        small = [cv2.resize(mask.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA) for mask in self.truth]
        truth = np.stack(small) > 0.5
        return (found & truth).sum((1, 2)) / np.maximum(1, (found | truth).sum((1, 2)))


@lru_cache(maxsize=2)
def film(scene: str, camera: str, event: str = "none", failure: str = "none", severity: float = 0.0) -> Filmed:
    return Filmed(render_clip(ClipSpec(scene, parse(camera), event, failure, severity, WIDTH, HEIGHT)))
