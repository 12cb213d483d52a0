"""MUSIQ-SPAQ and CLIP-IQA+ of pyiqa: a value per frame. The fact `measures` names those that are wanted; others are not loaded."""

from __future__ import annotations

NAMES = {"musiq": "musiq-spaq", "clipiqa": "clipiqa+"}  # name of the array: name in pyiqa


def load(checkpoint, device, options):
    import torch

    torch.hub.set_dir(checkpoint)  # pyiqa looks there when it is imported, and would fetch what is not there
    import pyiqa

    return runner(lambda name: pyiqa.create_metric(NAMES[name], device=torch.device(device)), device)


def runner(create, device):
    import torch

    loaded: dict = {}

    def run(clip):
        images = torch.from_numpy(clip.frames).to(device).permute(0, 3, 1, 2)
        images = images.float() / 255 if images.dtype == torch.uint8 else images.float()
        found = {}
        for name in clip.facts["measures"]:
            loaded[name] = loaded.get(name) or create(name)
            with torch.inference_mode():
                found[name] = loaded[name](images).float().cpu().numpy().reshape(-1)
        return found

    return run
