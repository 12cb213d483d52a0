"""MapAnything's own classes, small and with random weights. With the fact `c2w` its poses are replaced."""

import importlib.util
from pathlib import Path

import numpy as np


def load(checkpoint, device, options):
    import torch
    from mapanything.models import init_model
    from omegaconf import OmegaConf

    torch.manual_seed(0)
    spec = importlib.util.spec_from_file_location("script", options["script"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.use_local_dinov2(options["dinov2"])
    if not OmegaConf.has_resolver("special_float"):
        OmegaConf.register_new_resolver("special_float", float)
    model = init_model("mapanything", small_config(Path(options["configs"]), OmegaConf)).eval()
    infer = model.infer

    def run(clip):
        def answered(views, **named):
            found = infer(views, **named)
            if "c2w" in clip.facts:
                for each, pose in zip(found, clip.facts["c2w"], strict=True):
                    each["camera_poses"] = torch.tensor(np.array(pose))[None].float()
                    scale = each["depth_z"].shape[2] / clip.frames.shape[2]
                    each["intrinsics"] = torch.diag(torch.tensor([clip.facts["focal"] * scale] * 2 + [1.0]))[None]
                    each["intrinsics"][:, 0, 2], each["intrinsics"][:, 1, 2] = (
                        each["depth_z"].shape[2] / 2,
                        each["depth_z"].shape[1] / 2,
                    )
            return found

        model.infer = answered
        return module.runner(model, {"use_amp": False})(clip)

    return run


def small_config(configs, OmegaConf):
    """The repository's configuration files, with fewer and narrower layers."""
    from hydra import compose, initialize_config_dir

    changes = [
        "model=mapanything",
        "model.encoder.size=small",
        "++model.encoder.keep_first_n_layers=2",
        "++model.encoder.torch_hub_pretrained=False",
        "model.info_sharing.module_args.depth=4",
        "model.info_sharing.module_args.dim=384",
        "model.info_sharing.module_args.num_heads=6",
        "model.info_sharing.module_args.indices=[1,2]",
        "model.pred_head.feature_head.feature_dim=32",
    ]
    with initialize_config_dir(str(configs), version_base=None):
        config = compose("train", overrides=changes)
    return config.model.model_config
