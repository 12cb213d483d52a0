"""MUSIQ-SPAQ and CLIP-IQA+ through pyiqa, which brings another build of OpenCV. One value per frame and measure."""

from __future__ import annotations

import numpy as np


def load(checkpoint, device, options):
    import torch

    torch.hub.set_dir(checkpoint)  # pyiqa looks for its checkpoints there
    import pyiqa

    return runner(
        {name: pyiqa.create_metric(known, device=torch.device(device)) for name, known in options["metrics"].items()}, device
    )


def runner(metrics, device):
    import torch

    def run(clip):
        images = torch.from_numpy(np.ascontiguousarray(clip.frames)).to(device).permute(0, 3, 1, 2).float()
        images = images / 255 if clip.frames.dtype == np.uint8 else images
        with torch.inference_mode():
            found = {name: metrics[name](images) for name in clip.facts.get("names", metrics)}
        return {name: values.float().cpu().numpy().reshape(-1) for name, values in found.items()}

    return run
