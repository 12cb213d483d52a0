"""Gram matrices of VGG features, and how far the style moves from one sampled frame to the next (MBench section 4.3.2, eq. 13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import nn

# Index of each ReLU in torchvision's `features`, by the layers that style transfer uses (Gatys et al. 2016).
LAYERS = {
    "vgg16": {"relu1_1": 1, "relu2_1": 6, "relu3_1": 11, "relu4_1": 18, "relu5_1": 25},
    "vgg19": {"relu1_1": 1, "relu2_1": 6, "relu3_1": 11, "relu4_1": 20, "relu5_1": 29},
}


def gram_matrices(trunk: nn.Sequential, images: torch.Tensor, taps: dict[str, int]) -> dict[str, torch.Tensor]:
    """G = F F^T / (C H W) per layer, (n,C,C), of ImageNet-normalised images (n,3,h,w)."""
    found, x = {}, images
    names = {index: name for name, index in taps.items()}
    for index, layer in enumerate(list(trunk)[: max(taps.values()) + 1]):
        x = layer(x)
        if index in names:
            features = x.float().flatten(2)
            found[names[index]] = features @ features.transpose(1, 2) / features[0].numel()
    return found


class StyleDistances:
    """|G_t - G_{t-1}|_F per layer, frame after frame; only the last frame's Gram matrices are kept."""

    def __init__(self) -> None:
        self.last: dict[str, torch.Tensor] = {}

    def push(self, grams: dict[str, torch.Tensor]) -> torch.Tensor:
        """(n, layers) of the next n frames; the very first frame of the clip has no predecessor and gives zeros."""
        import torch

        columns = []
        for name, gram in grams.items():
            before = torch.cat([self.last.get(name, gram[:1]), gram[:-1]])
            columns.append((gram - before).flatten(1).norm(dim=1))
            self.last[name] = gram[-1:]
        return torch.stack(columns, 1)
