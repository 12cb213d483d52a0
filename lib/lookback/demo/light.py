"""Ambient and directional light; a surface's gain depends on its normal alone, so it is painted into its texture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Light:
    """gain(n) = ambient + sun * max(0, n . towards_sun), per colour channel."""

    ambient: tuple[float, float, float] = (0.62, 0.62, 0.64)
    sun: tuple[float, float, float] = (0.52, 0.50, 0.46)
    towards_sun: tuple[float, float, float] = (-0.45, -0.75, -0.48)

    def gain(self, normals: ArrayLike) -> NDArray[np.float64]:
        """Gains (…,3) of unit normals (…,3) that point out of the surface."""
        direction = np.asarray(self.towards_sun) / np.linalg.norm(self.towards_sun)
        facing = np.clip(np.asarray(normals) @ direction, 0.0, None)[..., None]
        return np.asarray(self.ambient) + facing * np.asarray(self.sun)

    def baked(self, normal: tuple[float, float, float]) -> tuple[float, float, float]:
        """The gain rounded to 1/64, so that nearly equal surfaces share one painted texture."""
        return _baked(self, normal)

    def scaled(self, ambient: ArrayLike, sun: ArrayLike) -> Light:
        """Both parts multiplied per channel."""
        return replace(
            self,
            ambient=_colour(np.asarray(self.ambient) * np.asarray(ambient)),
            sun=_colour(np.asarray(self.sun) * np.asarray(sun)),
        )


def _colour(values: NDArray[np.float64]) -> tuple[float, float, float]:
    red, green, blue = values
    return float(red), float(green), float(blue)


@lru_cache(maxsize=4096)
def _baked(light: Light, normal: tuple[float, float, float]) -> tuple[float, float, float]:
    red, green, blue = np.rint(light.gain(normal) * 64) / 64
    return float(red), float(green), float(blue)
