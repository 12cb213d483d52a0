"""ImageReward-v1.0 as MemoBench calls it: the raw reward of each frame for the clip's prompt."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import types
from pathlib import Path

import numpy as np


def load(checkpoint, device, options):
    import torch

    folder = Path(checkpoint)
    with contextlib.chdir(folder):  # its tokenizer is asked for by the name of a folder beside the weights
        model = network()(med_config=str(folder / "med_config.json"), device=device).to(device)
    model.load_state_dict(torch.load(folder / "ImageReward.pt", map_location="cpu", weights_only=True), strict=False)
    return runner(model.eval())


def network():
    """The class of the released package. The package's own start imports its training code, which is not needed here."""
    if "ImageReward" not in sys.modules:
        found = importlib.util.find_spec("ImageReward")
        if found is None or not found.submodule_search_locations:
            raise ImportError("the package ImageReward is not installed in this environment")
        [place] = found.submodule_search_locations
        for name, folder in (("ImageReward", place), ("ImageReward.models", f"{place}/models")):
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__path__ = [folder]
    from ImageReward.ImageReward import ImageReward

    return ImageReward


def runner(model):
    import torch
    from PIL import Image

    def run(clip):
        pictures = [Image.fromarray(frame) for frame in clip.frames]
        with torch.inference_mode():
            rewards = model.score(clip.facts["prompt"], pictures)
        return {"image_reward": np.atleast_1d(np.asarray(rewards, np.float32))}  # one picture alone gives a bare number

    return run
