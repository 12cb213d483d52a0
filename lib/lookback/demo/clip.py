"""Render a clip from its spec, with its truth: frames, depth, poses, masks, visibility, object state."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.demo.failures import FAILURES, World, make_failure
from lookback.demo.filming import camera_for, expected_state, make_context, seeded_light
from lookback.demo.geometry import vector
from lookback.demo.raster import Picture
from lookback.demo.spec import FAITHFUL, ClipSpec
from lookback.errors import UsageError

VISIBLE = 0.05  # the subject counts as in view when at least this share of its outline is visible


@dataclass(frozen=True, eq=False)
class RenderedClip:
    """A rendered clip with everything that is known about it."""

    spec: ClipSpec
    frames: NDArray[np.uint8]  # (N,H,W,3)
    depth: NDArray[np.float32]  # (N,H,W) metres
    parts: NDArray[np.uint8]  # (N,H,W) which part of the scene; `part_names` by number
    part_names: tuple[str, ...]
    c2w: NDArray[np.float64]  # (N,4,4) the camera that filmed
    target_c2w: NDArray[np.float64]  # (N,4,4) the camera that was asked for
    intrinsics: NDArray[np.float64]  # (3,3)
    visibility: NDArray[np.float64]  # (N,) share of the subject's outline that is in view and not covered
    state: NDArray[np.float64]  # (N,) the subject's state as shown
    expected: NDArray[np.float64]  # (N,) the state it should have
    position: NDArray[np.float64]  # (N,3) the subject's foot as shown
    opacity: NDArray[np.float64]  # (N,)

    @property
    def d_start(self) -> int | None:
        """First frame without the subject, after it was seen."""
        return phases(self.visibility)[0]

    @property
    def r_start(self) -> int | None:
        """First frame with the subject again."""
        return phases(self.visibility)[1]

    @property
    def returns(self) -> bool:
        return self.r_start is not None


def phases(visibility: NDArray[np.float64]) -> tuple[int | None, int | None]:
    """(d_start, r_start): when the subject leaves and when it is back; None where that does not happen."""
    seen = visibility >= VISIBLE
    if not seen[0] or seen.all():
        return None, None
    left = int(np.argmin(seen))
    back = np.flatnonzero(seen[left:])
    return left, left + int(back[0]) if len(back) else None


def check_failure(spec: ClipSpec) -> None:
    """Raise UsageError for a failure that cannot be visible in this task."""
    needs = FAILURES[spec.failure].needs if spec.failure in FAILURES else frozenset()
    if "event" in needs and spec.event == "none":
        raise UsageError(f"Failure '{spec.failure}' needs an event; give one of spatial, state, full")
    if "motion" in needs and not any(segment.motions for segment in spec.camera.segments):
        raise UsageError(f"Failure '{spec.failure}' needs a camera that moves; this one is static")


def render_clip(spec: ClipSpec) -> RenderedClip:
    """Render a clip; the same spec always gives the same bytes."""
    check_failure(spec)
    context = make_context(spec)
    scene, camera = context.scene, camera_for(spec.faithful())
    failure = make_failure(spec.failure, spec.severity, context)
    c2w = failure.camera(context.target)
    light = seeded_light(scene, spec.seed)
    filmed: list[NDArray[np.uint8]] = []
    shown, depths, parts, subjects, visibility = [], [], [], [], []
    for frame, pose in enumerate(c2w):
        world = failure.world(World(expected_state(context, frame), camera.shapes, light), frame)
        picture = camera.take(world, pose, frame)
        if spec.failure == FAITHFUL:
            camera.remember(world, pose, frame, picture)
        picture = _bend(picture, failure.displacement(frame, picture.depth.shape))
        filmed.append(picture.rgb)
        shown.append(failure.picture(filmed, frame))
        depths.append(picture.depth)
        parts.append(picture.parts)
        subjects.append(world.subject)
        visibility.append(camera.visibility(world.subject, picture, pose))
    return RenderedClip(
        spec=spec,
        frames=np.stack(shown),
        depth=np.stack(depths),
        parts=np.stack(parts),
        part_names=("", "subject", "twin", "figure", *(thing.name for thing in scene.things)),
        c2w=c2w,
        target_c2w=context.target,
        intrinsics=camera.renderer.camera.copy(),
        visibility=np.array(visibility),
        state=np.array([subject.state for subject in subjects]),
        expected=np.array([expected_state(context, frame).state for frame in range(context.frames)]),
        position=np.array([vector(scene.subject.place) + subject.moved for subject in subjects]),
        opacity=np.array([subject.opacity for subject in subjects]),
    )


def _bend(picture: Picture, maps: tuple[NDArray, NDArray] | None) -> Picture:
    """Bend the picture by displacement maps; labels and depth use the nearest neighbour."""
    if maps is None:
        return picture

    def fetch(plane: NDArray, how: int) -> NDArray:
        return np.asarray(cv2.remap(plane, maps[0], maps[1], how, borderMode=cv2.BORDER_REFLECT_101))

    return Picture(
        fetch(picture.rgb, cv2.INTER_LINEAR), fetch(picture.depth, cv2.INTER_NEAREST), fetch(picture.parts, cv2.INTER_NEAREST)
    )
