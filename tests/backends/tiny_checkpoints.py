"""Tiny random checkpoints in the formats that the hub and the model zoos use."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from lookback.benchmarks.mind.parity_inputs import write_heads


def dinov2(folder: Path, registers: bool = False) -> Path:
    from transformers import Dinov2Config, Dinov2Model, Dinov2WithRegistersConfig, Dinov2WithRegistersModel

    torch.manual_seed(1)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 56, "patch_size": 14}
    model = Dinov2WithRegistersModel(Dinov2WithRegistersConfig(**shape)) if registers else Dinov2Model(Dinov2Config(**shape))
    model.save_pretrained(folder)
    return folder


def dinov3(folder: Path) -> Path:
    from transformers import DINOv3ViTConfig, DINOv3ViTModel

    torch.manual_seed(2)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_register_tokens": 4}
    DINOv3ViTModel(DINOv3ViTConfig(**shape, image_size=64, patch_size=16)).save_pretrained(folder)
    return folder


def depth_anything(folder: Path) -> Path:
    from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config
    from transformers.models.dpt.image_processing_dpt import DPTImageProcessor

    torch.manual_seed(3)
    backbone = Dinov2Config(
        hidden_size=32, num_hidden_layers=4, num_attention_heads=2, image_size=56, patch_size=14,
        out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False, apply_layernorm=True,
    )  # fmt: skip
    config = DepthAnythingConfig(
        backbone_config=backbone, patch_size=14, reassemble_hidden_size=32, neck_hidden_sizes=[8, 8, 8, 8],
        fusion_hidden_size=8, head_hidden_size=8,
    )  # fmt: skip
    DepthAnythingForDepthEstimation(config).save_pretrained(folder)
    # The processor of the published checkpoints, with a smaller picture.
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    size = {"height": 56, "width": 56}
    DPTImageProcessor(size=size, keep_aspect_ratio=True, ensure_multiple_of=14, image_mean=mean, image_std=std).save_pretrained(
        folder
    )
    return folder


def sam2(folder: Path) -> Path:
    from transformers import Sam2Config, Sam2HieraDetConfig, Sam2Model, Sam2Processor, Sam2VisionConfig
    from transformers.models.sam2.image_processing_sam2 import Sam2ImageProcessor

    torch.manual_seed(4)
    hiera = Sam2HieraDetConfig(
        hidden_size=8, num_attention_heads=1, image_size=[128, 128], blocks_per_stage=[1, 2, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64], num_attention_heads_per_stage=[1, 1, 1, 1], window_size_per_stage=[8, 4, 4, 2],
        global_attention_blocks=[4], window_positional_embedding_background_size=[4, 4],
    )  # fmt: skip
    vision = Sam2VisionConfig(
        backbone_config=hiera,
        backbone_channel_list=[64, 32, 16, 8],
        backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]],
        fpn_hidden_size=32,
    )
    prompt = {"hidden_size": 32, "image_size": 128, "patch_size": 16}
    decoder = {"hidden_size": 32, "mlp_dim": 64, "num_attention_heads": 2, "iou_head_hidden_dim": 32}
    Sam2Model(Sam2Config(vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder)).save_pretrained(folder)
    Sam2Processor(Sam2ImageProcessor(size={"height": 128, "width": 128}), target_size=128).save_pretrained(folder)
    return folder


def sam3(folder: Path) -> Path:
    """The video model with its detector in one checkpoint, as the hub has it: the image model reads the detector's part."""
    from transformers import CLIPTokenizer, Sam3VideoConfig, Sam3VideoModel, Sam3VideoProcessor
    from transformers.models.sam2_video.video_processing_sam2_video import Sam2VideoVideoProcessor
    from transformers.models.sam3.image_processing_sam3 import Sam3ImageProcessor

    small = {"hidden_size": 128, "num_layers": 1, "num_attention_heads": 4, "intermediate_size": 64}
    vit = {
        "model_type": "sam3_vit_model", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "image_size": 112, "patch_size": 14, "window_size": 4, "global_attn_indexes": [1],
        "pretrain_image_size": 56,
    }  # fmt: skip
    vision = {"backbone_config": vit, "fpn_hidden_size": 128, "backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]]}
    text = {
        "model_type": "clip_text_model", "vocab_size": 514, "hidden_size": 32, "intermediate_size": 64, "projection_dim": 32,
        "bos_token_id": 512, "eos_token_id": 513,
        "num_hidden_layers": 1, "num_attention_heads": 4, "max_position_embeddings": 32,
    }  # fmt: skip
    detector = {
        "vision_config": vision, "text_config": text, "geometry_encoder_config": small, "detr_encoder_config": small,
        "detr_decoder_config": {**small, "num_queries": 10}, "mask_decoder_config": {**small, "num_upsampling_stages": 3},
    }  # fmt: skip
    tracker = {
        "vision_config": vision, "image_size": 112, "num_maskmem": 2, "max_object_pointers_in_encoder": 2,
        "prompt_encoder_config": {"hidden_size": 128, "image_size": 112, "patch_size": 14},
        "mask_decoder_config": {"hidden_size": 128, "mlp_dim": 64, "num_attention_heads": 2, "iou_head_hidden_dim": 128},
        "memory_attention_hidden_size": 128, "memory_attention_num_layers": 1, "memory_attention_num_attention_heads": 1,
        "memory_attention_feed_forward_hidden_size": 64, "memory_attention_rope_feat_sizes": [8, 8],
        "memory_encoder_hidden_size": 128, "memory_encoder_output_channels": 64, "mask_downsampler_embed_dim": 128,
        "memory_fuser_embed_dim": 128, "memory_fuser_intermediate_dim": 64, "memory_fuser_num_layers": 1,
    }  # fmt: skip
    torch.manual_seed(8)
    config = Sam3VideoConfig(
        detector_config=detector, tracker_config=tracker, low_res_mask_size=32, score_threshold_detection=0.1, new_det_thresh=0.1
    )
    Sam3VideoModel(config).save_pretrained(folder)
    alphabet = [chr(code) for code in range(256, 512)]  # a stand-in for the 256 byte symbols, with and without the end of a word
    words = [*alphabet, *(letter + "</w>" for letter in alphabet), "<|startoftext|>", "<|endoftext|>"]
    tokenizer = CLIPTokenizer(vocab={word: number for number, word in enumerate(words)}, merges=[], model_max_length=32)
    size = {"height": 112, "width": 112}
    Sam3VideoProcessor(Sam3ImageProcessor(size=size), Sam2VideoVideoProcessor(size=size), tokenizer).save_pretrained(folder)
    return folder


def open_clip(folder: Path) -> Path:
    """The hub's layout: a config with the model and its preprocessing, and the weights."""
    import open_clip as library
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    model_cfg = {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8},
        "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
    }
    preprocess = {"mean": [0.48145466, 0.4578275, 0.40821073], "std": [0.26862954, 0.26130258, 0.27577711]}
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": model_cfg, "preprocess_cfg": preprocess}))
    torch.manual_seed(5)
    save_file(library.CLIP(**model_cfg).state_dict(), folder / "open_clip_model.safetensors")
    return folder


