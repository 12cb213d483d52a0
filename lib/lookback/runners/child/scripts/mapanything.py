"""MapAnything as MemoBench calls it: all frames in one forward pass. Answers are camera-to-world, at the resized picture."""

from __future__ import annotations

import numpy as np
from pictures import as_pictures


def load(checkpoint, device, options):
    from mapanything.models import MapAnything

    use_local_dinov2(options.pop("dinov2"))
    return runner(MapAnything.from_pretrained(checkpoint).to(device).eval(), options)


def use_local_dinov2(folder):
    """The class asks torch.hub for the code of DINOv2: give it the installed copy. The checkpoint holds the weights."""
    import torch

    fetched = torch.hub.load

    def local(repository, name, *given, **named):
        if repository != "facebookresearch/dinov2":
            return fetched(repository, name, *given, **named)
        return fetched(folder, name, source="local", pretrained=False)

    setattr(torch.hub, "load", local)  # noqa: B010 - mypy reads an assignment as a wrong type


def runner(model, options):
    import torch
    from mapanything.utils.image import load_images

    def run(clip):
        with as_pictures(clip.frames) as paths:
            views = load_images(paths)
        views = [{name: on_device(value, model) for name, value in view.items()} for view in views]
        with torch.no_grad():
            found = model.infer(
                views, memory_efficient_inference=True, minibatch_size=1, apply_mask=True, mask_edges=True, **options
            )
        names = {"cam_c2w": "camera_poses", "intrinsic": "intrinsics", "depth_z": "depth_z"}
        return {ours: np.concatenate([each[theirs].float().cpu().numpy() for each in found]) for ours, theirs in names.items()}

    return run


def on_device(value, model):
    import torch

    return value.to(next(model.parameters()).device) if isinstance(value, torch.Tensor) else value
