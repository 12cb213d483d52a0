"""Tiny random checkpoints in the real formats of SAM 2 video (the hub's and the released one) and GroundingDINO."""

from __future__ import annotations

from pathlib import Path

import torch

SIDE = 128


def sam2_video(folder: Path) -> Path:
    """As the hub's sam2.1 folders: config.json, model.safetensors, preprocessor_config.json."""
    from transformers import Sam2HieraDetConfig, Sam2VideoConfig, Sam2VideoModel, Sam2VisionConfig
    from transformers.models.sam2.image_processing_sam2 import Sam2ImageProcessor

    torch.manual_seed(4)
    hiera = Sam2HieraDetConfig(
        hidden_size=8, num_attention_heads=1, image_size=[SIDE, SIDE], blocks_per_stage=[1, 2, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64], num_attention_heads_per_stage=[1, 1, 1, 1], window_size_per_stage=[8, 4, 4, 2],
        global_attention_blocks=[4], window_positional_embedding_background_size=[4, 4],
    )  # fmt: skip
    vision = Sam2VisionConfig(
        backbone_config=hiera, backbone_channel_list=[64, 32, 16, 8], backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]],
        fpn_hidden_size=128,
    )  # fmt: skip
    config = Sam2VideoConfig(
        vision_config=vision,
        prompt_encoder_config={"hidden_size": 128, "image_size": SIDE, "patch_size": 16},
        mask_decoder_config={"hidden_size": 128, "mlp_dim": 64, "num_attention_heads": 2, "iou_head_hidden_dim": 32},
        image_size=SIDE, num_maskmem=3, max_object_pointers_in_encoder=4, memory_attention_hidden_size=128,
        memory_attention_num_layers=1,
        memory_attention_feed_forward_hidden_size=32, memory_attention_rope_feat_sizes=[8, 8], memory_encoder_hidden_size=128,
        memory_encoder_output_channels=64, mask_downsampler_embed_dim=128, memory_fuser_num_layers=1, memory_fuser_embed_dim=128,
        memory_fuser_intermediate_dim=32,
    )  # fmt: skip
    Sam2VideoModel(config).save_pretrained(folder)
    Sam2ImageProcessor(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    return folder


SAM2_CONFIG = "configs/sam2.1/sam2.1_hiera_t.yaml"
SAM2_SMALLER = [
    f"++model.image_size={SIDE}", "++model.num_maskmem=3", "++model.max_obj_ptrs_in_encoder=4",
    "++model.image_encoder.trunk.embed_dim=8", "++model.image_encoder.trunk.stages=[1,2,2,1]",
    "++model.image_encoder.trunk.global_att_blocks=[4]", "++model.image_encoder.neck.backbone_channel_list=[64,32,16,8]",
    "++model.memory_attention.num_layers=1", "++model.memory_attention.layer.dim_feedforward=32",
    "++model.memory_attention.layer.self_attention.feat_sizes=[8,8]",
    "++model.memory_attention.layer.cross_attention.feat_sizes=[8,8]",
]  # fmt: skip


def sam2_original(path: Path) -> Path:
    """As the released .pt files: one pickled dict whose `model` is the state of the predictor built from the configuration."""
    from sam2.build_sam import build_sam2_video_predictor

    torch.manual_seed(4)
    predictor = build_sam2_video_predictor(SAM2_CONFIG, None, "cpu", hydra_overrides_extra=list(SAM2_SMALLER))
    torch.nn.init.ones_(predictor.sam_mask_decoder.pred_obj_score_head.layers[-1].bias)  # "the object is there"
    torch.save({"model": predictor.state_dict()}, path)
    return path


def grounding_dino(folder: Path) -> Path:
    """As the hub's grounding-dino folders: model, image processor, BERT tokenizer with its vocabulary."""
    from transformers import (
        BertConfig,
        BertTokenizerFast,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoImageProcessor,
        SwinConfig,
    )  # fmt: skip

    torch.manual_seed(5)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", "a", "red", "ball", "robot"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    backbone = SwinConfig(
        image_size=64, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 1, 1], window_size=4,
        out_features=["stage2", "stage3", "stage4"]
    )  # fmt: skip
    text = BertConfig(vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    config = GroundingDinoConfig(
        backbone_config=backbone, text_config=text, num_queries=12, encoder_layers=1, decoder_layers=2, encoder_ffn_dim=16,
        decoder_ffn_dim=16, d_model=32, encoder_attention_heads=2, decoder_attention_heads=2, num_feature_levels=4,
    )  # fmt: skip
    GroundingDinoForObjectDetection(config).save_pretrained(folder)
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True)
    tokenizer.save_pretrained(folder)
    GroundingDinoImageProcessor(size={"shortest_edge": 64, "longest_edge": 96}).save_pretrained(folder)
    return folder
