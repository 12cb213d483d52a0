"""Scale and pad whole frames to the patch grid, on the model's device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Normalisation:
    """(x - mean) / std per channel, of pixels in [0,1]."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]


IMAGENET = Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@dataclass(frozen=True)
class Pad:
    """Keep the whole frame: scale its longer side to `max_side`, pad on the right and below.

    `square` pads to a square, as WRBench's paper does; otherwise only to whole patches, which is cheaper.
    """

    max_side: int = 448
    square: bool = True

    def shape(self, frames: torch.Tensor, patch: int, normalisation: Normalisation) -> tuple[torch.Tensor, np.ndarray]:
        height, width = frames.shape[1:3]
        grid = Grid.of(height, width, patch, self.max_side, self.square)
        return on_grid(frames, grid, normalisation), grid.valid


@dataclass(frozen=True)
class ResizeCrop:
    """The usual preparation of ImageNet networks: the shorter side to `resize`, then the centre square of `crop` pixels.

    `crop` must hold whole patches. `resize: 0` scales straight to crop x crop, as DINOv3's processor does. `rescale_twice` divides
    by 255 twice, which is what a processor does that is given pixels in [0,1] and told nothing. Of an odd margin, `margin: floor`
    leaves the smaller half on the left and above, as transformers does; torchvision rounds half to even.
    """

    resize: int = 256
    crop: int = 224
    interpolation: str = "bicubic"
    antialias: bool = True
    rescale_twice: bool = False
    margin: str = "round"

    def shape(self, frames: torch.Tensor, patch: int, normalisation: Normalisation) -> tuple[torch.Tensor, np.ndarray]:
        images = frames.permute(0, 3, 1, 2)
        size = self.size(*images.shape[2:])
        images = (images if size == images.shape[2:] else self._scaled(images, size)).float() / 255
        halve = math.floor if self.margin == "floor" else round
        top, left = (halve((side - self.crop) / 2) for side in size)
        images = images[:, :, top : top + self.crop, left : left + self.crop]
        mean, std = _on_device(normalisation, images.device)
        cells = self.crop // patch
        return (images / 255 if self.rescale_twice else images).sub(mean) / std, np.ones((cells, cells), bool)

    def _scaled(self, images: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
        """As torchvision and transformers do it: whole numbers stay whole numbers and within 0 to 255, other numbers need not."""
        import torch
        from torch.nn.functional import interpolate

        whole, device = images.dtype == torch.uint8, images.device
        # torch scales whole numbers with this kernel only; the released programs do it there, whatever the network runs on
        images = images.cpu() if whole and self.interpolation == "bicubic" else images.float()
        images = interpolate(images, size=size, mode=self.interpolation, align_corners=False, antialias=self.antialias).to(device)
        return images.round_().clamp_(0, 255) if whole else images

    def size(self, height: int, width: int) -> tuple[int, int]:
        """Height and width before the crop."""
        if not self.resize:
            return self.crop, self.crop
        shorter = min(height, width)
        return int(self.resize * height / shorter), int(self.resize * width / shorter)


Shaping = Pad | ResizeCrop


@dataclass(frozen=True)
class Grid:
    """The place of a frame on the patch grid: scaled to height x width, then padded with zeros on the right and below."""

    patch: int
    height: int
    width: int
    rows: int
    columns: int

    @classmethod
    def of(cls, height: int, width: int, patch: int, max_side: int, square: bool) -> Grid:
        """The longer side becomes `max_side`. `square` pads to a square of that side, otherwise only to whole patches."""
        scale = max_side / max(height, width)
        height, width = max(1, round(height * scale)), max(1, round(width * scale))
        rows, columns = -(-(max_side if square else height) // patch), -(-(max_side if square else width) // patch)
        return cls(patch, height, width, rows, columns)

    @property
    def valid(self) -> np.ndarray:
        """(rows, columns): False where a patch is padding only."""
        inside = np.zeros((self.rows, self.columns), bool)
        inside[: -(-self.height // self.patch), : -(-self.width // self.patch)] = True
        return inside


def on_grid(frames: torch.Tensor, grid: Grid, normalisation: Normalisation) -> torch.Tensor:
    """uint8 (n,H,W,3) to normalised (n,3,rows*patch,columns*patch); the padding is black (zero before normalising)."""
    from torch.nn.functional import interpolate, pad

    images = frames.permute(0, 3, 1, 2).float().div_(255)
    if images.shape[2:] != (grid.height, grid.width):
        images = interpolate(images, size=(grid.height, grid.width), mode="bilinear", align_corners=False, antialias=True)
    images = pad(images, (0, grid.columns * grid.patch - grid.width, 0, grid.rows * grid.patch - grid.height))
    mean, std = _on_device(normalisation, images.device)
    return images.sub_(mean).div_(std)


@lru_cache(maxsize=8)
def _on_device(normalisation: Normalisation, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and deviation, kept on the device: a copy for each batch would wait for the batch before."""
    import torch

    mean, std = (torch.tensor(values).view(1, 3, 1, 1).to(device) for values in (normalisation.mean, normalisation.std))
    return mean, std
