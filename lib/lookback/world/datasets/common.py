"""What the dataset writers share: where a file goes, how videos and small documents are written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.media import encode
from lookback.world.clip import RenderedClip
from lookback.world.plan import FPS, PlannedClip, Task
from lookback.world.truth import SUBJECT_PART

JPEG_QUALITY = 95


@dataclass(frozen=True, eq=False)
class Take:
    """A planned clip and its rendering."""

    planned: PlannedClip
    clip: RenderedClip

    @property
    def task(self) -> Task:
        return self.planned.task

    @property
    def model_id(self) -> str:
        return self.planned.model_id


def subject_box(clip: RenderedClip, frame: int = 0) -> tuple[float, float, float, float] | None:
    """Centre x, centre y, width, height of the subject in one frame, in pixels; None when it is not in view."""
    rows, columns = np.nonzero(clip.parts[frame] == SUBJECT_PART)
    if not len(rows):
        return None
    left, top = float(columns.min()), float(rows.min())
    width, height = float(columns.max()) - left + 1, float(rows.max()) - top + 1
    return left + width / 2, top + height / 2, width, height


def write_video(path: Path, frames: NDArray[np.uint8], fps: float = FPS) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    encode(path, frames, fps)


def write_image(path: Path, frame: NDArray[Any]) -> None:
    """RGB as PNG or JPEG; a single channel of uint16 as 16-bit PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = frame if frame.ndim == 2 else cv2.cvtColor(frame, cv2.COLOR_RGB2BGR)
    options = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY] if path.suffix == ".jpg" else [cv2.IMWRITE_PNG_COMPRESSION, 2]
    written, content = cv2.imencode(path.suffix, data, options)
    if not written:
        raise ValueError(f"{path}: a picture of shape {data.shape} cannot be written as {path.suffix}")
    path.write_bytes(content.tobytes())  # cv2.imwrite says nothing of a full disk


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_jsonl(path: Path, rows: Iterable[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_array(path: Path, array: NDArray[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)
