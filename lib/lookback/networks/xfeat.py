"""XFeat (Potje, Cadar, Araujo, Martins and Nascimento, CVPR 2024): corners and descriptors of one grey picture.

Three outputs on a grid of 8 x 8 pixels: descriptors of 64 numbers, how reliable each is, and where in its square the corner lies
(64 places and "none"). The layers carry the names of the published checkpoint, so its state dict loads unchanged.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn
from torch.nn.functional import grid_sample, interpolate, normalize, pixel_shuffle, pixel_unshuffle, softmax

GRID = 32  # both sides of the picture must be multiples of this
SQUARE = 8  # pixels between two descriptors
DETECTION = 0.05  # a corner with a lower value is noise
NEIGHBOURS = 5  # a corner is the highest of this many pixels in each direction
# block: (channels in, [(channels out, kernel, stride)])
BACKBONE: dict[str, tuple[int, list[tuple[int, int, int]]]] = {
    "block1": (1, [(4, 3, 1), (8, 3, 2), (8, 3, 1), (24, 3, 2)]),
    "block2": (24, [(24, 3, 1), (24, 3, 1)]),
    "block3": (24, [(64, 3, 2), (64, 3, 1), (64, 1, 1)]),
    "block4": (64, [(64, 3, 2), (64, 3, 1), (64, 3, 1)]),
    "block5": (64, [(128, 3, 2), (128, 3, 1), (128, 3, 1), (64, 1, 1)]),
    "block_fusion": (64, [(64, 3, 1), (64, 3, 1)]),
    "heatmap_head": (64, [(64, 1, 1), (64, 1, 1)]),
    "keypoint_head": (64, [(64, 1, 1), (64, 1, 1), (64, 1, 1)]),
}
LAST = {"block_fusion": 64, "heatmap_head": 1, "keypoint_head": SQUARE * SQUARE + 1}  # blocks that end in a plain convolution
FINE_MATCHER = "fine_matcher."  # part of the checkpoint, for dense matching, which is not used here


class Unit(nn.Module):
    """Convolution, normalisation without learnt scale, ReLU."""

    def __init__(self, channels: int, out: int, kernel: int, stride: int):
        super().__init__()
        convolution = nn.Conv2d(channels, out, kernel, stride, padding=kernel // 2, bias=False)
        self.layer = nn.Sequential(convolution, nn.BatchNorm2d(out, affine=False), nn.ReLU(inplace=True))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.layer(x)
        return out


def _block(name: str) -> nn.Sequential:
    channels, units = BACKBONE[name]
    layers: list[nn.Module] = []
    for out, kernel, stride in units:
        layers.append(Unit(channels, out, kernel, stride))
        channels = out
    if name in LAST:
        layers.append(nn.Conv2d(channels, LAST[name], 1))
    return nn.Sequential(*layers)


class XFeat(nn.Module):
    """The network. `detect` turns its maps into corners with descriptors."""

    def __init__(self) -> None:
        super().__init__()
        self.skip1 = nn.Sequential(nn.AvgPool2d(4), nn.Conv2d(1, 24, 1))
        self.block1, self.block2, self.block3 = _block("block1"), _block("block2"), _block("block3")
        self.block4, self.block5, self.block_fusion = _block("block4"), _block("block5"), _block("block_fusion")
        self.heatmap_head, self.keypoint_head = _block("heatmap_head"), _block("keypoint_head")

    def forward(self, grey: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Descriptors (1,64,h/8,w/8), corners (1,1,h,w) and reliability (1,1,h/8,w/8) of a picture (1,1,h,w)."""
        x = nn.functional.instance_norm(grey)
        fine = self.block3(self.block2(self.block1(x) + self.skip1(x)))
        middle = self.block4(fine)
        coarse = self.block5(middle)
        size = [int(side) for side in fine.shape[-2:]]
        raised = [interpolate(part, size, mode="bilinear", align_corners=False) for part in (middle, coarse)]
        features = self.block_fusion(fine + raised[0] + raised[1])
        places = softmax(self.keypoint_head(pixel_unshuffle(x, SQUARE)), dim=1)[:, :-1]
        return normalize(features, dim=1), pixel_shuffle(places, SQUARE), torch.sigmoid(self.heatmap_head(features))

    @torch.inference_mode()
    def detect(self, grey: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The `count` best corners: positions (n,2) in pixels and descriptors (n,64) of length 1. `grey` is (h,w), of any scale."""
        features, corners, reliability = self(grey[None, None].float())
        peaks = (corners == highest_around(corners)) & (corners > DETECTION)
        rows, columns = torch.nonzero(peaks[0, 0], as_tuple=True)
        points = torch.stack([columns, rows], dim=1).float()
        extent = torch.tensor([grey.shape[1] - 1, grey.shape[0] - 1], dtype=torch.float32)
        places = (2 * points / extent - 1)[None, None]
        score = corners[0, 0, rows, columns] * grid_sample(reliability, places, mode="bilinear", align_corners=False)[0, 0, 0]
        best = torch.argsort(-score, stable=True)[:count]
        sampled = grid_sample(features, places[:, :, best], mode="bicubic", align_corners=False)[0, :, 0].T
        return points[best], normalize(sampled, dim=1)


def highest_around(values: torch.Tensor) -> torch.Tensor:
    """The highest of the 5x5 values around each place of (1,1,h,w): OpenCV's dilation is that maximum, and fast on a CPU."""
    highest = cv2.dilate(values[0, 0].cpu().numpy(), np.ones((NEIGHBOURS, NEIGHBOURS), np.uint8))
    return torch.from_numpy(highest).to(values.device)[None, None]


def load(path: Path) -> XFeat:
    """The network with a checkpoint's weights, ready for inference."""
    network = XFeat()
    stored = torch.load(path, map_location="cpu", weights_only=True)
    network.load_state_dict({name: value for name, value in stored.items() if not name.startswith(FINE_MATCHER)})
    return network.eval().requires_grad_(False)
