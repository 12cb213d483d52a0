"""LPIPS (Zhang et al. 2018, version 0.1): distances between unit-length deep features, weighted by learnt heads.

d(x, y) = sum_l mean_hw sum_c w_lc (f_lc(x) - f_lc(y))^2, with f_l the features after the l-th tapped ReLU, per pixel scaled to
length 1. The trunk is torchvision's AlexNet or VGG-16; the heads are the `lpips` package's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import nn
from torchvision.models import alexnet, vgg16

Net = Literal["alex", "vgg"]
TAPS = {"alex": (1, 4, 7, 9, 11), "vgg": (3, 8, 15, 22, 29)}
CHANNELS = {"alex": (64, 192, 384, 256, 256), "vgg": (64, 128, 256, 512, 512)}
# The published scaling layer: ImageNet's statistics for pictures in [-1,1].
SHIFT, SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)
EPSILON = 1e-10


class Lpips(nn.Module):
    """The metric for one trunk; `heads` holds one weight per channel of each tapped layer."""

    shift: torch.Tensor
    scale: torch.Tensor

    def __init__(self, net: Net):
        super().__init__()
        self.trunk = convolutional_part(alexnet if net == "alex" else vgg16)
        self.taps = TAPS[net]
        self.heads = nn.ParameterList([torch.zeros(channels) for channels in CHANNELS[net]])
        self.register_buffer("shift", torch.tensor(SHIFT).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("scale", torch.tensor(SCALE).view(1, 3, 1, 1), persistent=False)

    def load(self, convolutions: Sequence[tuple[torch.Tensor, torch.Tensor]], heads: Sequence[torch.Tensor]) -> Lpips:
        """Fill in (weight, bias) of each convolution of the trunk in order, and the heads; shapes must fit exactly."""
        layers = [layer for layer in self.trunk if isinstance(layer, nn.Conv2d)]
        for layer, (weight, bias) in zip(layers, convolutions, strict=True):
            assert layer.bias is not None
            _fill(layer.weight, weight)
            _fill(layer.bias, bias)
        for parameter, head in zip(self.heads, heads, strict=True):
            _fill(parameter, head.reshape(-1))
        return self.eval().requires_grad_(False)

    def features(self, images: torch.Tensor) -> list[torch.Tensor]:
        """The tapped features of images (n,3,h,w) in [0,1], unit length per pixel."""
        x = (2 * images - 1 - self.shift) / self.scale
        found = []
        for index, layer in enumerate(list(self.trunk)[: self.taps[-1] + 1]):
            x = layer(x)
            if index in self.taps:
                found.append(x / (x.square().sum(1, keepdim=True).sqrt() + EPSILON))
        return found

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Distances (n,) of two stacks of images in [0,1]."""
        total = torch.zeros(len(a), device=a.device)
        for x, y, head in zip(self.features(a), self.features(b), self.heads, strict=True):
            total = total + ((x - y).square() * head.view(1, -1, 1, 1)).sum(1).mean((1, 2))
        return total


def convolutional_part(build: Callable[..., Any]) -> nn.Sequential:
    """The `features` of a torchvision classifier, uninitialised; its large linear layers are never allocated."""
    with torch.device("meta"):
        network = build(weights=None)
    return network.features.to_empty(device="cpu")


def _fill(parameter: torch.Tensor, value: torch.Tensor) -> None:
    if parameter.shape != value.shape:
        raise ValueError(f"a layer of shape {tuple(parameter.shape)} cannot take weights of shape {tuple(value.shape)}")
    with torch.no_grad():
        parameter.copy_(value)
