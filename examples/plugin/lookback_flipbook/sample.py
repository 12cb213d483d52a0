"""A small dataset to try the plug-in with: `python -m lookback_flipbook.sample FOLDER` writes six clips of three models."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from lookback.media import encode
from numpy.typing import NDArray

SCENES = {"meadow": 1, "street": 2}  # name -> seed of its picture
MODELS = ("steady", "forgetful", "still")
FRAMES, HEIGHT, WIDTH, FPS = 16, 48, 64, 8


def write_sample(folder: Path) -> Path:
    """Write the videos and their list; `steady` returns, `forgetful` ends in other colours, `still` never leaves."""
    clips = []
    for model in MODELS:
        for scene, seed in SCENES.items():
            video = f"{model}/{scene}.mp4"
            encode(folder / video, pages(model, seed), FPS)
            clips.append({"model": model, "scene": scene, "video": video, "prompt": f"Leave the {scene} and come back to it."})
    (folder / "flipbook.json").write_text(json.dumps({"clips": clips}, indent=1) + "\n", encoding="utf-8")
    return folder


def pages(model: str, seed: int) -> NDArray[np.uint8]:
    """The frames: a wide picture of coloured blocks, and a window that slides right and back over it."""
    blocks = np.random.default_rng(seed).integers(0, 256, (3, 12, 3), dtype=np.uint8)
    picture = blocks.repeat(HEIGHT // 3, axis=0).repeat(WIDTH // 4, axis=1)
    way = np.abs(np.abs(np.linspace(-1, 1, FRAMES)) - 1)  # 0 at both ends, 1 in the middle
    places = np.zeros(FRAMES, int) if model == "still" else np.rint(way * 2 * WIDTH).astype(int)
    frames = np.stack([picture[:, place : place + WIDTH] for place in places])
    if model == "forgetful":
        frames[FRAMES // 2 :] = 255 - frames[FRAMES // 2 :]
    return frames


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m lookback_flipbook.sample FOLDER")
    print(write_sample(Path(sys.argv[1])))
