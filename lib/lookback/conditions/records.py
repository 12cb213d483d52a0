"""A record: one task of a benchmark before a model has done it. Every benchmark reads and delivers its own records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lookback.camera.intent import CameraIntent, Segment
from lookback.camera.poses import Poses
from lookback.camera.requests import read_request
from lookback.errors import ParameterError
from lookback.layouts.reading import Breach

if TYPE_CHECKING:
    from lookback.conditions.interface import Interface


@dataclass(frozen=True)
class Record:
    """One task. `prompt` does not mention the camera; `spoken` describes it in words as the benchmark does."""

    benchmark: str
    clip_id: str
    prompt: str
    spoken: str
    camera: CameraIntent | None  # over the frames of the video to make; None when the camera is left to the model
    setting: str = ""
    subset: str = ""
    sample_id: str = ""
    condition_id: str = ""
    scene: str = ""
    image: Path | None = None  # the first frame
    text_only: str = ""  # the prompt for models that get no first frame, where the benchmark has one; without the camera
    segments: tuple[str, ...] = ()  # consecutive captions, for models that continue a video
    path: Poses | None = None  # the camera path itself, where the benchmark gives one instead of a request
    says_how_far: bool = True  # False: the motions of `camera` have directions and no amounts, so no path follows from them
    facts: Mapping[str, Any] = field(default_factory=dict)  # what only this benchmark has


class RecordFiles(Protocol):
    """How one benchmark reads its records and where it wants the videos."""

    def holds(self, root: Path) -> bool:
        """Whether a folder looks like one of its records."""
        ...

    def read(self, root: Path, interface: Interface, cameras: Sequence[str]) -> Iterator[Record | Breach]:
        """The records in a folder. A record that cannot be used is a Breach. `cameras` replace the dataset's own requests."""
        ...

    def video(self, record: Record, model: str) -> str:
        """Where the video belongs, relative to the output folder."""
        ...

    def beside(self, out: Path, record: Record, interface: Interface) -> None:
        """Write what scoring reads beside the video: the requested and the delivered condition."""
        ...

    def finish(self, out: Path, source: Path, conditions: Sequence[Mapping[str, Any]]) -> None:
        """Write the documents over these videos of one model, so that the output folder is a dataset in the benchmark's layout.

        `conditions` are the lines of the list with `facts` and `interface`.
        """
        ...


def intent_of(camera: str, frames: int) -> CameraIntent:
    """A preset, a script in the camera grammar, or an action, over `frames` frames."""
    return spread(read_request(camera, frames), frames)


def spread(intent: CameraIntent, frames: int) -> CameraIntent:
    """The same motions over another number of frames; every segment keeps its share of the time, and a frame at least."""
    if intent.frames == frames:
        return intent
    parts = intent.segments
    if len(parts) > frames:
        raise ParameterError(f"The camera has {len(parts)} segments for {frames} frames; use fewer segments or more frames")
    given = [1] * len(parts)
    for _ in range(frames - len(parts)):  # to the segment that is furthest below its share, the last of equals
        lacks = [part.frames * frames - n * intent.frames for part, n in zip(parts, given, strict=True)]
        given[max(range(len(parts)), key=lambda index: (lacks[index], index))] += 1
    return CameraIntent(tuple(Segment(part.motions, n) for part, n in zip(parts, given, strict=True)), intent.name)
