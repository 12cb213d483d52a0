"""VGGT-Omega's own classes, small and with random weights. With the fact `c2w` the camera head is told what to say."""

import importlib.util

import numpy as np


def load(checkpoint, device, options):
    import torch
    from vggt_omega.models import VGGTOmega, aggregator
    from vggt_omega.models.heads import CameraHead, DenseHead
    from vggt_omega.models.layers.vision_transformer import DinoVisionTransformer, init_weights_vit

    torch.manual_seed(0)

    def small_patch_embed(patch_size, embed_dim):
        embed = DinoVisionTransformer(
            img_size=64,
            patch_size=patch_size,
            embed_dim=embed_dim,
            depth=1,
            num_heads=4,
            pos_embed_rope_base=100,
            pos_embed_rope_normalize_coords="max",
            pos_embed_rope_dtype="fp32",
            layerscale_init=1e-5,
            n_storage_tokens=4,
            mask_k_bias=True,
        )
        embed.init_weights()
        return embed

    aggregator._build_patch_embed = small_patch_embed
    model = VGGTOmega.__new__(VGGTOmega)
    torch.nn.Module.__init__(model)
    model.aggregator = aggregator.Aggregator(
        embed_dim=64,
        depth=4,
        num_heads=4,
        num_register_tokens=2,
        register_attention_block_indices=[1],
        cached_layer_indices=(0, 1, 2, 3),
    )
    model.camera_head = CameraHead(dim_in=128)
    model.dense_head = DenseHead(
        dim_in=128, patch_size=16, features=32, out_channels=[16, 32, 64, 64], intermediate_layer_idx=[0, 1, 2, 3]
    )
    model.text_alignment_head = None
    for name, module in model.named_modules():
        init_weights_vit(module, name)
    return told(options["script"], model.eval())


def told(script, model):
    import torch
    from vggt_omega.utils.pose_enc import extri_intri_to_pose_encoding

    spec = importlib.util.spec_from_file_location("script", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    forward = model.forward

    def run(clip):
        def answered(images):
            found = forward(images)
            if "c2w" in clip.facts:
                w2c = torch.tensor(np.linalg.inv(np.array(clip.facts["c2w"])))[None, :, :3].float()
                focal = torch.eye(3).expand(1, len(clip.frames), 3, 3).clone()
                focal[..., 0, 0] = focal[..., 1, 1] = float(clip.facts["focal"]) * images.shape[-1] / clip.frames.shape[2]
                found["pose_enc"] = extri_intri_to_pose_encoding(w2c, focal, tuple(images.shape[-2:]))
            return found

        model.forward = answered
        return module.runner(model, "cpu", {"mode": "balanced", "image_resolution": 64, "patch_size": 16})(clip)

    return run
