"""EfficientNet-Lite0 (Liu 2020, after Tan and Le 2019): mobile inverted bottlenecks, no squeeze-and-excitation, ReLU6.

The layers carry the names of the published checkpoint, so its state dict loads unchanged. Convolutions pad as TensorFlow's "SAME"
does (the odd pixel right and below) and pixels enter as (x - 127) / 128, because the checkpoint was trained that way.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import conv2d, pad
from torch.nn.utils.fusion import fuse_conv_bn_eval

# stage: (blocks, kernel, stride of the first block, expansion, channels out)
STAGES = [
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
]
STEM, HEAD, CLASSES = 32, 1280, 1000
BATCH_NORM_EPSILON = 1e-3


class SameConv(nn.Conv2d):
    """A convolution with TensorFlow's SAME padding."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        missing = [max((-(-size // stride) - 1) * stride + kernel - size, 0) for size in x.shape[2:]]
        top, left = missing[0] // 2, missing[1] // 2
        if missing == [2 * top, 2 * left]:  # the same on both sides: the convolution can do it without a copy
            return conv2d(x, self.weight, self.bias, self.stride, (top, left), self.dilation, self.groups)
        return super().forward(pad(x, (left, missing[1] - left, top, missing[0] - top)))


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=BATCH_NORM_EPSILON)


class Block(nn.Module):
    """Expand, convolve per channel, project; with a shortcut where the shape stays."""

    def __init__(self, channels: int, out: int, kernel: int, stride: int, expansion: int):
        super().__init__()
        inner = channels * expansion
        self.expands, self.shortcut = expansion != 1, stride == 1 and channels == out
        if self.expands:
            self._expand_conv, self._bn0 = nn.Conv2d(channels, inner, 1, bias=False), _norm(inner)
        self._depthwise_conv, self._bn1 = SameConv(inner, inner, kernel, stride, groups=inner, bias=False), _norm(inner)
        self._project_conv, self._bn2 = nn.Conv2d(inner, out, 1, bias=False), _norm(out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.relu6(self._bn0(self._expand_conv(x)), inplace=True) if self.expands else x
        y = nn.functional.relu6(self._bn1(self._depthwise_conv(y)), inplace=True)
        y = self._bn2(self._project_conv(y))
        return y.add_(x) if self.shortcut else y


class EfficientNetLite0(nn.Module):
    """The whole network; `feature_map` stops before the pooling."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem, self._bn0 = SameConv(3, STEM, 3, 2, bias=False), _norm(STEM)
        blocks, channels = [], STEM
        for count, kernel, stride, expansion, out in STAGES:
            for index in range(count):
                blocks.append(Block(channels, out, kernel, stride if index == 0 else 1, expansion))
                channels = out
        self._blocks = nn.ModuleList(blocks)
        self._conv_head, self._bn1 = nn.Conv2d(channels, HEAD, 1, bias=False), _norm(HEAD)
        self._fc = nn.Linear(HEAD, CLASSES)

    def feature_map(self, images: torch.Tensor) -> torch.Tensor:
        """(n,1280,h/32,w/32) of images (n,3,h,w)."""
        x = nn.functional.relu6(self._bn0(self._conv_stem(images)), inplace=True)
        for block in self._blocks:
            x = block(x)
        return nn.functional.relu6(self._bn1(self._conv_head(x)), inplace=True)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """ImageNet logits (n,1000)."""
        return self._fc(self.feature_map(images).mean((2, 3)))


# each convolution and the norm that follows it
PAIRS = (
    ("_conv_stem", "_bn0"),
    ("_conv_head", "_bn1"),
    ("_expand_conv", "_bn0"),
    ("_depthwise_conv", "_bn1"),
    ("_project_conv", "_bn2"),
)


def load(path: Path) -> EfficientNetLite0:
    """The network with a checkpoint's weights, ready for inference: norms folded into the convolutions before them."""
    network = EfficientNetLite0()
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    network.eval().requires_grad_(False)
    for part in (network, *network._blocks):
        for convolution, norm in PAIRS:
            if hasattr(part, convolution):
                setattr(part, convolution, fuse_conv_bn_eval(getattr(part, convolution), getattr(part, norm)))
                setattr(part, norm, nn.Identity())
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload] # torch does not declare it
    return network
