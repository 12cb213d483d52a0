"""MobileSAM (Zhang et al. 2023): the Segment Anything model (Kirillov et al. 2023) with TinyViT (Wu et al. 2022) as image encoder.

The parts come from libraries: TinyViT from `timm`, neck, prompt encoder and mask decoder from `transformers`. The published state
dict is renamed to their names. The last stage of MobileSAM's TinyViT does not halve the picture, unlike `timm`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from timm.models.tiny_vit import ConvNorm, TinyVit
from torch import nn
from transformers import SamConfig
from transformers.models.sam.modeling_sam import SamMaskDecoder, SamPromptEncoder, SamVisionNeck

SIDE = 1024  # the longer side of the picture that the network was trained with
PATCH, PAD = 16, 32  # pixels of the encoder: one feature, and what its sides are a multiple of
MEAN, DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
WIDTHS, HEADS, WINDOWS = (64, 128, 160, 320), (2, 4, 5, 10), (7, 7, 14, 7)

RENAMED: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"^image_encoder\.patch_embed\.seq\.0", "encoder.patch_embed.conv1"),
    (r"^image_encoder\.patch_embed\.seq\.2", "encoder.patch_embed.conv2"),
    (r"^image_encoder\.layers\.(\d)\.downsample", lambda found: f"encoder.stages.{int(found[1]) + 1}.downsample"),
    (r"^image_encoder\.layers\.(\d)\.blocks", r"encoder.stages.\1.blocks"),
    (r"^image_encoder\.neck\.0", "neck.conv1"),
    (r"^image_encoder\.neck\.1", "neck.layer_norm1"),
    (r"^image_encoder\.neck\.2", "neck.conv2"),
    (r"^image_encoder\.neck\.3", "neck.layer_norm2"),
    (r"\.c\.weight$", ".conv.weight"),
    (r"pe_layer\.positional_encoding_gaussian_matrix", "shared_embedding.positional_embedding"),
    (r"point_embeddings", "point_embed"),
    (r"mask_downscaling\.0", "mask_embed.conv1"),
    (r"mask_downscaling\.1", "mask_embed.layer_norm1"),
    (r"mask_downscaling\.3", "mask_embed.conv2"),
    (r"mask_downscaling\.4", "mask_embed.layer_norm2"),
    (r"mask_downscaling\.6", "mask_embed.conv3"),
    (r"norm_final_attn", "layer_norm_final_attn"),
    (r"(layers\.\d)\.norm(\d)", r"\1.layer_norm\2"),
    (r"output_upscaling\.0", "upscale_conv1"),
    (r"output_upscaling\.1", "upscale_layer_norm"),
    (r"output_upscaling\.3", "upscale_conv2"),
    (r"((?:mlps\.\d|head))\.layers\.0", r"\1.proj_in"),
    (r"((?:mlps\.\d|head))\.layers\.2", r"\1.proj_out"),
    (r"((?:mlps\.\d|head))\.layers\.1", r"\1.layers.0"),
]


@dataclass(frozen=True)
class Embedded:
    """One picture after the encoder. `scale` leads from the picture's pixels to the encoder's."""

    features: torch.Tensor  # (1,256,h,w)
    size: tuple[int, int]  # height and width of the picture
    scale: float
    side: int


class MobileSam(nn.Module):
    """Encodes a picture once, and then cuts objects out of it by boxes or points."""

    def __init__(self) -> None:
        super().__init__()
        config: Any = SamConfig(
            vision_config={"hidden_size": WIDTHS[-1], "output_channels": 256}, mask_decoder_config={"layer_norm_eps": 1e-5}
        )
        self.encoder = TinyVit(
            num_classes=0, embed_dims=WIDTHS, depths=(2, 2, 6, 2), num_heads=HEADS, window_sizes=WINDOWS, drop_path_rate=0.0
        )
        encoder: Any = self.encoder
        encoder.stages[3].downsample.conv2.conv.stride = (1, 1)
        encoder.head = nn.Identity()
        self.neck = SamVisionNeck(config.vision_config)
        self.prompt_encoder = SamPromptEncoder(config)
        config.mask_decoder_config._attn_implementation = "sdpa"
        self.mask_decoder = SamMaskDecoder(config.mask_decoder_config)

    @torch.inference_mode()
    def encode(self, picture: np.ndarray, side: int = SIDE, square: bool = False) -> Embedded:
        """A picture uint8 (H,W,3), scaled to `side` on the longer side.

        With `square` it is padded with zeros to a square, as published. Without, only to a multiple of the patches: a wide
        picture then takes half the time, and the masks differ by about a percent.
        """
        scale = side / max(picture.shape[:2])
        height, width = (max(1, round(length * scale)) for length in picture.shape[:2])
        how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        scaled = cv2.resize(picture, (width, height), interpolation=how).astype(np.float32)
        padded = np.zeros((*((side, side) if square else (-(-length // PAD) * PAD for length in (height, width))), 3), np.float32)
        padded[:height, :width] = (scaled - np.asarray(MEAN, np.float32)) / np.asarray(DEVIATION, np.float32)
        pixels = torch.from_numpy(padded).to(self._device).permute(2, 0, 1)[None]
        hidden = self.encoder.stages(self.encoder.patch_embed(pixels))
        return Embedded(self.neck(hidden.permute(0, 2, 3, 1)), (picture.shape[0], picture.shape[1]), scale, side)

    @torch.inference_mode()
    def masks(
        self, picture: Embedded, boxes: np.ndarray | None = None, points: np.ndarray | None = None, several: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Logits (k,m,h,w) at a quarter of the encoder's pixels, above 0 inside, and the network's guess of their overlap (k,m).

        A prompt is a box (k,4), a point (k,2), or both, in pixels of the picture. m is 3 with `several` (parts to wholes), else 1.
        """
        # the positions count in the trained square, whatever the side of this picture
        factor = picture.scale * SIDE / picture.side
        box = None if boxes is None else torch.from_numpy(boxes * factor).float().to(self._device)[None]
        point = None if points is None else torch.from_numpy(points * factor).float().to(self._device)[None, :, None]
        labels = None if point is None else torch.ones(point.shape[:3], dtype=torch.int, device=self._device)
        sparse, _ = self.prompt_encoder(point, labels, box, None)
        down, across = picture.features.shape[2:]
        rows, columns = ((torch.arange(count, device=self._device) + 0.5) * PATCH / picture.side for count in (down, across))
        places = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), -1)[None]
        position = self.prompt_encoder.shared_embedding(places).permute(0, 3, 1, 2)
        dense = self.prompt_encoder.no_mask_embed.weight.reshape(1, -1, 1, 1).expand(1, -1, down, across)
        logits, overlap = self.mask_decoder(picture.features, position, sparse, dense, several)
        height, width = (max(1, round(length * picture.scale / 4)) for length in picture.size)
        return logits[0, :, :, :height, :width].float().cpu().numpy(), overlap[0].float().cpu().numpy()

    @property
    def _device(self) -> torch.device:
        return self.mask_decoder.iou_token.weight.device


def renamed(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The published state dict under the names of this module; the classifier, which no mask needs, is left out."""
    result = {}
    for name, value in state.items():
        if name.startswith(("image_encoder.norm_head", "image_encoder.head")):
            continue
        for pattern, replacement in RENAMED:
            name = re.sub(pattern, replacement, name)
        result[name] = value
    return result


def load_mobile_sam(path: Path, device: str = "cpu") -> MobileSam:
    """The network with the published weights. Batch norms are folded into their convolutions, which is faster."""
    network = MobileSam()
    network.load_state_dict(renamed(torch.load(path, map_location="cpu", weights_only=True)))
    _fold(network.encoder)
    ready: Any = network.eval().requires_grad_(False)
    return ready.to(device, memory_format=torch.channels_last)


def _fold(module: nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, ConvNorm):
            setattr(module, name, child.fuse())
        else:
            _fold(child)
