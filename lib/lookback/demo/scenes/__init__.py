"""The scenes of the demo world by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from lookback.demo import motifs, patterns  # noqa: F401  (they register the drawn textures)
from lookback.demo.scene import Scene
from lookback.demo.scenes.humans import lobby, office, study
from lookback.demo.scenes.objects import gallery, garage, playroom
from lookback.demo.scenes.outdoors import courtyard, plaza
from lookback.demo.scenes.tabletop import bar, dining, kitchen
from lookback.errors import UsageError, hint

SCENES: dict[str, Callable[[], Scene]] = {
    build.__name__: build for build in (study, office, lobby, playroom, garage, plaza, gallery, courtyard, kitchen, dining, bar)
}


@lru_cache(maxsize=16)
def load_scene(name: str) -> Scene:
    """The scene of that name; an unknown name is a `UsageError` with the nearest one."""
    if name not in SCENES:
        raise UsageError(f"There is no scene '{name}' in the demo world; {hint(name, SCENES, 'scenes')}")
    return SCENES[name]()
