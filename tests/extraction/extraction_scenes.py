"""A small ray-cast room with photographs on its walls: camera path, object mask and visibility are known by construction.

Written apart from the demo world, so that extraction is held to something it was not tuned with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import cv2
import numpy as np
import skimage.data

HALF = np.array([4.0, 2.2, 4.0])  # the room's half extents around the origin


@cache
def photographs() -> list[np.ndarray]:
    """Six wall pictures: photographs that install with scikit-image."""
    names = ("coffee", "astronaut", "rocket", "chelsea", "retina", "immunohistochemistry")
    return [cv2.resize(getattr(skimage.data, name)(), (768, 512), interpolation=cv2.INTER_AREA) for name in names]


@dataclass
class Sprite:
    """A textured upright ellipse that faces the origin: `centre(t)` is its place in the world."""

    texture: np.ndarray
    width: float
    height: float
    centre: np.ndarray  # (N,3)


@dataclass
class Scene:
    """Frames with everything that is true about them."""

    frames: np.ndarray
    c2w: np.ndarray
    intrinsics: np.ndarray
    masks: np.ndarray  # of the first sprite
    record: dict[str, object] = field(default_factory=dict)


def intrinsics(width: int, height: int, fov_deg: float) -> np.ndarray:
    focal = width / 2.0 / np.tan(np.radians(fov_deg) / 2.0)
    return np.array([[focal, 0.0, width / 2.0 - 0.5], [0.0, focal, height / 2.0 - 0.5], [0.0, 0.0, 1.0]])


def render(
    c2w: np.ndarray, width: int = 320, height: int = 192, fov_deg: float = 60.0, sprites: tuple[Sprite, ...] = (), seed: int = 0
) -> Scene:
    """Ray-cast every pose; a little sensor noise makes no two frames equal."""
    matrix = intrinsics(width, height, fov_deg)
    walls = photographs()
    generator = np.random.default_rng(seed)
    frames = np.empty((len(c2w), height, width, 3), np.uint8)
    masks = np.zeros((len(c2w), height, width), bool)
    columns, rows = np.meshgrid(np.arange(width), np.arange(height))
    rays = np.stack(
        [(columns - matrix[0, 2]) / matrix[0, 0], (rows - matrix[1, 2]) / matrix[1, 1], np.ones_like(columns, float)], -1
    )
    for index, pose in enumerate(c2w):
        directions = rays @ pose[:3, :3].T
        image, depth = _room(pose[:3, 3], directions, walls)
        for number, sprite in enumerate(sprites):
            hit = _sprite(image, depth, pose[:3, 3], directions, sprite, sprite.centre[index])
            if number == 0:
                masks[index] = hit
            else:
                masks[index] &= ~hit
        noisy = image + generator.normal(0.0, 1.5, image.shape)
        frames[index] = np.clip(noisy, 0, 255).astype(np.uint8)
    return Scene(frames, c2w, matrix, masks)


def _room(eye: np.ndarray, directions: np.ndarray, walls: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(divide="ignore"):
        distance = (np.sign(directions) * HALF - eye) / directions
    distance[directions == 0] = np.inf
    axis = distance.argmin(-1)
    depth = distance.min(-1)
    point = eye + directions * depth[..., None]
    image = np.zeros((*depth.shape, 3))
    for a in range(3):
        for side in (0, 1):
            chosen = (axis == a) & ((directions[..., a] > 0) == bool(side))
            if not chosen.any():
                continue
            u_axis, v_axis = (2, 1) if a == 0 else (0, 1) if a == 2 else (0, 2)
            texture = walls[2 * a + side]
            u = (point[..., u_axis] / HALF[u_axis] + 1) / 2 * (texture.shape[1] - 1)
            v = (point[..., v_axis] / HALF[v_axis] + 1) / 2 * (texture.shape[0] - 1)
            sampled = cv2.remap(
                texture, u.astype(np.float32), v.astype(np.float32), cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
            )
            image[chosen] = sampled[chosen]
    return image, depth


def _sprite(
    image: np.ndarray, depth: np.ndarray, eye: np.ndarray, directions: np.ndarray, sprite: Sprite, centre: np.ndarray
) -> np.ndarray:
    normal = np.array([centre[0], 0.0, centre[2]])
    normal /= np.linalg.norm(normal)
    right = np.cross([0.0, 1.0, 0.0], normal)
    along = directions @ normal
    with np.errstate(divide="ignore"):
        distance = np.where(along > 1e-6, ((centre - eye) @ normal) / along, np.inf)
    offset = eye + directions * np.where(np.isfinite(distance), distance, 1e6)[..., None] - centre
    u, v = offset @ right / sprite.width * 2, offset[..., 1] / sprite.height * 2
    hit = (u**2 + v**2 < 1) & (distance > 0) & (distance < depth)
    map_u = ((u + 1) / 2 * (sprite.texture.shape[1] - 1)).astype(np.float32)
    map_v = ((v + 1) / 2 * (sprite.texture.shape[0] - 1)).astype(np.float32)
    image[hit] = cv2.remap(sprite.texture, map_u, map_v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)[hit]
    depth[hit] = distance[hit]
    return hit


def there_and_back(peak: float, n_frames: int) -> np.ndarray:
    """0 to `peak` and back to 0, linear, as WRBench's presets go."""
    out = (n_frames - 1) // 2
    return np.concatenate([np.linspace(0, peak, out + 1), np.linspace(peak, 0, n_frames - out)[1:]])
