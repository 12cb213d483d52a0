"""A clip made in the test's own folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from media_clips import moving_texture, write_video

MakeVideo = Callable[..., Path]


@pytest.fixture
def make_video(tmp_path: Path) -> MakeVideo:
    def make(name: str = "clip.mp4", n_frames: int = 40, height: int = 96, width: int = 128, **settings: Any) -> Path:
        return write_video(tmp_path / name, moving_texture(n_frames, height, width), **settings)

    return make
