"""Depth Anything 3 (MBench's camera paths): all frames in one forward pass. Answers are world-to-camera, at the processed size."""

from __future__ import annotations


def load(checkpoint, device, options):
    from depth_anything_3.api import DepthAnything3

    return runner(DepthAnything3.from_pretrained(checkpoint).to(device).eval(), options)


def runner(model, options):
    def run(clip):
        found = model.inference(list(clip.frames), export_dir=None, **options)
        return {name: getattr(found, name) for name in ("depth", "conf", "extrinsics", "intrinsics")}

    return run
