"""Writing a dataset in a benchmark's layout: what a writer gets, and how files are written.

The demo world uses it; any other source of videos with known cameras can use it too.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.camera.intent import CameraIntent
from lookback.media import encode

JPEG_QUALITY = 95
Box = tuple[float, float, float, float]  # centre x, centre y, width, height in pixels


@dataclass(frozen=True)
class Texts:
    """The texts of a task."""

    subject: str
    attributes: tuple[str, ...]
    caption: str
    prompt: str
    caption_segments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """What every model was asked to do: one task of a benchmark."""

    setting: str
    clip_id: str
    subset: str
    sample_id: str
    condition_id: str
    scene: str
    event: str  # none, spatial, state, full
    camera: CameraIntent
    texts: Texts
    fps: float
    mark_time: int = 0  # the generated video begins here
    further: Mapping[str, Any] = field(default_factory=dict)  # values that only one layout has a field for


@dataclass(frozen=True, eq=False)
class Film:
    """A video with everything that is known about it."""

    frames: NDArray[np.uint8]  # (N,H,W,3)
    c2w: NDArray[np.float64]  # (N,4,4) the real camera path
    target_c2w: NDArray[np.float64]  # (N,4,4) the requested camera path
    intrinsics: NDArray[np.float64]  # (3,3)
    depth: NDArray[np.float32]  # (N,H,W)
    subject_box: Box | None  # in the first frame
    d_start: int | None = None  # first frame without the subject
    r_start: int | None = None  # first frame with it again
    actor: Sequence[tuple[NDArray[np.float64], float]] | None = None  # per frame: foot and heading of a third person's figure


@dataclass(frozen=True)
class Delivery:
    """One model's video for a request."""

    request: Request
    model_id: str
    condition_type: str = ""
    spelling: int = 0  # which of the file names that the layout allows


class Writer(Protocol):
    """Writes one layout. `folders` are the dataset folders it may write, `write_truth` what all models share."""

    folders: tuple[str, ...]

    def folder(self, request: Request) -> str: ...

    def write_truth(self, root: Path, request: Request, truth: Film) -> None: ...

    def write_clip(self, root: Path, delivery: Delivery, film: Film) -> None: ...

    def finish(self, root: Path, deliveries: Sequence[Delivery], truths: Mapping[str, tuple[int, int | None, int | None]]) -> None:
        """The documents over all clips; `truths` has each clip's number of frames, d_start and r_start."""
        ...


def write_video(path: Path, frames: NDArray[np.uint8], fps: float) -> None:
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
    path.write_bytes(content.tobytes())  # cv2.imwrite does not report a full disk


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_jsonl(path: Path, rows: Iterable[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_csv(path: Path, rows: Iterable[Sequence[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def write_array(path: Path, array: NDArray[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)
