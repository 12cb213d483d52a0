"""Shared by the scripts: the frames of a clip as numbered pictures, because the models' own loaders read files in name order."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def as_pictures(frames):
    """Paths of lossless pictures in a folder that is removed afterwards."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for index, frame in enumerate(frames):
            path = Path(folder) / f"{index:06d}.png"
            Image.fromarray(frame).save(path, compress_level=1)
            paths.append(str(path))
        yield paths