def raft(path: Path, size: str) -> Path:
    from torchvision.models.optical_flow import raft_large, raft_small

    torch.manual_seed(6)
    torch.save((raft_large if size == "large" else raft_small)(weights=None).state_dict(), path)
    return path


def torchvision_classifier(path: Path, build: str) -> Path:
    """A torchvision state dict under its real names; the linear layers are one number expanded, which costs no space on disk."""
    import torchvision.models

    with torch.device("meta"):
        shapes = {name: value.shape for name, value in getattr(torchvision.models, build)(weights=None).state_dict().items()}
    generator = torch.Generator().manual_seed(7)
    state = {}
    for name, shape in shapes.items():
        if name.startswith("features."):
            fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
            state[name] = torch.randn(shape, generator=generator) * (2 / fan_in) ** 0.5 * (1.0 if len(shape) > 1 else 0.05)
        else:
            state[name] = torch.zeros(1).expand(shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, path)
    return path


def aesthetic_heads(folder: Path, width: int = 24) -> Path:
    """LAION's two heads, with their file names and their names of layers."""
    write_heads(folder)
    sizes = {0: (width, 20), 2: (20, 16), 4: (16, 12), 6: (12, 8), 7: (8, 1)}  # the numbers between are dropout
    state = {
        f"layers.{number}.{name}": value
        for number, shape in sizes.items()
        for name, value in torch.nn.Linear(*shape).state_dict().items()
    }
    torch.save(state, folder / "sac+logos+ava1-l14-linearMSE.pth")
    return folder
