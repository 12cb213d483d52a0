"""Film one frame of a clip: the world as it should be, the world as the failure shows it, and the picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lookback.camera.intent import compile
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.demo.failures import Context, World
from lookback.demo.geometry import turn_y, vector
from lookback.demo.light import Light
from lookback.demo.raster import Picture, PlacedShape, Renderer
from lookback.demo.scene import Scene, SubjectState, event_progress, subject_shape
from lookback.demo.scenes import load_scene
from lookback.demo.scenes.outdoors import robot_shape
from lookback.demo.spec import ClipSpec
from lookback.errors import UsageError

SUBJECT, TWIN, FIGURE, FIRST_THING = 1, 2, 3, 4  # part numbers in a picture
FIGURE_AHEAD = (0.35, 0.75, 1.9)  # right, below, ahead of the camera: where the third-person figure walks
FIGURE_SCALE = 0.55


@lru_cache(maxsize=4)
def renderer_for(width: int, height: int, fov_deg: float) -> Renderer:
    """The renderer of a size. Renderers are kept, because they hold the painted textures."""
    return Renderer(width, height, fov_deg)


def start_pose(scene: Scene, seed: int) -> NDArray[np.float64]:
    """The first camera pose: the scene's start, shifted by a few centimetres that depend on the seed."""
    jitter = np.random.default_rng([seed, 1]).uniform(-0.03, 0.03, 3) * np.array([1.0, 0.4, 1.0])
    return from_yaw_pitch_roll(0, 0, 0, vector(scene.camera) + jitter)


def seeded_light(scene: Scene, seed: int) -> Light:
    """The scene's light, a little warmer or cooler by the seed."""
    warmth = np.random.default_rng([seed, 2]).uniform(-0.04, 0.04)
    return scene.light.scaled((1 + warmth, 1.0, 1 - warmth), (1 + warmth, 1.0, 1 - warmth))


def make_context(spec: ClipSpec) -> Context:
    """Scene, event, faithful camera and absence of a spec."""
    scene = load_scene(spec.scene)
    if spec.event not in scene.events:
        raise UsageError(f"Scene '{spec.scene}' has no event '{spec.event}'; it has {', '.join(scene.events)}")
    start = start_pose(scene, spec.seed)
    target = start @ compile(spec.camera)
    sign = 1 if np.random.default_rng([spec.seed, 3]).random() < 0.5 else -1
    context = Context(scene, scene.events[spec.event], spec.camera, start, target, np.zeros(len(target), bool), sign)
    return replace(context, absent=_absent(context, renderer_for(spec.width, spec.height, spec.fov_deg)))


def expected_state(context: Context, frame: int) -> SubjectState:
    """The correct state of the subject in a frame."""
    progress = float(event_progress(context.frames)[frame])
    x, y, z = context.event.move
    state = progress if context.event.changes_state else 0.0
    return SubjectState(state=state, moved=(x * progress, y * progress, z * progress))


def _absent(context: Context, renderer: Renderer) -> NDArray[np.bool_]:
    """Frames where the box around the subject lies outside the image of the faithful camera."""
    out = np.ones(context.frames, bool)
    for frame, pose in enumerate(context.target):
        points = subject_shape(context.scene.subject, expected_state(context, frame)).points()
        local = (points - pose[:3, 3]) @ pose[:3, :3]
        ahead = local[local[:, 2] > 0.05]
        if len(ahead):
            image = (ahead @ renderer.camera.T)[:, :2] / ahead[:, 2:]
            beyond = (image.max(axis=0) < 0) | (image.min(axis=0) > (renderer.width - 1, renderer.height - 1))
            out[frame] = bool(beyond.any())
    return out


def figure_pose(c2w: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Foot and heading (degrees) of the third-person figure for one camera pose."""
    heading = float(np.degrees(np.arctan2(c2w[0, 2], c2w[2, 2])))
    return c2w[:3, 3] + turn_y(heading) @ vector(FIGURE_AHEAD), heading


@dataclass(frozen=True, eq=False)
class Shot:
    """A picture and the world it shows."""

    world: World
    pose: NDArray[np.float64]
    picture: Picture

    def shows(self, world: World, pose: NDArray[np.float64]) -> bool:
        return self.world == world and np.array_equal(self.pose, pose)


class Camera:
    """Takes the pictures of one task. A picture that the faithful clip has from the same pose is not drawn again."""

    def __init__(self, spec: ClipSpec, scene: Scene):
        self.spec, self.scene = spec, scene
        self.renderer = renderer_for(spec.width, spec.height, spec.fov_deg)
        self.shapes = tuple(thing.shape for thing in scene.things)
        self._faithful: dict[int, Shot] = {}

    def take(self, world: World, pose: NDArray[np.float64], frame: int) -> Picture:
        known = self._faithful.get(frame)
        if known is not None and known.shows(world, pose):
            return known.picture
        return self._film(world, pose)

    def remember(self, world: World, pose: NDArray[np.float64], frame: int, picture: Picture) -> None:
        self._faithful[frame] = Shot(world, pose, picture)

    def _film(self, world: World, pose: NDArray[np.float64]) -> Picture:
        """One picture. A partly faded subject is the blend of a picture with it and one without it."""
        items = [PlacedShape(shape, FIRST_THING + index) for index, shape in enumerate(world.surroundings)]
        if self.spec.third_person:
            foot, heading = figure_pose(pose)
            items.append(PlacedShape(robot_shape().moved(foot, FIGURE_SCALE * turn_y(heading)), FIGURE))
        if world.twin is not None:
            items.append(PlacedShape(subject_shape(self.scene.subject, world.twin), TWIN))
        opacity = world.subject.opacity
        subject = PlacedShape(subject_shape(self.scene.subject, world.subject), SUBJECT)
        if opacity >= 1:
            return self.renderer.render([*items, subject], pose, world.light)
        without = self.renderer.render(items, pose, world.light)
        if opacity <= 0:
            return without
        there = self.renderer.render([*items, subject], pose, world.light)
        rgb = np.rint(there.rgb * opacity + without.rgb * (1 - opacity)).astype(np.uint8)
        return Picture(rgb, *((there.depth, there.parts) if opacity >= 0.5 else (without.depth, without.parts)))

    def visibility(self, state: SubjectState, picture: Picture, pose: NDArray[np.float64]) -> float:
        """Share of the subject's whole outline that is in view and not covered."""
        seen = int((picture.parts == SUBJECT).sum())
        if seen == 0 or state.opacity < 0.5:
            return 0.0
        whole = self.renderer.silhouette_area(subject_shape(self.scene.subject, state).solid(), pose)
        return min(1.0, seen / max(whole, 1.0))


@lru_cache(maxsize=1)
def camera_for(faithful: ClipSpec) -> Camera:
    """One task's camera; clips of the same task that follow each other share its pictures."""
    return Camera(faithful, load_scene(faithful.scene))
