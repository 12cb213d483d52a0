"""Depth Anything 3's own da3-small with random weights. With the fact `c2w` its answer is replaced, at the processed size."""

import importlib.util

import numpy as np


def load(checkpoint, device, options):
    import torch
    from depth_anything_3.api import DepthAnything3

    torch.manual_seed(0)
    model = DepthAnything3(model_name="da3-small").eval()
    spec = importlib.util.spec_from_file_location("script", options["script"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    inference = model.inference

    def run(clip):
        def answered(image, **named):
            found = inference(image, **named)
            if "c2w" in clip.facts:
                found.extrinsics = np.linalg.inv(np.array(clip.facts["c2w"]))[:, :3]
                scale = found.depth.shape[-1] / clip.frames.shape[2]
                found.intrinsics = np.tile(
                    np.diag([clip.facts["focal"] * scale, clip.facts["focal"] * scale, 1.0]), (len(image), 1, 1)
                )
                found.intrinsics[:, 0, 2], found.intrinsics[:, 1, 2] = found.depth.shape[-1] / 2, found.depth.shape[-2] / 2
            return found

        model.inference = answered
        return module.runner(model, {"process_res": 112, "ref_view_strategy": "first"})(clip)

    return run
