"""ImageReward-v1.0 (MemoBench's prompt fidelity): the raw reward of each frame for the prompt."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def load(checkpoint, device, options):
    import ImageReward

    folder = Path(checkpoint)
    return runner(ImageReward.load(str(folder / "ImageReward.pt"), device=device, med_config=str(folder / "med_config.json")))


def runner(model):
    import torch
    from PIL import Image

    def run(clip):
        with torch.inference_mode():
            rewards = model.score(clip.facts["prompt"], [Image.fromarray(frame) for frame in clip.frames])
        return {"image_reward": np.atleast_1d(np.asarray(rewards, np.float32))}

    return run
