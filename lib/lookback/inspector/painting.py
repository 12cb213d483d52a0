"""The overlays by name: which artifacts each needs, whether a clip has them, and painting them onto a frame."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from lookback.artifacts import Artifact, Depth, FaceTracks, Masks, People, PoseTrack
from lookback.clips import Clip
from lookback.inspector import overlays
from lookback.inspector.epipolar import Point, draw_epipolar
from lookback.inspector.run import RunView

# in the order of painting: what replaces the picture first, what is drawn onto it after
LAYERS: dict[str, tuple[type[Artifact], ...]] = {
    "depth": (Depth,),
    "difference": (),
    "mask": (Masks, People),
    "track": (Masks,),
    "faces": (FaceTracks,),
    "epipolar": (PoseTrack,),
}


@dataclass(frozen=True)
class Clicked:
    """A point on a clip's frame, as shares of width and height."""

    slot: int
    frame: int
    x: float
    y: float

    def pixels(self, frame: np.ndarray) -> Point:
        return self.x * frame.shape[1], self.y * frame.shape[0]


def missing(run: RunView, clip: Clip) -> dict[str, str]:
    """Overlay -> why this clip has none."""
    rows = run.of_clip("artifacts", clip.key).set_index("role")
    why = {}
    for name, kinds in LAYERS.items():
        roles = [kind.role for kind in kinds]
        stored = [role for role in roles if role in rows.index and rows.loc[role, "stored"]]
        if roles and not stored:
            first = roles[0]
            known = first in rows.index
            why[name] = (
                ": ".join(part for part in rows.loc[first, ["reason", "detail"]] if part)
                if known
                else "not extracted for this clip"
            )
    return why


def paint(
    run: RunView,
    clip: Clip,
    frame: np.ndarray,
    index: int,
    names: Collection[str],
    reference: Callable[[], np.ndarray],
    clicked: Clicked | None,
) -> np.ndarray:
    """The frame with the named overlays; `reference` gives the frame it is compared with."""
    original = frame
    for name in (name for name in LAYERS if name in names):
        if name == "difference":
            frame = overlays.difference_picture(original, reference())
        for found in (run.artifact(clip, kind) for kind in LAYERS[name]):
            if isinstance(found, Depth):
                frame = overlays.depth_picture(original, found, index)
            elif isinstance(found, Masks) and name == "track":
                frame = overlays.draw_track(frame, found, index)
            elif isinstance(found, Masks):
                colour = overlays.PERSON_COLOUR if isinstance(found, People) else overlays.MASK_COLOUR
                frame = overlays.draw_mask(frame, found, index, colour)
            elif isinstance(found, FaceTracks):
                frame = overlays.draw_faces(frame, found, index)
            elif isinstance(found, PoseTrack) and clicked is not None:
                frame = draw_epipolar(frame, found, clicked.pixels(original), clicked.frame, index)
    return frame
