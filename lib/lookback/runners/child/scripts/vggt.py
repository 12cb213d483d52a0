"""VGGT: all frames in one forward pass. Answers are world-to-camera, at the resized picture."""

from __future__ import annotations

import numpy as np
from pictures import as_pictures


def load(checkpoint, device, options):
    from vggt.models.vggt import VGGT

    return runner(VGGT.from_pretrained(checkpoint).to(device).eval(), device, options)


def runner(model, device, options):
    import torch
    from vggt.utils.load_fn import load_and_preprocess_images
    from vggt.utils.pose_enc import pose_encoding_to_extri_intri

    def run(clip):
        with as_pictures(clip.frames) as paths:
            images = load_and_preprocess_images(paths, **options).to(device)
        half = torch.autocast("cuda", torch.bfloat16, enabled=device.startswith("cuda"))
        with torch.inference_mode(), half:
            found = model(images)
        extrinsic, intrinsic = pose_encoding_to_extri_intri(found["pose_enc"].float(), images.shape[-2:])
        padded = np.array([options.get("mode") == "pad"])
        return {"extrinsic": extrinsic[0].cpu().numpy(), "intrinsic": intrinsic[0].cpu().numpy(), "padded": padded}

    return run
